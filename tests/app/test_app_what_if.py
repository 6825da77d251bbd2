"""What-ifs through the window, around an engine that plays recorded answers; and the order of questions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import recorded_run
import recorded_what_if as recorded
import studio_engines
from pytestqt.qtbot import QtBot
from silent_engine import SilentEngine

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.jobs.engine_thread import EngineLoss
from app.models.run_state import OpenedNetwork
from app.models.studio import StudioModels
from app.schedule_controller import ScheduleController
from app.what_if_controller import WhatIfController
from tcl_core.domain import ImportReport, Source
from tcl_core.events import EngineReady, Finished
from tcl_core.what_if_events import MeasureWhatIf, OpenWhatIf, ScoreWhatIf, WhatIfRefused

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def studio(tuned_studio: Open, qtbot: QtBot) -> Studio:
    """A studio after a run, with the best record of its first task open."""
    studio = tuned_studio(studio_engines.supposing)
    studio.controller.panel_wanted.emit("what-if")
    studio.window.task_panel.task_selected.emit(recorded.TASK.key)
    studio.window.what_if_panel.first_button.click()
    qtbot.waitUntil(lambda: studio.models.what_if.answer is not None)
    return studio


def test_a_change_is_predicted_measured_and_opened_in_schedules(studio: Studio, qtbot: QtBot) -> None:
    what_if, panel = studio.models.what_if, studio.window.what_if_panel
    assert panel.isVisible()
    what_if.turn(2, (0,))
    assert what_if.answer is None
    qtbot.waitUntil(lambda: what_if.answer is not None)
    before = len(studio.models.scores.records)
    panel.card.measure_button.click()
    assert what_if.measuring
    qtbot.waitUntil(lambda: what_if.made.rowCount() == 1)
    assert len(studio.models.scores.records) == before + 1
    summary = studio.models.scores.records.summary(before)
    assert summary.source is Source.PERSON and summary.candidate == recorded.turned(2, (0,))
    panel.table.selectRow(0)
    panel.open_button.click()
    qtbot.waitUntil(lambda: studio.models.schedules.chosen.view is not None)
    view = studio.models.schedules.chosen.view
    assert view is not None and view.record.candidate == recorded.turned(2, (0,))
    studio.window.schedules_panel.what_if_button.click()
    assert what_if.opening


def test_a_refusal_is_a_sentence_and_another_network_closes_the_record(studio: Studio, qtbot: QtBot) -> None:
    what_if = studio.models.what_if
    studio.window.task_panel.task_selected.emit(recorded_run.tasks()[1].key)
    studio.window.what_if_panel.best_button.click()
    qtbot.waitUntil(lambda: what_if.problem == "There is no such record.")
    assert not what_if.opening
    studio.window.open_requested.emit("other.onnx")
    qtbot.waitUntil(lambda: what_if.desk is None)


@pytest.fixture
def silent(qapp: object) -> tuple[WhatIfController, SilentEngine, StudioModels]:
    models, engine = StudioModels(), SilentEngine()
    report = ImportReport(operators=(), issues=(), seconds=0.0)
    models.run.opened = OpenedNetwork(network=recorded_run.NETWORK, platform=recorded_run.PLATFORM, report=report)
    schedules = ScheduleController(models, SilentEngine())  # type: ignore[arg-type]
    schedules.set_workspace("/workspaces/sample")
    schedules.select_task(recorded.TASK.key)
    controller = WhatIfController(models, engine, schedules)  # type: ignore[arg-type]
    models.setParent(controller)
    controller.open_best()
    (command,) = engine.sent
    assert isinstance(command, OpenWhatIf) and command.candidate is None
    controller.take_events(tuple(recorded.answers(command)))
    engine.sent.clear()
    return controller, engine, models


def test_another_folder_closes_the_record(silent: tuple[WhatIfController, SilentEngine, StudioModels]) -> None:
    controller, engine, models = silent
    controller._schedules.set_workspace("/workspaces/mine")
    assert models.what_if.desk is None
    controller.measure()
    assert not engine.sent


Silent = tuple[WhatIfController, SilentEngine, StudioModels]


def test_every_change_is_asked_and_only_the_newest_answer_counts(silent: Silent) -> None:
    controller, engine, models = silent
    models.what_if.turn(2, (0,))
    models.what_if.turn(2, (3,))
    first, second = engine.sent
    assert isinstance(first, ScoreWhatIf) and isinstance(second, ScoreWhatIf)
    controller.take_events(tuple(recorded.answers(first)))
    assert models.what_if.answer is None
    controller.take_events(tuple(recorded.answers(second)))
    assert models.what_if.answer is not None


def test_a_prediction_is_asked_for_again_when_the_model_is_another(silent: Silent) -> None:
    controller, engine, _ = silent
    done = Finished(
        reason="trials", trials=1, failed=0, seconds=1.0, seconds_by_stage=(), candidates_scored=0, library=None
    )
    controller.take_events((done,))
    assert [type(command) for command in engine.sent] == [ScoreWhatIf]


def test_one_measurement_at_a_time_and_its_refusal_ends_it(silent: Silent) -> None:
    controller, engine, models = silent
    controller.measure()
    controller.measure()
    (command,) = engine.sent
    assert isinstance(command, MeasureWhatIf) and models.what_if.measuring
    controller.take_events((WhatIfRefused(request=command.request + 5, sentence="another's"),))
    assert models.what_if.measuring
    controller.take_events((WhatIfRefused(request=command.request, sentence="The workspace is in use."),))
    assert not models.what_if.measuring and models.what_if.problem == "The workspace is in use."


def test_an_engine_that_is_lost_leaves_the_decisions(silent: Silent) -> None:
    controller, engine, models = silent
    models.what_if.turn(2, (0,))
    controller.measure()
    controller.take_loss(EngineLoss(generation=1, forced=False, reason="", restarting=True))
    assert models.what_if.decisions[2] == (0,) and not models.what_if.measuring
    assert "was lost" in models.what_if.problem
    engine.sent.clear()
    controller.take_events((EngineReady(seconds=1.0, pid=2),))
    (again,) = engine.sent
    assert isinstance(again, ScoreWhatIf), "nobody answers what the lost one was asked"
    controller.take_events(tuple(recorded.answers(again)))
    assert models.what_if.answer is not None
