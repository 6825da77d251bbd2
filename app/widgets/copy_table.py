"""A read-only, sortable table whose selection is copied as tab-separated text."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget


class CopyTable(QTableView):
    """Whole rows are selected; Ctrl+C copies them with their headers."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(27)
        self.horizontalHeader().setHighlightSections(False)
        shortcut = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self)
        shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
        shortcut.activated.connect(self.copy_selection)

    def copy_selection(self) -> None:
        """Put the selected rows on the clipboard, all rows when none is selected."""
        QGuiApplication.clipboard().setText(self.as_text())

    def as_text(self) -> str:
        """Header and selected rows (all rows when none is selected), tab-separated."""
        model = self.model()
        columns = range(model.columnCount())
        rows = sorted({index.row() for index in self.selectionModel().selectedRows()}) or range(model.rowCount())
        header = [str(model.headerData(column, Qt.Orientation.Horizontal)) for column in columns]
        lines = [[str(model.index(row, column).data()) for column in columns] for row in rows]
        return "\n".join("\t".join(line) for line in [header, *lines])
