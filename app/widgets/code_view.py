"""A read-only text with line numbers, signs for what differs, and lines that can be marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from PySide6.QtCore import QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFontDatabase, QPainter, QPaintEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.models.schedule_diff import Mark, Row, plain
from app.tokens import LIGHT, Tokens
from app.widgets.code_colours import CodeColours
from tcl_core.schedule_events import Language

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_AROUND, _CHANGED = 0.10, 0.13
"""How strongly lines inside a marked place, and lines that differ, are tinted."""


class CodeView(QPlainTextEdit):
    """Rows are what is on screen: lines of the text, and gaps that keep two texts level.

    Signals:
        line_chosen: a person went to a line, by mouse or keys: its number, and the word at the cursor.
    """

    line_chosen = Signal(int, str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance("0"))
        self._tokens = LIGHT
        self._lines: tuple[str, ...] = ()
        self._rows: tuple[Row, ...] = ()
        self._row_of: dict[int, int] = {}
        self._marked: frozenset[int] = frozenset()
        self._around: frozenset[int] = frozenset()
        self._filling = False
        self._colours = CodeColours(LIGHT)
        self._coloured: set[int] = set()
        self._colour_soon = QTimer(self)  # outside of painting, which a change of formats would disturb
        self._colour_soon.setSingleShot(True)
        self._colour_soon.timeout.connect(self._colour)
        self._gutter = _Gutter(self, self._paint_gutter)
        self.blockCountChanged.connect(self._fit_gutter)
        self.updateRequest.connect(self._follow)
        self.cursorPositionChanged.connect(self._tell)
        self._fit_gutter()

    @property
    def lines(self) -> tuple[str, ...]:
        """The text, gaps left out."""
        return self._lines

    @property
    def rows(self) -> tuple[Row, ...]:
        """What each row shows."""
        return self._rows

    @property
    def marked(self) -> frozenset[int]:
        """Lines that are marked."""
        return self._marked

    def show_lines(self, lines: Sequence[str], language: Language, rows: Sequence[Row] = (), start: int = 0) -> None:
        """Show another text, from a line on. `rows`: how it is laid out beside another one."""
        rows = tuple(rows) or plain(len(lines))
        if (tuple(lines), rows) == (self._lines, self._rows):
            return
        self._lines, self._rows = tuple(lines), rows
        self._row_of = {row.line: number for number, row in enumerate(rows) if row.line is not None}
        self._marked = self._around = frozenset()
        self._filling = True
        self._colours.set_language(language)
        self._coloured.clear()
        self.setPlainText("\n".join("" if row.line is None else lines[row.line] for row in rows))
        self._filling = False
        self._fit_gutter()
        self._repaint()
        self.verticalScrollBar().setValue(self._row_of.get(start, 0))

    def mark(self, lines: Iterable[int], around: Iterable[int], *, reveal: bool) -> None:
        """Mark lines strongly, and those around them lightly; bring the first strong one into view."""
        self._marked, self._around = frozenset(lines), frozenset(around)
        self._repaint()
        if reveal and self._marked:
            self._reveal(self._row_of.get(min(self._marked), 0))

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        self._colours.apply_tokens(tokens)
        self._coloured.clear()
        self._repaint()

    def _reveal(self, row: int) -> None:
        first, shown = self.verticalScrollBar().value(), max(1, self.viewport().height() // self.fontMetrics().height())
        if not first <= row < first + shown - 1:
            self.verticalScrollBar().setValue(max(0, row - shown // 3))

    def _tell(self) -> None:
        if self._filling or not self._rows:
            return
        cursor = self.textCursor()
        line = self._rows[min(cursor.blockNumber(), len(self._rows) - 1)].line
        if line is None:
            return
        word = QTextCursor(cursor)
        word.select(QTextCursor.SelectionType.WordUnderCursor)
        self.line_chosen.emit(line, word.selectedText())

    def _repaint(self) -> None:
        self.viewport().update()
        self._gutter.update()

    # Looks: only rows on screen are painted, so a long text costs no more than a short one

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        """Tints first, Qt's text on top."""
        painter = QPainter(self.viewport())
        for number, top, height in self._visible():
            if number not in self._coloured and not self._colour_soon.isActive():
                self._colour_soon.start(0)
            colour = self._tint(self._rows[number])
            if colour is not None:
                painter.fillRect(0, top, self.viewport().width(), height, colour)
        painter.end()
        super().paintEvent(event)

    def _visible(self) -> Iterator[tuple[int, int, int]]:
        """(row, top, height) of the rows on screen."""
        block = self.firstVisibleBlock()
        top = round(self.blockBoundingGeometry(block).translated(self.contentOffset()).top())
        while block.isValid() and top <= self.viewport().height() and block.blockNumber() < len(self._rows):
            height = round(self.blockBoundingRect(block).height())
            yield block.blockNumber(), top, height
            top += height
            block = block.next()

    def _colour(self) -> None:
        """Colour the rows on screen that have none yet."""
        self._filling = True  # colouring moves no cursor, but Qt may say so
        for number in [number for number, _, _ in self._visible() if number not in self._coloured]:
            block = self.document().findBlockByNumber(number)
            block.layout().setFormats(self._colours.ranges(block.text()))
            self._coloured.add(number)
        self._filling = False
        self.viewport().update()

    def _tint(self, row: Row) -> QColor | None:
        tokens = self._tokens
        if row.line is None:
            return QColor(tokens.raised)
        if row.line in self._marked:
            return QColor(tokens.selection)
        if row.mark is not Mark.NONE:
            return _blend(tokens.good if row.mark is Mark.ONLY else tokens.warn, tokens.surface, _CHANGED)
        return _blend(tokens.accent, tokens.surface, _AROUND) if row.line in self._around else None

    # Gutter

    def _gutter_width(self) -> int:
        digits = len(str(max(1, len(self._lines))))
        return self.fontMetrics().horizontalAdvance("0") * (digits + 3) + 6

    def _fit_gutter(self) -> None:
        self.setViewportMargins(self._gutter_width(), 0, 0, 0)
        self._place_gutter()

    def _place_gutter(self) -> None:
        inside = self.contentsRect()
        self._gutter.setGeometry(QRect(inside.left(), inside.top(), self._gutter_width(), inside.height()))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  Qt's name
        super().resizeEvent(event)
        self._place_gutter()

    def _follow(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    def _paint_gutter(self, painter: QPainter) -> None:
        tokens, width = self._tokens, self._gutter.width()
        painter.fillRect(self._gutter.rect(), QColor(tokens.raised))
        painter.setFont(self.font())
        sign = self.fontMetrics().horizontalAdvance("0") + 4
        for number, top, height in self._visible():
            row = self._rows[number]
            marked = row.line in self._marked
            if marked:
                painter.fillRect(0, top, 3, height, QColor(tokens.accent))
            painter.setPen(QColor(tokens.text if marked else tokens.muted))
            if row.line is not None:
                place = QRect(0, top, width - sign - 4, height)
                painter.drawText(place, _RIGHT, str(row.line + 1))
            painter.setPen(QColor(tokens.good if row.mark is Mark.ONLY else tokens.warn))
            painter.drawText(QRect(width - sign, top, sign, height), Qt.AlignmentFlag.AlignVCenter, row.mark.value)


class _Gutter(QWidget):
    """The strip left of the text."""

    def __init__(self, view: CodeView, paint: Callable[[QPainter], None]) -> None:
        super().__init__(view)
        self._paint = paint

    def sizeHint(self) -> QSize:  # noqa: N802  Qt's name
        return QSize(40, 0)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        painter = QPainter(self)
        self._paint(painter)
        painter.end()


def _blend(colour: str, ground: str, share: float) -> QColor:
    """A colour laid thinly over a ground."""
    one, other = QColor(colour), QColor(ground)
    parts = zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)  # type: ignore[index]
    return QColor(*(round(share * a + (1 - share) * b) for a, b in parts))
