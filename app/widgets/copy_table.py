"""A read-only, sortable table whose selection is copied as tab-separated text."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from app.text_scale import text_scale


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
        self._roomy: tuple[int, int] | None = None
        self._yielding: tuple[int, int, int] | None = None
        self._making_room = False
        self.horizontalHeader().sectionResized.connect(self._section_resized)

    def set_widths(self, widths: Mapping[int, int]) -> None:
        """Widths of columns in pixels; more where the desktop's text is larger."""
        for column, width in widths.items():
            self.setColumnWidth(column, round(width * text_scale(self.font())))

    def give_room(self, column: int, least: int, yielding: tuple[int, int] | None = None) -> None:
        """A column has what the others leave, and enough to be read: the table scrolls rather than cut it shorter.

        Args:
            yielding: a column that gives way before the table scrolls, and the least that is left to it.
        """
        scale = text_scale(self.font())
        self._roomy = column, round(least * scale)
        if yielding is not None:
            self._yielding = yielding[0], round(yielding[1] * scale), self.columnWidth(yielding[0])
        self._make_room()

    def _make_room(self) -> None:
        if self._roomy is None or self._making_room:
            return
        self._making_room = True
        column, least = self._roomy
        room = self.viewport().width() - self.horizontalHeader().length() + self.columnWidth(column)
        if self._yielding is not None:
            other, least_other, full = self._yielding
            room += self.columnWidth(other)
            self.setColumnWidth(other, min(full, max(least_other, room - least)))
            room -= self.columnWidth(other)
        self.setColumnWidth(column, max(least, room))
        self._making_room = False

    def _section_resized(self, section: int, _before: int, width: int) -> None:
        if self._roomy is None or self._making_room or section == self._roomy[0]:
            return
        if self._yielding is not None and section == self._yielding[0]:
            self._yielding = (*self._yielding[:2], width)
        self._make_room()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  Qt's name
        super().resizeEvent(event)
        self._make_room()

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
