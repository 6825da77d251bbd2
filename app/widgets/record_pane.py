"""One record to read: its loop tree, its trace and its texts, linked. What is chosen in one is marked in the others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QSplitter,
    QTabWidget,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.models import schedule_diff, schedule_wording
from app.models.loop_tree import LoopTreeModel
from app.models.open_schedules import NOTHING, Opened
from app.models.trace_table import SHARE_ROLE, StepFilter, TraceColumn, TraceTableModel
from app.text_scale import text_scale
from app.tokens import LIGHT, Tokens
from app.translation import later, tr
from app.widgets import schedule_links
from app.widgets.code_view import CodeView
from app.widgets.contribution_delegate import ContributionDelegate
from app.widgets.copy_table import CopyTable
from app.widgets.parts import ElidedLabel, label
from tcl_core.schedule_events import CodeText

_TRACE_WIDTHS: Mapping[int, int] = {
    TraceColumn.NUMBER: 42,
    TraceColumn.PRIMITIVE: 136,
    TraceColumn.DECISION: 78,
    TraceColumn.SCORE: 104,
}
_TREE_WIDTHS = {1: 58, 2: 82}
_LEAST_ARGUMENTS = 100
_SIZES = {3: [320, 490, 450], 2: [520, 450], 1: [1]}
_WIDE = 1100
"""Pixels from which on three parts have room side by side; below, the loops are a tab beside the texts."""
_LOOPS, _TRACE = later("Loops"), later("Trace")


class RecordPane(QFrame):
    """Signals.

    place_chosen: name of the place a person chose here, "" where none is known.
    step_chosen: number of the step a person chose here.
    scrolled: number of a text and the row it now begins with.
    """

    place_chosen = Signal(str)
    step_chosen = Signal(int)
    scrolled = Signal(int, int)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._name, self._tokens = name, LIGHT
        self._opened: Opened = NOTHING
        self._other: Opened | None = None
        self._chosen: tuple[frozenset[int], tuple[int, ...]] = (frozenset(), ())
        self._marking = False
        self._compact = False
        self._tabbed: list[QWidget] = []
        self._read = ""
        self._kept = StepFilter.CHANGES
        self.title, self.facts = ElidedLabel("section"), ElidedLabel("muted", end=True)
        self.remarks = label("", "muted", wrap=True)
        self.tree, self.loops = QTreeView(), LoopTreeModel(self)
        self.table, self.trace = CopyTable(tr("Trace of the {name}", name=name)), TraceTableModel(self)
        self._bars = ContributionDelegate(SHARE_ROLE, self)
        self.tabs, self._split = QTabWidget(), QSplitter(Qt.Orientation.Horizontal)
        self.codes: list[CodeView] = []
        self._notes: list[QLabel] = []
        self.copy_button, self._copies = QToolButton(), QMenu(self)
        self._set_up()
        self._lay_out()

    def _set_up(self) -> None:
        tree, table = self.tree, self.table
        tree.setModel(self.loops)
        tree.setAccessibleName(tr("Loop tree of the {name}", name=self._name))
        tree.setUniformRowHeights(True)
        tree.setIndentation(12)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        tree.setFrameShape(QFrame.Shape.NoFrame)
        table.setModel(self.trace)
        table.setItemDelegateForColumn(TraceColumn.SCORE, self._bars)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.horizontalHeader().setMinimumSectionSize(28)
        table.set_widths(_TRACE_WIDTHS)
        table.give_room(TraceColumn.ARGUMENTS, _LEAST_ARGUMENTS)
        table.let_go(TraceColumn.SCORE)
        table.verticalHeader().setDefaultSectionSize(round(24 * text_scale(table.font())))
        tree.selectionModel().currentChanged.connect(self._choose_place)
        table.selectionModel().currentRowChanged.connect(self._choose_step)
        self.copy_button.setObjectName("plotmenu")
        self.copy_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.copy_button.setMenu(self._copies)
        self.copy_button.setToolTip(tr("Copy the loop tree, the trace or a text"))
        self.copy_button.setAccessibleName(tr("Copy of the {name}", name=self._name))
        self._copies.aboutToShow.connect(self._fill_copies)
        self.tabs.currentChanged.connect(self._note_read)

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(self.title)
        words.addWidget(self.facts)
        top = QHBoxLayout()
        top.addLayout(words, 1)
        top.addWidget(self.copy_button)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(tr("Views of the {name}", name=self._name))
        self.tabs.setUsesScrollButtons(True)
        self._split.setChildrenCollapsible(False)
        for part in (self.tree, self.table, self.tabs):
            self._split.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 8)
        layout.setSpacing(5)
        layout.addLayout(top)
        layout.addWidget(self.remarks)
        layout.addWidget(self._split, 1)
        self._split.setSizes(_SIZES[3])

    # What is shown

    def set_compact(self, compact: bool) -> None:
        """One part at a time, in tabs, for two records side by side; else as many parts as there is room for."""
        self._compact = compact
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  Qt's name
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        tabbed: list[QWidget] = [self.tree, self.table] if self._compact else []
        if not self._compact and self.width() < _WIDE:
            tabbed = [self.tree]
        if tabbed == self._tabbed:
            return
        self._tabbed, place, quiet = tabbed, 0, QSignalBlocker(self.tabs)
        for part, name in ((self.tree, _LOOPS), (self.table, _TRACE)):
            if part not in tabbed:
                self._split.insertWidget(place, part)
                part.show()
                place += 1
            elif self.tabs.indexOf(part) < 0:
                self.tabs.insertTab(tabbed.index(part), part, tr(name))
        self._read_on()
        quiet.unblock()
        self._split.setSizes(_SIZES[self._split.count()])

    def show_record(self, opened: Opened, other: Opened | None, *, left: bool) -> None:
        """Show a record, beside another one where there is one. What was marked in it stays marked."""
        if (opened, other) == (self._opened, self._other):
            return
        same = opened.view is not None and opened.view is self._opened.view
        self._opened, self._other, view = opened, other, opened.view
        theirs = other.view if other else None
        self.title.setText(schedule_wording.title(view) if view else "")
        self.facts.setText(schedule_wording.facts(opened))
        self.facts.setToolTip(schedule_wording.facts_hint(opened))
        self.remarks.setText(schedule_wording.remarks(opened))
        self.remarks.setVisible(bool(self.remarks.text()))
        places, steps = (view.places, view.steps) if view else ((), ())
        self._marking = True
        self.loops.set_places(places, steps, schedule_diff.place_marks(places, theirs.places) if theirs else {})
        self.tree.expandAll()
        self._size_tree()
        step_marks = schedule_diff.step_marks(steps, theirs.steps) if theirs else {}
        self.trace.set_steps(steps, opened.influences, step_marks)
        self._filter_trace()
        self._show_texts(opened.texts, other, left=left)
        self._marking = False
        self._mark(*(self._chosen if same else (frozenset(), ())), None)

    def filter_steps(self, kept: str) -> None:
        """Show some steps of the trace: a `StepFilter`."""
        self._kept = StepFilter(kept)
        self._filter_trace()

    def _filter_trace(self) -> None:
        for row in self.trace.rows:
            self.table.setRowHidden(row.number, not row.passes(self._kept))

    def _size_tree(self) -> None:
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column, width in _TREE_WIDTHS.items():
            header.resizeSection(column, round(width * text_scale(self.tree.font())))

    def _show_texts(self, texts: tuple[CodeText, ...], other: Opened | None, *, left: bool) -> None:
        self._fit_tabs(texts)
        beside = {text.language: text for text in other.texts} if other else {}
        for code, note, text in zip(self.codes, self._notes, texts, strict=True):
            rows: tuple[schedule_diff.Row, ...] = ()
            theirs = beside.get(text.language)
            if theirs is not None:
                pair = (text.lines, theirs.lines) if left else (theirs.lines, text.lines)
                rows = schedule_diff.align(*pair)[0 if left else 1]
            code.show_lines(text.lines, text.language, rows, text.start)
            long = theirs is not None and max(len(text.lines), len(theirs.lines)) > schedule_diff.MOST_LINES
            remark = tr("Too long for a diff: side by side only.") if long else ""
            note.setText(" ".join(filter(None, (remark, text.note))))
            note.setVisible(bool(note.text()))

    def _fit_tabs(self, texts: tuple[CodeText, ...]) -> None:
        """As many text tabs as there are texts, with their names."""
        fixed, known, quiet = len(self._tabbed), len(self.codes), QSignalBlocker(self.tabs)
        while len(self.codes) > len(texts):
            self.codes.pop()
            self._notes.pop()
            page = self.tabs.widget(fixed + len(self.codes))
            self.tabs.removeTab(fixed + len(self.codes))
            if page is not None:
                page.deleteLater()
        while len(self.codes) < len(texts):
            self._add_code(texts[len(self.codes)])
        for number, text in enumerate(texts):
            self.tabs.setTabText(fixed + number, text.language.value)
        if len(self.codes) > known:
            self._read_on()
        quiet.unblock()

    def _note_read(self, tab: int) -> None:
        """Tabs come and go with records, in silence: what is told was chosen by a person, here or on the other side."""
        self._read = self.tabs.tabText(tab)

    def _read_on(self) -> None:
        """The tab that a person read last; the first text where it is not there (yet) or none was chosen."""
        names = [self.tabs.tabText(tab) for tab in range(self.tabs.count())]
        self.tabs.setCurrentIndex(names.index(self._read) if self._read in names else len(self._tabbed))

    def _add_code(self, text: CodeText) -> None:
        code, note = (
            CodeView(tr("{language} of the {name}", language=text.language.value, name=self._name)),
            label("", "muted", wrap=True),
        )
        code.apply_tokens(self._tokens)
        code.line_chosen.connect(partial(self._choose_line, len(self.codes)))
        code.verticalScrollBar().valueChanged.connect(partial(self.scrolled.emit, len(self.codes)))
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(code, 1)
        layout.addWidget(note)
        self.codes.append(code)
        self._notes.append(note)
        self.tabs.addTab(page, text.language.value)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        self._bars.apply_tokens(tokens)
        self.trace.apply_tokens(tokens)
        self.copy_button.setIcon(icon("copy", tokens.text))
        for code in self.codes:
            code.apply_tokens(tokens)

    def scroll_text(self, number: int, row: int) -> None:
        """Begin a text with a row, as the other side does."""
        if number < len(self.codes):
            self.codes[number].verticalScrollBar().setValue(row)

    # Links

    def choose_step(self, number: int) -> None:
        """Mark a step and what it made or touched."""
        self._mark_step(number, None)

    def choose_named(self, name: str) -> None:
        """Mark the place of a name; nothing where there is none."""
        view = self._opened.view
        if view is not None:
            found = [number for number, place in enumerate(view.places) if place.name == name]
            self._mark_place(found[0] if found else -1, None)

    def _choose_place(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if not self._marking:
            self._mark_place(self.loops.place_of(current), self.tree)
            self._tell_place(self.loops.place_of(current))

    def _choose_step(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if not self._marking and current.isValid():
            self._mark_step(current.row(), self.table)
            self.step_chosen.emit(current.row())

    def _choose_line(self, number: int, line: int, word: str) -> None:
        view = self._opened.view
        if self._marking or view is None:
            return
        place = schedule_links.place_at(view, self._opened.texts[number], line, word)
        self._mark_place(place, self.codes[number])
        self._tell_place(place)

    def _tell_place(self, place: int) -> None:
        view = self._opened.view
        self.place_chosen.emit(view.places[place].name if view is not None and place >= 0 else "")

    def _mark_step(self, number: int, origin: QWidget | None) -> None:
        view = self._opened.view
        if view is not None and number < len(view.steps):
            self._mark(frozenset(view.steps[number].places), (number,), origin)

    def _mark_place(self, place: int, origin: QWidget | None) -> None:
        view = self._opened.view
        if view is None or place < 0:
            self._mark(frozenset(), (), origin)
        else:
            self._mark(frozenset((place,)), view.places[place].steps, origin)

    def _mark(self, places: frozenset[int], steps: tuple[int, ...], origin: QWidget | None) -> None:
        """Mark everywhere, and bring it into view everywhere but where a person is looking."""
        view = self._opened.view
        if view is None:
            return
        self._chosen = (places, steps)
        self._marking = True
        if origin is not self.tree:
            self._select_places(places)
        if origin is not self.table:
            self._select_steps(steps)
        around = schedule_links.inside(view, places)
        for code, text in zip(self.codes, self._opened.texts, strict=True):
            opening = schedule_links.opening_lines(text, places)
            code.mark(opening, schedule_links.lines_of(text, around), reveal=code is not origin)
        self._marking = False

    def _select_places(self, places: frozenset[int]) -> None:
        selection = QItemSelection()
        for place in sorted(places):
            index = self.loops.index_of(place)
            selection.select(index, index.siblingAtColumn(2))
        model = self.tree.selectionModel()
        model.select(selection, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        if places:
            first = self.loops.index_of(min(places))
            model.setCurrentIndex(first, QItemSelectionModel.SelectionFlag.NoUpdate)
            self.tree.scrollTo(first)

    def _select_steps(self, steps: tuple[int, ...]) -> None:
        selection = QItemSelection()
        for step in steps:
            selection.select(self.trace.index(step, 0), self.trace.index(step, TraceColumn.SCORE))
        model = self.table.selectionModel()
        model.select(selection, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        if steps:
            shown = [step for step in steps if not self.table.isRowHidden(step)]
            first = self.trace.index((shown or list(steps))[0], 0)
            model.setCurrentIndex(first, QItemSelectionModel.SelectionFlag.NoUpdate)
            self.table.scrollTo(first)

    # Copies

    def _fill_copies(self) -> None:
        self._copies.clear()
        for name, text in self.copies().items():
            self._copies.addAction(name).triggered.connect(partial(QGuiApplication.clipboard().setText, text))

    def copies(self) -> dict[str, str]:
        """What can be copied, by name."""
        found = {tr("Loop tree"): self.loops.as_text(), tr(_TRACE): self.trace.as_text()}
        return found | {text.language.value: "\n".join(text.lines) for text in self._opened.texts}
