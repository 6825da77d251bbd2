"""A read-only, sortable table whose selection is copied as tab-separated text, and which fits a narrow window."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QGuiApplication, QHelpEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QToolTip, QWidget

from app.text_scale import text_scale
from app.translation import tr

_ROW_HEIGHT = 27
"""In pixels, for text of the usual size."""


class CopyTable(QTableView):
    """Whole rows are selected; Ctrl+C, or its menu, copies them with their headers, columns that have no room too."""

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
        self.verticalHeader().setDefaultSectionSize(round(_ROW_HEIGHT * text_scale(self.font())))
        self.horizontalHeader().setHighlightSections(False)
        self.copy_action = QAction(tr("&Copy rows"), self)
        self.copy_action.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        self.copy_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.copy_action.triggered.connect(self.copy_selection)
        self.addAction(self.copy_action)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._low = False
        self._roomy: tuple[int, int] | None = None
        self._tight = 0
        self._yielding: tuple[int, int, int] | None = None
        self._leaving: tuple[int, ...] = ()
        self._kept: dict[int, int] = {}
        self._making_room = False
        self.horizontalHeader().sectionResized.connect(self._section_resized)

    def offer(self, action: QAction) -> None:
        """Put an action into the table's menu, above the copying."""
        self.insertAction(self.copy_action, action)

    def stay_low(self, least: int) -> None:
        """Like to be no higher than so many pixels, more for larger text, and take what room there is.

        A panel that scrolls is as high as its parts would like to be, and a table likes more than a few rows.
        """
        self.setMinimumHeight(round(least * text_scale(self.font())))
        self._low = True

    def sizeHint(self) -> QSize:  # noqa: N802  Qt's name
        wanted = super().sizeHint()
        return QSize(wanted.width(), self.minimumHeight()) if self._low else wanted

    def set_widths(self, widths: Mapping[int, int]) -> None:
        """Widths of columns in pixels; more where the desktop's text is larger."""
        for column, width in widths.items():
            self.setColumnWidth(column, round(width * text_scale(self.font())))

    def give_room(
        self, column: int, least: int, yielding: tuple[int, int] | None = None, *, tight: int | None = None
    ) -> None:
        """A column has what the others leave, and enough to be read: the table scrolls rather than cut it shorter.

        Args:
            yielding: a column that gives way before the table scrolls, and the least that is left to it.
            tight: what the roomy column is cut to where no further column can leave; None for `least`.
        """
        scale = text_scale(self.font())
        self._roomy = column, round(least * scale)
        self._tight = round((least if tight is None else tight) * scale)
        if yielding is not None:
            self._yielding = yielding[0], round(yielding[1] * scale), self.columnWidth(yielding[0])
        self._fit()

    def let_go(self, *columns: int) -> None:
        """Columns that are hidden where not all have room, the first of them first; a row's tool tip has them then."""
        self._leaving = columns
        self._fit()

    def _fit(self) -> None:
        if not self._making_room:
            self._making_room = True
            self._hide_what_has_no_room()
            self._making_room = False
            self._make_room()

    def _hide_what_has_no_room(self) -> None:
        """Nothing is touched that stays as it is: each change has Qt lay the table out anew, and ask for room again."""
        least = {part[0]: part[1] for part in (self._roomy, self._yielding) if part is not None}
        columns = range(self.horizontalHeader().count())
        taken = {column: least.get(column, self._width_wanted(column)) for column in columns}
        for column in self._leaving:
            hidden = sum(taken.values()) > self.viewport().width()
            if hidden:
                taken[column] = 0
            if hidden is not self.isColumnHidden(column):
                self.setColumnHidden(column, hidden)

    def _width_wanted(self, column: int) -> int:
        """What a column is wide when it is shown, whether it is or not; of hidden ones Qt says 0."""
        header = self.horizontalHeader()
        by_contents = header.sectionResizeMode(column) is QHeaderView.ResizeMode.ResizeToContents
        if not header.isSectionHidden(column):
            # Of those by their contents the size follows later.
            self._kept[column] = header.sectionSizeHint(column) if by_contents else header.sectionSize(column)
        return max(self._kept[column], self.sizeHintForColumn(column)) if by_contents else self._kept[column]

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
        self.setColumnWidth(column, max(self._tight, room))
        self._making_room = False

    def _section_resized(self, section: int, _before: int, width: int) -> None:
        if self.horizontalHeader().sectionResizeMode(section) is QHeaderView.ResizeMode.ResizeToContents:
            self._fit()  # nobody drags it: other columns may come and go
            return
        if self._roomy is None or self._making_room or section == self._roomy[0]:
            return
        if self._yielding is not None and section == self._yielding[0]:
            self._yielding = (*self._yielding[:2], width)
        self._make_room()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  Qt's name
        super().resizeEvent(event)
        self._fit()

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802  Qt's name
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            hint = self._hint_at(event)
            if hint:
                QToolTip.showText(event.globalPos(), hint, self)
                return True
        return super().viewportEvent(event)

    def _hint_at(self, event: QHelpEvent) -> str:
        """The cell's tool tip and what the hidden columns say; "" where none is hidden."""
        index, header = self.indexAt(event.pos()), self.horizontalHeader()
        hidden = [column for column in range(header.count()) if header.isSectionHidden(column)]
        if not index.isValid() or not hidden:
            return ""
        model = self.model()
        lines = [str(index.data(Qt.ItemDataRole.ToolTipRole) or "")]
        lines += (
            f"{model.headerData(column, Qt.Orientation.Horizontal)}: {index.siblingAtColumn(column).data()}"
            for column in hidden
        )
        return "\n".join(filter(None, lines))

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
