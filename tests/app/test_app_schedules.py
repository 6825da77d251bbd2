"""Records opened through the window, around an engine that plays recorded answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import recorded_run
import recorded_schedule as recorded
import studio_engines
from pytestqt.qtbot import QtBot
from silent_engine import SilentEngine

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.jobs.engine_thread import EngineLoss
from app.models.measured_records import RecordSummary
from app.models.open_schedules import Compare, OpenSchedules, Side
from app.models.run_state import Activity, OpenedNetwork
from app.models.studio import StudioModels
from app.schedule_controller import ScheduleController
from tcl_core.domain import ImportReport
from tcl_core.schedule_events import ScheduleInspected, ScheduleRefused

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def studio(tuned_studio: Open) -> Studio:
    return tuned_studio(studio_engines.inspecting)


def summary(studio: Studio, sketch: int = 0) -> RecordSummary:
    found = studio.models.scores.records.summary(0)
    return replace(found, candidate=replace(found.candidate, sketch=sketch))


def answered(studio: Studio) -> bool:
    return studio.models.schedules.chosen.score is not None


def test_a_point_of_the_plots_opens_here(studio: Studio, qtbot: QtBot) -> None:
    studio.window.plots_panel.record_selected.emit(summary(studio))
    qtbot.waitUntil(lambda: answered(studio))
    panel = studio.window.schedules_panel
    assert panel.isVisible() and panel.left.title.text().startswith("fused_matmul_add_gelu")
    view = studio.models.schedules.chosen.view
    assert view is not None and view.record.candidate == summary(studio).candidate
    assert studio.models.run.activity is Activity.READY


def test_the_best_of_the_selected_task_opens_and_is_compared_with_what_is_pinned(studio: Studio, qtbot: QtBot) -> None:
    window, schedules = studio.window, studio.models.schedules
    window.task_panel.table.selectRow(0)
    panel = window.schedules_panel
    panel.best_button.click()
    qtbot.waitUntil(lambda: answered(studio))
    assert "the best of its task" in panel.left.facts.text()
    panel.pin_button.click()
    panel.compare_chosen.emit(Compare.PINNED)
    window.record_selected.emit(summary(studio))
    qtbot.waitUntil(lambda: schedules.chosen.score is not None)
    assert panel.right.isVisible() and "the best of its task" in panel.right.facts.text()
    assert "the best of its task" not in panel.left.facts.text()
    panel.compare_chosen.emit(Compare.BEST)
    qtbot.waitUntil(lambda: schedules.other is not None and schedules.other.score is not None)
    assert panel.status.text()


def test_a_refusal_is_a_sentence_in_the_panel_and_disturbs_nothing(studio: Studio, qtbot: QtBot) -> None:
    studio.window.record_selected.emit(summary(studio, sketch=99))
    schedules = studio.models.schedules
    qtbot.waitUntil(lambda: bool(schedules.chosen.problem))
    assert studio.window.schedules_panel.left.remarks.text() == "There is no such record."
    assert not schedules.chosen.waiting and studio.models.run.activity is Activity.READY


def test_an_engine_that_dies_answers_nothing_and_the_next_one_does(studio: Studio, qtbot: QtBot) -> None:
    studio.window.record_selected.emit(summary(studio, sketch=98))
    schedules = studio.models.schedules
    qtbot.waitUntil(lambda: "was lost" in schedules.chosen.problem)
    studio.window.record_selected.emit(summary(studio))
    qtbot.waitUntil(lambda: answered(studio))


def test_another_network_closes_the_record(studio: Studio, qtbot: QtBot) -> None:
    studio.window.record_selected.emit(summary(studio))
    qtbot.waitUntil(lambda: answered(studio))
    studio.window.open_requested.emit("other.onnx")
    qtbot.waitUntil(lambda: studio.models.schedules.chosen.view is None)
    assert studio.window.schedules_panel._stack.currentIndex() == 0


def test_another_platform_closes_the_record(studio: Studio, qtbot: QtBot) -> None:
    studio.window.record_selected.emit(summary(studio))
    qtbot.waitUntil(lambda: answered(studio))
    studio.controller.platform_left.emit()
    assert studio.models.schedules.chosen.view is None
    assert studio.window.schedules_panel._stack.currentIndex() == 0


@pytest.fixture
def silent(qapp: object) -> tuple[ScheduleController, SilentEngine, OpenSchedules]:
    models, engine = StudioModels(), SilentEngine()
    models.run.opened = OpenedNetwork(
        network=recorded_run.NETWORK,
        platform=recorded_run.PLATFORM,
        report=ImportReport(operators=(), issues=(), seconds=0.0),
    )
    controller = ScheduleController(models, engine)
    controller.set_workspace("/workspaces/sample")
    controller.setProperty("models", models)  # lives as long as the controller
    return controller, engine, models.schedules


def ask(controller: ScheduleController, tile: int) -> None:
    controller.open_record(replace(SUMMARY, candidate=recorded.candidate(tile)))


SUMMARY = RecordSummary(
    serial=0,
    candidate=recorded.candidate(4),
    structural_hash="",
    source=recorded.view(4).record.source,
    round=0,
    elapsed_s=0.0,
    latency_s=1e-3,
    best_s=1e-3,
    cut_off=False,
    cause="",
    rationale=recorded.view(4).record.rationale,
)


def test_while_one_question_is_open_the_last_wish_waits(
    silent: tuple[ScheduleController, SilentEngine, OpenSchedules],
) -> None:
    controller, engine, schedules = silent
    for tile in (4, 8, 16):
        ask(controller, tile)
    assert [command.candidate for command in engine.sent] == [recorded.candidate(4)]
    controller.take_events(tuple(recorded.answers(engine.sent[0])))
    assert [command.candidate for command in engine.sent[1:]] == [recorded.candidate(16)]
    assert schedules.chosen.waiting and schedules.chosen.view is None
    controller.take_events(tuple(recorded.answers(engine.sent[1])))
    assert schedules.chosen.view is not None
    assert schedules.chosen.view.record.candidate == recorded.candidate(16)


def test_answers_to_old_questions_are_dropped(silent: tuple[ScheduleController, SilentEngine, OpenSchedules]) -> None:
    controller, engine, schedules = silent
    ask(controller, 4)
    controller.take_loss(EngineLoss(generation=1, forced=False, reason="", restarting=True))
    controller.take_events(tuple(recorded.answers(engine.sent[0])))
    assert schedules.chosen.view is None and "was lost" in schedules.chosen.problem
    controller.take_events((ScheduleRefused(request=77, sentence="old"),))
    assert "old" not in schedules.chosen.problem


def show_beside_the_best(controller: ScheduleController, engine: SilentEngine) -> None:
    """The fourth record on the left."""
    ask(controller, 4)
    controller.take_events(tuple(recorded.answers(engine.sent[0])))
    controller.compare_with(Compare.BEST)
    controller.take_events(tuple(recorded.answers(engine.sent[1])))


def test_the_best_is_asked_for_again_for_another_task(
    silent: tuple[ScheduleController, SilentEngine, OpenSchedules],
) -> None:
    controller, engine, schedules = silent
    show_beside_the_best(controller, engine)
    assert engine.sent[1].candidate is None
    assert schedules.sides[Side.OTHER].view is not None
    ask(controller, 16)
    controller.take_events(tuple(recorded.answers(engine.sent[2])))
    assert len(engine.sent) == 3
    ask(controller, 2)
    elsewhere = replace(recorded.candidate(2), task_key="another")
    view = recorded.view(2)
    view = replace(view, record=replace(view.record, candidate=elsewhere))
    controller.take_events((ScheduleInspected(request=engine.sent[3].request, view=view),))
    assert (engine.sent[4].task_key, engine.sent[4].candidate) == ("another", None)


def test_the_best_is_asked_for_again_when_there_is_a_better_one(
    silent: tuple[ScheduleController, SilentEngine, OpenSchedules],
) -> None:
    controller, engine, schedules = silent
    show_beside_the_best(controller, engine)
    ask(controller, 16)
    view = replace(recorded.view(16), best_s=recorded.BEST_S / 2)
    controller.take_events((ScheduleInspected(request=engine.sent[2].request, view=view),))
    assert engine.sent[3].candidate is None and schedules.sides[Side.OTHER].waiting


def test_a_record_pinned_early_gets_the_rest(silent: tuple[ScheduleController, SilentEngine, OpenSchedules]) -> None:
    controller, engine, schedules = silent
    ask(controller, 4)
    first, *rest = recorded.answers(engine.sent[0])
    controller.take_events((first,))
    controller.pin()
    controller.take_events(tuple(rest))
    assert schedules.pinned is not None and schedules.pinned.score is not None and not schedules.pinned.waiting
