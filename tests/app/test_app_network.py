"""The network panel: what it draws, what a click does, and that the selection is one in all panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import recorded_graph
import recorded_run
import studio_engines
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models import network_graph
from app.models.graph_looks import Lens, Look, Mark, box_looks
from app.models.run_state import Activity
from app.models.studio import StudioModels
from app.tokens import DARK, LIGHT
from app.views.network_panel import NetworkPanel
from app.widgets.graph_geometry import Flow
from tcl_core.domain import TaskState
from tcl_core.graphs import NodeKind

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def models(qapp: object) -> StudioModels:
    return StudioModels()


@pytest.fixture
def panel(models: StudioModels, qtbot: QtBot) -> NetworkPanel:
    made = NetworkPanel(models)
    qtbot.addWidget(made)
    made.apply_tokens(LIGHT)
    made.resize(1000, 420)
    return made


def show(models: StudioModels, blocks: int = 6) -> None:
    tasks = recorded_run.tasks()
    models.tasks.set_tasks(tasks)
    models.graph.set_graph(recorded_graph.graph(tasks, blocks))


def measured(count: int = 15) -> list[TaskState]:
    return [TaskState(task=task, trials=10, best_s=1e-3, first_s=4e-3) for task in recorded_run.tasks()[:count]]


def click(qtbot: QtBot, panel: NetworkPanel, number: int) -> None:
    panel.view.centerOn(panel.view.boxes[number])
    point = panel.view.mapFromScene(panel.view.boxes[number].pos())
    qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=point)


def test_repeats_are_folded_first_and_unfold_by_a_double_click(
    panel: NetworkPanel, models: StudioModels, qtbot: QtBot
) -> None:
    show(models)
    panel.show()
    graph = models.graph
    assert [(repeat.size, repeat.count) for repeat in graph.graph.repeats] == [(6, 6)]
    assert len(panel.view.boxes) == 1 + 4 + 1 + 5 + 1
    (folded,) = [number for number, box in enumerate(graph.drawing.boxes) if box.repeat is not None]
    assert graph.drawing.boxes[folded].title == "6 × the same block"
    panel.view.centerOn(panel.view.boxes[folded])
    point = panel.view.mapFromScene(panel.view.boxes[folded].pos())
    qtbot.mouseDClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert len(panel.view.boxes) == 1 + 4 + 36 + 5 + 1
    assert [frame.title for frame in graph.drawing.frames] == [f"{number} of 6" for number in range(1, 7)]
    assert not panel.fold.isChecked()
    panel.fold.click()
    assert len(panel.view.boxes) == 12


def test_boxes_never_lie_on_each_other(panel: NetworkPanel, models: StudioModels) -> None:
    show(models)
    models.graph.set_folded(False)
    for flow in (False, True):
        panel.turn.setChecked(flow)
        panel._redraw()
        rects = [box.mapRectToScene(box.shape().boundingRect()) for box in panel.view.boxes]
        assert not [(a, b) for a in range(len(rects)) for b in range(a) if rects[a].intersects(rects[b])]
        assert all(panel.view.sceneRect().contains(rect) for rect in rects)


def test_edges_go_with_the_flow(panel: NetworkPanel, models: StudioModels) -> None:
    show(models)
    models.graph.set_folded(False)
    view = panel.view
    for flow, ahead in ((Flow.RIGHT, lambda box: box.pos().x()), (Flow.DOWN, lambda box: box.pos().y())):
        view.show_drawing(models.graph.drawing, models.graph.looks, flow)
        assert all(
            ahead(view.boxes[route.source]) < ahead(view.boxes[route.target]) for route in models.graph.drawing.routes
        )


def test_a_click_selects_the_task_and_the_ground_none(panel: NetworkPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models)
    panel.show()
    heard: list[str] = []
    panel.task_selected.connect(heard.append)
    key = models.graph.drawing.boxes[2].keys[0]
    click(qtbot, panel, 2)
    assert heard == [key]
    assert [box.number for box in panel.view.boxes if box.chosen] == list(models.graph.boxes_of(key))
    panel.view.fit()
    qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert heard == [key, ""]
    assert not any(box.chosen for box in panel.view.boxes)


def test_clicks_on_a_folded_repeat_go_through_its_tasks(
    panel: NetworkPanel, models: StudioModels, qtbot: QtBot
) -> None:
    show(models)
    panel.show()
    heard: list[str] = []
    panel.task_selected.connect(heard.append)
    box = next(box for box in models.graph.drawing.boxes if box.repeat is not None)
    different = list(dict.fromkeys(box.keys))
    for _ in range(len(different) + 1):
        click(qtbot, panel, models.graph.drawing.boxes.index(box))
    assert heard == [*different, different[0]]


def test_selection_elsewhere_marks_the_boxes_and_shows_one(panel: NetworkPanel, models: StudioModels) -> None:
    show(models, blocks=30)
    panel.show()
    models.graph.set_folded(False)
    key = recorded_run.tasks()[14].key
    (number,) = models.graph.boxes_of(key)
    assert not panel.view.sight().contains(panel.view.boxes[number].pos())
    panel.select_task(key)
    assert panel.view.boxes[number].chosen
    assert panel.view.sight().contains(panel.view.boxes[number].pos())


def test_search_marks_counts_and_steps(panel: NetworkPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models)
    panel.show()
    panel.search.setText("conv2d")
    assert panel._found.text() == "4 found"
    qtbot.keyClick(panel.search, Qt.Key.Key_Return)
    qtbot.keyClick(panel.search, Qt.Key.Key_Return)
    assert panel._found.text() == "2 of 4"
    assert panel.chosen_task == models.graph.drawing.boxes[2].keys[0]
    panel.search.setText("nothing like it")
    assert panel._found.text() == "0 found"


def test_keys_zoom_and_fit(panel: NetworkPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models)
    panel.show()
    before = panel.view.scale_now
    qtbot.keyClick(panel.view, Qt.Key.Key_Plus)
    assert panel.view.scale_now > before
    qtbot.keyClick(panel.view, Qt.Key.Key_0)
    assert panel.view.sight().contains(panel.view.sceneRect().adjusted(9, 9, -9, -9))


def test_shares_of_all_boxes_add_up_to_one() -> None:
    tasks = recorded_run.tasks()
    graph = recorded_graph.graph(tasks)
    counts = {task.key: sum(node.task_key == task.key for node in graph.nodes) for task in tasks}
    states = {task.key: TaskState(task=replace(task, weight=counts[task.key]), trials=5, best_s=1e-3) for task in tasks}
    looks = box_looks([(node.task_key,) for node in graph.nodes], states, "", Lens.SHARE)
    shares = [float(look.value.removesuffix(" %")) for look in looks if look.heat is not None]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert max(look.heat for look in looks if look.heat is not None) == 1.0


@pytest.mark.parametrize(("lens", "value"), [(Lens.SPEED_UP, "4.00×"), (Lens.STATE, "10 trials")])
def test_each_lens_says_its_value_in_words(lens: Lens, value: str) -> None:
    states = {state.task.key: state for state in measured()}
    (look,) = box_looks([(recorded_run.tasks()[0].key,)], states, "", lens)
    assert look.value == value


def test_a_first_round_that_nobody_here_saw_gives_no_speed_up() -> None:
    first, second = (replace(state, first_s=None, history_s=(1e-3,)) for state in measured(2))
    states = {first.task.key: first, second.task.key: replace(second, first_s=4e-3)}
    boxes = [(first.task.key,), (second.task.key,), (first.task.key, second.task.key)]
    assert [look.value for look in box_looks(boxes, states, "", Lens.SPEED_UP)] == ["–", "4.00×", "–"]


def test_marks_tell_how_far_a_task_is() -> None:
    first, second, third, fourth = recorded_run.tasks()[:4]
    states = {
        first.key: TaskState(task=first),
        second.key: TaskState(task=second, trials=4, failures=4),
        third.key: TaskState(task=third, trials=4, best_s=1e-3, exhausted=True),
        fourth.key: TaskState(task=fourth, trials=4, best_s=1e-3),
    }
    boxes = [(first.key,), (second.key,), (third.key,), (fourth.key,), ("",), (), (third.key, first.key)]
    marks = [look.mark for look in box_looks(boxes, states, fourth.key, Lens.STATE)]
    assert marks == [
        Mark.UNMEASURED,
        Mark.FAILING,
        Mark.DONE,
        Mark.BUSY,
        Mark.NONE,
        Mark.NONE,
        Mark.UNMEASURED,
    ]


def test_records_change_the_looks_but_not_the_drawing(panel: NetworkPanel, models: StudioModels) -> None:
    show(models)
    panel.show()
    boxes = list(panel.view.boxes)
    models.tasks.set_states(measured())
    assert panel.view.boxes == boxes
    assert all(
        item.look.heat is not None
        for item, box in zip(boxes, models.graph.drawing.boxes, strict=True)
        if box.kind is NodeKind.CALL
    )


def test_behind_another_panel_nothing_is_coloured(
    panel: NetworkPanel, models: StudioModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(models)
    asked: list[int] = []

    def counting(boxes: Sequence[tuple[str, ...]], *rest: Any) -> tuple[Look, ...]:
        asked.append(len(boxes))
        return box_looks(boxes, *rest)

    monkeypatch.setattr(network_graph, "box_looks", counting)
    models.tasks.set_states(measured())
    models.tasks.update_state(measured()[0])
    models.tasks.flush()
    assert not asked and all(item.look.heat is None for item in panel.view.boxes)
    panel.show()
    assert len(asked) == 1
    assert any(item.look.heat is not None for item in panel.view.boxes)


def test_looks_are_made_by_task_and_only_boxes_of_a_changed_one_are_touched(
    panel: NetworkPanel, models: StudioModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(models, blocks=30)
    panel.show()
    models.graph.set_folded(False)
    models.graph.set_lens(Lens.STATE)
    before = {item: item.look for item in panel.view.boxes}
    asked: list[int] = []

    def counting(boxes: Sequence[tuple[str, ...]], *rest: Any) -> tuple[Look, ...]:
        asked.append(len(boxes))
        return box_looks(boxes, *rest)

    monkeypatch.setattr(network_graph, "box_looks", counting)
    models.tasks.update_state(measured()[6])
    models.tasks.flush()
    assert len(before) > 180 and asked == [15 + 1], "15 tasks, and what is no call"
    touched = [item.number for item, look in before.items() if item.look is not look]
    assert touched == list(models.graph.boxes_of(recorded_run.tasks()[6].key)) and len(touched) == 30


def test_a_change_too_small_to_see_is_none(panel: NetworkPanel, models: StudioModels) -> None:
    show(models)
    panel.show()
    models.tasks.set_states(measured())
    before = [item.look for item in panel.view.boxes]
    state = models.tasks.states[3]
    models.tasks.update_state(replace(state, best_s=0.99999 * state.best_s))
    models.tasks.flush()
    assert all(item.look is look for item, look in zip(panel.view.boxes, before, strict=True))


def test_the_minimap_rests_between_pictures(panel: NetworkPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models, blocks=30)
    panel.show()
    models.graph.set_folded(False)
    minimap = panel.view.minimap
    minimap.grab()
    states = measured()
    models.tasks.set_states([*states[:-1], replace(states[-1], best_s=3e-3)])
    minimap.grab()
    first = minimap._picture.cacheKey()
    models.tasks.set_states(states)
    minimap.grab()
    assert minimap._picture.cacheKey() == first and minimap._due
    qtbot.waitUntil(lambda: minimap._picture.cacheKey() != first)
    panel.view.fit()
    assert not minimap.isVisible()
    last = minimap._picture.cacheKey()
    minimap._rest.stop()
    models.tasks.set_states(states[:-1])
    assert minimap._outdated and minimap._picture.cacheKey() == last, "nobody sees it"


def test_a_thousand_nodes_open_whole_and_stay_as_drawn_when_a_run_begins(
    panel: NetworkPanel, models: StudioModels
) -> None:
    tasks = recorded_run.tasks()
    graph = recorded_graph.large(tasks)
    models.tasks.set_tasks(tasks)
    models.graph.set_graph(graph)
    models.graph.set_folded(False)
    panel.show()
    assert len(panel.view.boxes) == len(graph.nodes) == 1001
    assert len(panel.view.scene().items()) == 1001 + len(graph.edges) + 165
    assert panel.view.minimap.isVisible()
    boxes = list(panel.view.boxes)
    models.graph.set_graph(replace(graph))
    assert panel.view.boxes == boxes
    panel.view.fit()
    assert not panel.view.minimap.isVisible()
    panel.grab()


def test_a_click_on_the_minimap_goes_there(panel: NetworkPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models, blocks=30)
    panel.show()
    models.graph.set_folded(False)
    last, minimap = panel.view.boxes[-1], panel.view.minimap
    assert not panel.view.sight().contains(last.pos())
    qtbot.mouseClick(minimap, Qt.MouseButton.LeftButton, pos=QPoint(minimap.width() - 2, minimap.height() // 2))
    assert panel.view.sight().contains(last.pos())


def test_a_network_without_a_graph_says_so(panel: NetworkPanel, models: StudioModels) -> None:
    assert panel._stack.currentIndex() == 0
    show(models)
    assert panel._stack.currentIndex() == 1
    models.graph.set_graph(None)
    assert panel._stack.currentIndex() == 0


def test_selection_is_one_in_all_panels(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    window = studio.window
    window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    window.show_panel("network")
    network = window.network_panel
    assert "1 thing noticed" in network._summary.text()
    window.task_panel.table.selectRow(3)
    key = network.chosen_task
    assert key == window.plots_panel.chosen_task != ""
    other = next(
        box.number for box in network.view.boxes if studio.models.graph.drawing.boxes[box.number].title == "mean"
    )
    click(qtbot, network, other)
    assert window.plots_panel.chosen_task == network.chosen_task != key
    network.report_button.click()
    assert network.report.isVisible()
    assert network.report.issue_table.model().rowCount() == 1
    window.apply_tokens(DARK)


def test_a_task_that_the_filter_hides_is_selected_everywhere_else(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    window, (shown, hidden) = studio.window, recorded_run.tasks()[:2]
    window.task_panel.select_task(shown.key)
    window.task_panel.filter.setText(shown.name)
    window.network_panel._choose(hidden.key)
    assert window.plots_panel.chosen_task == hidden.key == studio.models.schedules.task_key
    assert window.network_panel.chosen_task == hidden.key
    assert not window.task_panel.table.selectionModel().selectedRows()


def test_a_run_with_another_target_or_shapes_brings_its_own_graph_and_report(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.telling)
    window, models = studio.window, studio.models
    window.open_requested.emit(None)
    qtbot.waitUntil(lambda: models.run.activity is Activity.READY)
    workspace = window.run_panel.form.request.workspace
    window.actions_.start.trigger()
    tasks = tuple(replace(task, key=f"other {task.key}", name=f"other_{task.name}") for task in recorded_run.tasks())
    opened = recorded_run.opened()
    report = replace(opened.report, operators=(("Gemm", 3),), issues=())
    graph = recorded_graph.graph(tasks, blocks=2)
    started = next(recorded_run.RecordedRun().events())
    states = tuple(TaskState(task=task, trials=10, best_s=1e-3) for task in tasks)
    studio.engine.events.emit((replace(opened, tasks=tasks, graph=graph, report=report),))
    assert models.graph.graph != graph, "its names are not known yet"
    studio.engine.events.emit((replace(started, states=states),))
    assert models.graph.graph == graph and models.graph.boxes_of(tasks[0].key)
    assert any(box.title.startswith("other_") for box in models.graph.drawing.boxes)
    assert any(look.heat is not None for look in models.graph.looks)
    assert models.operators.rowCount() == 1 and models.import_issues.rowCount() == 0
    assert models.run.opened is not None and models.run.opened.report == report
    assert models.run.activity is Activity.RUNNING and window.run_panel.form.request.workspace == workspace
