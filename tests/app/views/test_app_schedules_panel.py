"""The schedules panel on recorded answers: what is linked to what, two records side by side, keys and copies."""

from __future__ import annotations

import pytest
import recorded_schedule as recorded
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from pytestqt.qtbot import QtBot

from app.models.open_schedules import Compare, Opened, Side
from app.models.schedule_diff import Mark
from app.models.studio import StudioModels
from app.models.trace_table import StepFilter, TraceColumn
from app.tokens import DARK, LIGHT
from app.views.schedules_panel import SchedulesPanel
from app.widgets.record_pane import RecordPane
from tcl_core.schedule_events import SourceGenerated

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
TREE, TRACE, TENSORIR = 0, 1, 2
ORIGIN = QPoint(0, 0)


@pytest.fixture
def panel(models: StudioModels, qtbot: QtBot) -> SchedulesPanel:
    made = SchedulesPanel(models.schedules, models.tasks, models.run)
    qtbot.addWidget(made)
    made.apply_tokens(LIGHT)
    made.resize(1200, 460)
    made.show()
    qtbot.waitExposed(made)
    return made


def test_a_narrow_window_shows_every_choice_and_button(models: StudioModels, panel: SchedulesPanel) -> None:
    show(models)
    panel.resize(690, 300)
    panel.grab()
    assert panel.width() == 690
    whole = panel.rect()
    for part in (panel.steps, panel.compare, panel.pin_button, panel.what_if_button, panel.best_button):
        assert part.isVisible() and whole.contains(part.geometry().translated(part.parentWidget().mapTo(panel, ORIGIN)))
    assert panel.left.table.columnWidth(TraceColumn.ARGUMENTS) >= 100, "what a step is about can be read"


def test_the_primitives_are_named_whole(models: StudioModels, panel: SchedulesPanel) -> None:
    show(models)
    table = panel.left.table
    assert table.columnWidth(TraceColumn.PRIMITIVE) >= table.sizeHintForColumn(TraceColumn.PRIMITIVE)


def opened(tile: int, *, long: bool = False) -> Opened:
    texts = SourceGenerated(request=1, texts=recorded.source(long))
    return Opened(view=recorded.view(tile), source=texts, score=recorded.explained(1))


def show(models: StudioModels, *, other: Opened | None = None, tile: int = 4, long: bool = False) -> None:
    models.schedules.sides[Side.CHOSEN] = opened(tile, long=long)
    if other is not None:
        models.schedules.sides[Side.OTHER] = other
        models.schedules.compare = Compare.BEST
    models.schedules.announce()


def selected_places(pane: RecordPane) -> list[int]:
    rows = pane.tree.selectionModel().selectedRows()
    return sorted(pane.loops.place_of(index) for index in rows)


def selected_steps(pane: RecordPane) -> list[int]:
    return sorted(index.row() for index in pane.table.selectionModel().selectedRows())


def go_to(pane: RecordPane, text: int, line: int, word: str = "") -> None:
    code = pane.codes[text]
    cursor = QTextCursor(code.document().findBlockByNumber(line))
    column = code.lines[line].index(word) if word else 0
    cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.MoveAnchor, column)
    code.setTextCursor(cursor)


def test_an_empty_panel_says_what_to_do(panel: SchedulesPanel, models: StudioModels, qtbot: QtBot) -> None:
    assert panel._stack.currentIndex() == 0 and not panel.first_button.isEnabled()
    models.schedules.task_key, models.schedules.tuned = recorded.TASK.key, True
    models.schedules.announce()
    with qtbot.waitSignal(panel.best_requested):
        qtbot.mouseClick(panel.first_button, Qt.MouseButton.LeftButton)


def test_a_record_is_shown_whole(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models)
    pane = panel.left
    assert pane.title.text() == "fused_matmul_add_gelu · sketch 1"
    assert "920 µs, 2.30× the best" in pane.facts.text()
    assert [pane.tabs.tabText(tab) for tab in range(pane.tabs.count())] == ["TensorIR", "LLVM IR", "Assembly"]
    assert pane.codes[0].toPlainText().splitlines() == list(recorded.tensor_ir(4).lines)
    assert pane.table.isRowHidden(0) and not pane.table.isRowHidden(2)
    assert not panel.right.isVisible()


def test_without_room_for_three_parts_the_loops_are_a_tab(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models)
    pane = panel.left

    def parts() -> list[object]:
        return [pane._split.widget(place) for place in range(pane._split.count())]

    panel.resize(900, 460)
    assert parts() == [pane.table, pane.tabs]
    assert [pane.tabs.tabText(tab) for tab in range(pane.tabs.count())] == ["Loops", "TensorIR", "LLVM IR", "Assembly"]
    assert pane.tabs.currentIndex() == 1
    panel.resize(1300, 460)
    assert parts() == [pane.tree, pane.table, pane.tabs]
    assert pane.tree.isVisible() and pane.tabs.tabText(0) == "TensorIR"


def test_a_loop_marks_its_steps_and_lines(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models)
    pane = panel.left
    pane.tree.setCurrentIndex(pane.loops.index_of(0))
    assert selected_steps(pane) == [2, 3, 6]
    assert [code.marked for code in pane.codes] == [{2}, {0}, {0}]
    assert pane.codes[0]._around == set(range(2, 10))


def test_arrow_keys_walk_the_tree_and_the_trace(panel: SchedulesPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models)
    pane = panel.left
    pane.tree.setCurrentIndex(pane.loops.index_of(0))
    qtbot.keyClick(pane.tree, Qt.Key.Key_Down)
    assert selected_places(pane) == [1] and pane.codes[0].marked == {3}
    pane.table.setCurrentIndex(pane.trace.index(3, 0))
    qtbot.keyClick(pane.table, Qt.Key.Key_Down)
    assert selected_places(pane) == [0, 5, 6] and pane.codes[0].marked == {2, 7, 8}
    qtbot.keyClick(pane.codes[0], Qt.Key.Key_Down)
    assert pane.codes[0].textCursor().blockNumber() == 1
    assert selected_places(pane) == []


def test_a_step_marks_what_it_made(panel: SchedulesPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models)
    pane = panel.left
    where = pane.table.visualRect(pane.trace.index(2, TraceColumn.PRIMITIVE)).center()
    qtbot.mouseClick(pane.table.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert selected_places(pane) == [0, 1] and pane.codes[0].marked == {2, 3}


def test_a_line_marks_its_loop_and_of_a_nest_the_one_under_the_cursor(
    panel: SchedulesPanel, models: StudioModels, qtbot: QtBot
) -> None:
    show(models)
    pane = panel.left
    go_to(pane, 0, 6)
    assert selected_places(pane) == [4]
    go_to(pane, 0, 3, "i_1")
    assert selected_places(pane) == [1] and selected_steps(pane) == [2, 3]
    go_to(pane, 1, 2)
    assert selected_places(pane) == [0] and pane.codes[0].marked == {2}
    go_to(pane, 1, 4)
    assert selected_places(pane) == [] and not pane.codes[0].marked
    code = pane.codes[0]
    pane.tabs.setCurrentIndex(0)
    row = code.cursorRect(QTextCursor(code.document().findBlockByNumber(8))).center()
    qtbot.mouseClick(code.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(120, row.y()))
    assert selected_places(pane) == [6]


def test_late_answers_keep_what_is_marked(panel: SchedulesPanel, models: StudioModels) -> None:
    whole = opened(4)
    models.schedules.sides[Side.CHOSEN] = Opened(waiting=True, view=whole.view)
    models.schedules.announce()
    assert panel.status.text() == "Generating the source."
    panel.left.tree.setCurrentIndex(panel.left.loops.index_of(1))
    models.schedules.sides[Side.CHOSEN] = Opened(view=whole.view, source=whole.source, score=whole.score)
    models.schedules.announce()
    assert selected_places(panel.left) == [1] and panel.left.codes[0].marked == {3}
    assert panel.left.trace.index(2, TraceColumn.SCORE).data() == "+0.50"
    assert not panel.status.text()


def test_two_records_stand_level_with_their_differences_marked(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models, other=opened(8))
    left, right = panel.left, panel.right
    assert right.isVisible() and panel.status.text() == "1 of 2 decisions differs."
    assert [left.tabs.tabText(tab) for tab in range(3)] == ["Loops", "Trace", "TensorIR"]
    assert len(left.codes[0].rows) == len(right.codes[0].rows) == 11
    assert [row.mark for row in left.codes[0].rows if row.mark] == [Mark.CHANGED] * 3 + [Mark.ONLY]
    assert right.codes[0].rows[-1].line is None
    assert left.trace.index(2, TraceColumn.DECISION).data() == "≠ 4·16"
    left.tabs.setCurrentIndex(TRACE)
    assert right.tabs.currentIndex() == TRACE
    left.tree.setCurrentIndex(left.loops.index_of(5))
    assert selected_places(right) == [5]
    left.table.setCurrentIndex(left.trace.index(7, 0))
    assert selected_steps(right) == [7] and selected_places(right) == [3]
    models.schedules.compare = Compare.NOTHING
    models.schedules.announce()
    assert not right.isVisible() and left.tabs.tabText(0) == "TensorIR" and left.tree.isVisible()


def wait_for(models: StudioModels, tile: int) -> None:
    """The next record: asked for, replayed, and with its source."""
    whole = opened(tile)
    for known in (Opened(waiting=True), Opened(waiting=True, view=whole.view), whole):
        models.schedules.sides[Side.CHOSEN] = known
        models.schedules.announce()


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("title", ["TensorIR", "LLVM IR", "Assembly"])
def test_the_text_that_is_read_is_the_one_of_the_next_record(
    panel: SchedulesPanel, models: StudioModels, title: str, beside: bool
) -> None:
    show(models, other=opened(8) if beside else None)
    tabs = panel.left.tabs

    def read() -> list[str]:
        return [tabs.tabText(tabs.currentIndex()), *([panel.right.tabs.tabText(tabs.currentIndex())] if beside else [])]

    assert set(read()) == {"TensorIR"}
    tabs.setCurrentIndex([tabs.tabText(tab) for tab in range(tabs.count())].index(title))
    for tile in (16, 2):
        wait_for(models, tile)
        assert set(read()) == {title}


def test_a_trace_that_is_read_beside_another_stays(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models, other=opened(8))
    panel.left.tabs.setCurrentIndex(TRACE)
    wait_for(models, 16)
    assert panel.left.tabs.currentIndex() == panel.right.tabs.currentIndex() == TRACE
    models.schedules.compare = Compare.NOTHING
    models.schedules.announce()
    assert panel.left.tabs.tabText(panel.left.tabs.currentIndex()) == "TensorIR"


def test_a_text_too_long_for_a_diff_says_so(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models, other=opened(8), long=True)
    assert panel.left._notes[1].text().startswith("Too long for a diff")
    assert panel.left._notes[1].text().endswith("in labels.")


def test_steps_can_be_filtered(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models)
    pane = panel.left
    panel.steps.setCurrentIndex(panel.steps.findData(StepFilter.DECISIONS))
    assert [row for row in range(8) if not pane.table.isRowHidden(row)] == [2, 5]
    panel.steps.setCurrentIndex(panel.steps.findData(StepFilter.ALL))
    assert not any(pane.table.isRowHidden(row) for row in range(8))


def test_intents_of_the_buttons(panel: SchedulesPanel, models: StudioModels, qtbot: QtBot) -> None:
    assert not panel.pin_button.isEnabled() and not panel.compare.isEnabled()
    show(models)
    with qtbot.waitSignal(panel.pin_requested):
        qtbot.mouseClick(panel.pin_button, Qt.MouseButton.LeftButton)
    pinned = panel.compare.findData(Compare.PINNED)
    assert not panel.compare.model().item(pinned).isEnabled()
    models.schedules.pinned = models.schedules.chosen
    models.schedules.announce()
    assert panel.compare.model().item(pinned).isEnabled() and "sketch 1" in panel.compare.toolTip()
    with qtbot.waitSignal(panel.compare_chosen) as told:
        panel.compare.setCurrentIndex(pinned)
        panel.compare.activated.emit(pinned)
    assert told.args == [Compare.PINNED]


def test_everything_can_be_copied(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models)
    panel.left._copies.aboutToShow.emit()
    names = [action.text() for action in panel.left._copies.actions()]
    assert names == ["Loop tree", "Trace", "TensorIR", "LLVM IR", "Assembly"]
    panel.left._copies.actions()[2].trigger()
    assert QGuiApplication.clipboard().text() == "\n".join(recorded.tensor_ir(4).lines)


def test_a_record_without_source_says_why(panel: SchedulesPanel, models: StudioModels) -> None:
    why = "This record failed to compile (timeout), so it has no source."
    models.schedules.sides[Side.CHOSEN] = Opened(
        view=recorded.view(4), source=SourceGenerated(request=1, texts=(), note=why)
    )
    models.schedules.announce()
    assert panel.left.remarks.text() == why and panel.left.tabs.count() == 1


def test_light_and_dark(panel: SchedulesPanel, models: StudioModels) -> None:
    show(models, other=opened(8))
    panel.left.tree.setCurrentIndex(panel.left.loops.index_of(1))
    for tokens in (DARK, LIGHT):
        panel.apply_tokens(tokens)
        assert not panel.grab().isNull()
    assert selected_places(panel.left) == [1]


def test_only_lines_on_screen_are_coloured(panel: SchedulesPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models, long=True)
    panel.left.tabs.setCurrentIndex(1)
    code = panel.left.codes[1]
    qtbot.waitUntil(lambda: 0 in code._coloured)
    assert code.document().findBlockByNumber(0).layout().formats()
    assert not code.document().findBlockByNumber(3000).layout().formats()
    code.verticalScrollBar().setValue(3000)
    qtbot.waitUntil(lambda: 3000 in code._coloured)
    assert len(code._coloured) < 200
