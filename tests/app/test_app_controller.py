"""What is on screen belongs to one network, one platform and one folder; around an engine that says nothing itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import checkpoint_samples
import pytest
import recorded_run
import recorded_schedule
import recorded_what_if
import silent_desk
from silent_desk import Desk

from app.models.announcement import Mood, WayOn
from app.models.evaluation import EvaluationRequest
from app.models.run_request import request_of
from app.models.run_state import Activity
from app.settings import Settings
from tcl_core import events
from tcl_core.config import NetworkConfig
from tcl_core.domain import RecordCount, Stage
from tcl_core.library_events import LibraryDone, VerifyLibrary, WriteReport
from tcl_core.schedule_events import InspectSchedule

MINE = "/workspaces/mine"
ROUNDS = (events.RoundFinished, events.GainsExpected)
BATCH_8 = replace(recorded_run.NETWORK, digest="8" * 64)


def listed(desk: Desk, network: str = recorded_run.NETWORK.digest) -> None:
    """The workspace on screen says that it holds a run of that network."""
    (past, _) = checkpoint_samples.runs()
    desk.tell(checkpoint_samples.listing(desk.folders[-1], runs=(replace(past, digest=network),)))


def test_what_is_done_with_a_library_names_network_and_platform(desk: Desk) -> None:
    listed(desk)
    desk.library.verify()
    sent = desk.engine.sent[-1]
    assert isinstance(sent, VerifyLibrary)
    assert (sent.network, sent.platform) == (recorded_run.NETWORK.digest, recorded_run.PLATFORM.fingerprint)
    assert sent.workspace == desk.folders[-1]


def test_a_file_that_moved_is_read_where_it_was_opened(desk: Desk) -> None:
    moved = "/n/n2.onnx"
    desk.open(moved, recorded_run.opened(replace(recorded_run.NETWORK, name="n2", path=moved)))
    listed(desk)
    desk.library.verify()
    checked = desk.engine.sent[-1]
    assert isinstance(checked, VerifyLibrary) and checked.path == moved
    desk.tell(LibraryDone(command=checked, network=recorded_run.NETWORK.name, report=recorded_run.library()))
    desk.controller.repeat_run(replace(recorded_run.config(), network="/n/n1.onnx", seed=11))
    started = desk.engine.sent[-1]
    assert isinstance(started, events.StartRun)
    assert (started.config.network, started.config.seed) == (moved, 11)


def test_a_run_of_a_network_of_that_name_is_not_one_of_this(desk: Desk) -> None:
    listed(desk, network=BATCH_8.digest)
    assert not desk.models.library.tuned
    desk.library.verify()
    assert not isinstance(desk.engine.sent[-1], VerifyLibrary)
    listed(desk)
    assert desk.models.library.tuned


def test_another_folder_shows_nothing_of_the_one_before(desk: Desk) -> None:
    desk.run("/workspaces/sample")
    desk.models.library.take(recorded_run.library())
    desk.models.schedules.sides = {
        side: replace(shown, problem="old") for side, shown in desk.models.schedules.sides.items()
    }
    assert len(desk.models.scores.records) == 5
    desk.controller.choose_workspace(MINE)
    assert desk.folders[-1] == MINE == desk.schedules.workspace
    assert len(desk.models.scores.records) == 0 and desk.models.library.report is None
    assert not desk.models.schedules.chosen.problem


@pytest.mark.parametrize("network", [False, True])
def test_another_folder_or_network_shows_no_figures_of_the_last_run(desk: Desk, network: bool) -> None:
    run, stage_times = desk.models.run, desk.models.stage_times
    desk.controller.start_run(request_of(recorded_run.config()))
    desk.tell(*recorded_run.RecordedRun(rounds=2, round_size=5).events())
    run.resumed_records = 7
    assert run.outcome and run.progress is not None and stage_times.seconds
    if network:
        desk.open("/n/net.onnx", recorded_run.opened(BATCH_8))
    else:
        desk.controller.choose_workspace(MINE)
    assert (run.outcome, run.progress, run.resumed_records, stage_times.seconds) == ("", None, 0, ())


def test_the_import_of_a_run_is_timed_though_it_has_not_started(desk: Desk) -> None:
    desk.controller.start_run(request_of(recorded_run.config()))
    began, *rest = recorded_run.RecordedRun(rounds=1, round_size=5).events()
    early = events.PhaseChanged(at=began.at - 3.0, stage=Stage.IMPORT)
    desk.tell(early, began, *rest)
    assert dict(desk.models.stage_times.seconds)[Stage.IMPORT] >= 3.0


@pytest.mark.parametrize(
    ("other", "kept"),
    [
        ({}, True),
        ({"network": BATCH_8}, False),
        ({"platform": checkpoint_samples.OTHER}, False),
    ],
)
@pytest.mark.parametrize("resumed", [0, 24])
def test_a_run_keeps_what_is_on_screen_of_its_network_and_platform_alone(
    desk: Desk, other: dict[str, Any], kept: bool, resumed: int
) -> None:
    desk.run("/workspaces/sample")
    desk.models.show_library(recorded_run.library())
    began, *_ = desk.started("/workspaces/sample", resumed=resumed)
    assert isinstance(began, events.RunStarted)
    desk.tell(replace(began, **other))
    shown = (len(desk.models.scores.records), desk.models.library.report is not None)
    assert shown == ((5, True) if kept else (0, False))
    assert {line.name for line in desk.models.estimates.references} == (
        {"untuned TVM", "onnxruntime"} if kept else set()
    )


@pytest.mark.parametrize("left", [False, True])
def test_a_what_if_of_a_folder_that_was_left_is_not_shown_in_the_next(desk: Desk, left: bool) -> None:
    desk.schedules.select_task(recorded_what_if.TASK.key)
    desk.what_ifs.open_best()
    desk.tell(*recorded_what_if.answers(desk.engine.sent[-1]))
    desk.what_ifs.measure()
    command = desk.engine.sent[-1]
    if left:
        desk.controller.choose_workspace(MINE)
    desk.tell(*recorded_what_if.answers(command))
    assert len(desk.models.scores.records) == (0 if left else 1)
    assert desk.models.tasks.states[0].trials == (0 if left else 1)


def test_a_folder_that_cannot_be_read_has_measured_no_task(desk: Desk) -> None:
    desk.run("/workspaces/sample")
    desk.tell(*(event for event in recorded_run.RecordedRun(rounds=15).events() if isinstance(event, ROUNDS)))
    assert all(state.trials for state in desk.models.tasks.states)
    desk.controller.choose_workspace(MINE)
    assert not any(state.trials or state.history_s for state in desk.models.tasks.states), "nor does the folder before"
    desk.models.tasks.set_counts((state.task.key, RecordCount(trials=4)) for state in desk.models.tasks.states)
    unreadable = checkpoint_samples.listing(MINE, runs=(), problem="It is no workspace.")
    desk.tell(unreadable)
    assert not any(state.trials for state in desk.models.tasks.states)
    verdict = desk.models.budget.judge(replace(request_of(recorded_run.config()), workspace=MINE))
    assert "has been measured already" not in verdict.sentence


def test_a_record_is_asked_of_the_folder_on_screen(desk: Desk) -> None:
    desk.controller.choose_workspace(MINE)
    desk.schedules.select_task(recorded_schedule.TASK.key)
    desk.schedules.open_best()
    sent = desk.engine.sent[-1]
    assert isinstance(sent, InspectSchedule) and sent.workspace == MINE


def test_the_run_of_another_folder_is_not_offered_to_go_on(desk: Desk) -> None:
    desk.run("/workspaces/sample")
    sent = len(desk.engine.sent)
    desk.controller.choose_workspace(MINE)
    assert desk.said[-1] is None
    desk.controller.take_way_on(WayOn.CONTINUE_RUN)
    assert not any(isinstance(command, events.StartRun) for command in desk.engine.sent[sent:])


def test_a_run_that_goes_on_in_another_folder_begins_with_no_records_on_screen(desk: Desk) -> None:
    desk.run("/workspaces/sample")
    request = replace(request_of(recorded_run.config()), workspace=MINE)
    desk.controller.start_run(request)
    desk.tell(*desk.started(MINE, resumed=24))
    assert len(desk.models.scores.records) == 5


def test_what_was_checked_in_another_folder_is_in_no_report_of_this(desk: Desk) -> None:
    listed(desk)
    desk.library.verify()
    done = recorded_run.library()
    desk.tell(LibraryDone(command=desk.engine.sent[-1], network=recorded_run.NETWORK.name, report=done))
    desk.controller.choose_workspace(MINE)
    listed(desk)
    desk.models.library.take(done)
    desk.library.write_report(checkpoint_samples.runs()[0], "/tmp/report.html")
    sent = desk.engine.sent[-1]
    assert isinstance(sent, WriteReport) and sent.library is None


def test_a_check_of_a_folder_that_was_left_is_told_and_not_shown(desk: Desk) -> None:
    checked = desk.folders[-1]
    listed(desk)
    desk.library.verify()
    command = desk.engine.sent[-1]
    desk.controller.choose_workspace(MINE)
    desk.tell(LibraryDone(command=command, network=recorded_run.NETWORK.name, report=recorded_run.library()))
    assert desk.models.library.report is None and not desk.models.estimates.references
    said = desk.said[-1]
    assert said is not None and said.sentence.startswith("Same results") and checked in said.sentence
    assert said.action is None and not desk.models.library.doing
    assert desk.models.run.activity is Activity.READY
    listed(desk)
    desk.library.write_report(checkpoint_samples.runs()[0], "/tmp/report.html")
    sent = desk.engine.sent[-1]
    assert isinstance(sent, WriteReport) and sent.library is None


@pytest.mark.parametrize("left", [False, True])
def test_an_evaluation_is_shown_for_its_own_folder_alone(desk: Desk, left: bool) -> None:
    evaluated = desk.folders[-1]
    desk.checkpoints.evaluate(EvaluationRequest(names=("1",)))
    assert desk.models.run.activity is Activity.TEACHING
    if left:
        desk.controller.choose_workspace(MINE)
    desk.tell(checkpoint_samples.evaluated(evaluated))
    assert (desk.models.evaluation.result is None) is left
    said = desk.said[-1]
    assert said is not None and (evaluated in said.sentence) is left
    assert desk.models.run.activity is Activity.READY


def test_opened_again_a_network_stays_in_the_chosen_folder_and_another_has_its_own(desk: Desk) -> None:
    usual = desk.folders[-1]
    desk.open("/n/net.onnx", recorded_run.opened())
    desk.controller.choose_workspace(MINE)
    desk.open("/n/net.onnx", recorded_run.opened(BATCH_8))
    assert desk.folders[-1] == MINE
    desk.open("/n/other.onnx", recorded_run.opened(replace(recorded_run.NETWORK, name="other", digest="o" * 64)))
    assert desk.folders[-1] not in {MINE, usual} and desk.folders[-1].endswith("other")


@pytest.mark.parametrize("sample", [False, True])
def test_a_folder_chosen_before_a_network_is_open_is_its_folder(qapp: object, settings: Settings, sample: bool) -> None:
    desk = silent_desk.make(settings)
    desk.controller.choose_workspace(MINE)
    if sample:
        desk.controller.tune_sample(replace(request_of(recorded_run.config()), workspace=MINE))
        desk.tell(recorded_run.opened())
        assert desk.engine.sent[-1].config.workspace == MINE
    else:
        desk.open("/n/net.onnx", recorded_run.opened())
    assert desk.folders[-1] == MINE == desk.schedules.workspace


def test_no_folder_means_the_usual_one(desk: Desk) -> None:
    usual = desk.folders[-1]
    desk.controller.choose_workspace(MINE)
    desk.controller.choose_workspace("")
    assert desk.folders[-1] == usual


def test_a_run_keeps_its_folder(desk: Desk) -> None:
    desk.controller.start_run(request_of(recorded_run.config()))
    told = len(desk.folders)
    desk.controller.choose_workspace(MINE)
    assert len(desk.folders) == told


def test_a_run_on_another_platform_closes_the_records_of_the_one_before(desk: Desk) -> None:
    schedules, what_if = desk.models.schedules, desk.models.what_if
    desk.schedules.select_task(recorded_schedule.TASK.key)
    desk.schedules.open_best()
    desk.tell(*recorded_schedule.answers(desk.engine.sent[-1]))
    desk.schedules.pin()
    desk.what_ifs.open_chosen()
    desk.tell(*recorded_what_if.answers(desk.engine.sent[-1]))
    began, *_ = desk.started(desk.folders[-1])
    desk.tell(began)
    assert schedules.chosen.view is not None and schedules.pinned is not None and what_if.desk is not None
    assert isinstance(began, events.RunStarted)
    desk.tell(replace(began, platform=checkpoint_samples.OTHER))
    assert schedules.chosen.view is None and schedules.pinned is None and what_if.desk is None
    sent = len(desk.engine.sent)
    desk.what_ifs.measure()
    assert len(desk.engine.sent) == sent


SHAPES = NetworkConfig(shapes=(("image", (8, 3, 64, 64)),))


@pytest.mark.parametrize(
    ("asked", "kept"), [({}, True), ({"threads": 1}, True), ({"target": "cuda"}, False), ({"terms": SHAPES}, False)]
)
def test_a_choice_of_tasks_is_for_the_target_and_inputs_they_were_listed_for(
    desk: Desk, asked: dict[str, Any], kept: bool
) -> None:
    tasks = desk.models.tasks
    first, second = (task.key for task in recorded_run.tasks()[:2])
    tasks.choose([first, second])
    tasks.set_task_trials([(first, 48)])
    desk.controller.start_run(replace(request_of(recorded_run.config()), **asked))
    config = desk.engine.sent[-1].config
    choice = (config.include, config.budget.task_trials)
    assert choice == (((first, second), ((first, 48),)) if kept else ((), ()))
    said = desk.said[-1]
    assert said is None if kept else said is not None and said.sentence.endswith("this run tunes all tasks.")


def test_tasks_that_a_run_brings_are_listed_for_its_target_and_inputs(desk: Desk) -> None:
    request = replace(request_of(recorded_run.config()), target="cuda", terms=SHAPES)
    desk.controller.start_run(request)
    assert desk.said[-1] is None, "nothing was chosen"
    began, *_ = desk.started(desk.folders[-1])
    assert isinstance(began, events.RunStarted)
    network = replace(BATCH_8, shapes=SHAPES.shapes)
    desk.tell(replace(began, config=replace(began.config, target="cuda"), network=network))
    desk.models.run.activity = Activity.READY
    key = recorded_run.tasks()[0].key
    desk.models.tasks.choose([key])
    desk.controller.start_run(request)
    assert desk.engine.sent[-1].config.include == (key,) and desk.said[-1] is None


@pytest.mark.parametrize(
    ("activity", "reason"),
    [
        (Activity.RUNNING, "Stop the run before another network is opened."),
        (Activity.CHECKING, "The engine is at work on the library or a report. Another network can be opened when"),
        (Activity.TEACHING, "The engine is at work on checkpoints. Another network can be opened when"),
    ],
)
def test_a_network_that_cannot_be_opened_now_says_why(desk: Desk, activity: Activity, reason: str) -> None:
    desk.models.run.activity = activity
    desk.controller.open_network("/n/net.onnx")
    said = desk.said[-1]
    assert said is not None and said.sentence.startswith(reason)
    assert not any(isinstance(command, events.OpenNetwork) and command.path for command in desk.engine.sent)


def test_opened_again_the_selected_task_stays_selected(desk: Desk) -> None:
    desk.schedules.select_task(recorded_schedule.TASK.key)
    desk.open(None, recorded_run.opened())
    assert desk.models.schedules.task_key == recorded_schedule.TASK.key


@pytest.mark.parametrize(("reason", "fraction"), [("no expected gain", 1.0), ("minutes", 1.0), ("stopped", 0.5)])
def test_the_bar_is_full_when_a_run_came_to_its_own_end(desk: Desk, reason: str, fraction: float) -> None:
    played = list(recorded_run.RecordedRun(rounds=2, round_size=5).events())
    began, progress = played[0], next(event for event in played if isinstance(event, events.Progress))
    finished = next(event for event in played if isinstance(event, events.Finished))
    desk.tell(began, progress, replace(finished, reason=reason, library=None))
    assert progress.fraction == 0.5
    assert desk.models.run.activity is Activity.READY
    assert finished.seconds > progress.elapsed_s, "time has gone by since the last word of the run"
    assert desk.models.run.progress == replace(progress, fraction=fraction, elapsed_s=finished.seconds)


@pytest.mark.parametrize(("failed", "mood"), [(3, Mood.WARN), (2, Mood.NEUTRAL)])
@pytest.mark.parametrize("reason", ["stopped", "minutes"])
def test_a_run_of_which_all_failed_says_so(desk: Desk, reason: str, failed: int, mood: Mood) -> None:
    desk.tell(
        events.Finished(
            reason=reason,
            trials=3,
            failed=failed,
            seconds=9.0,
            seconds_by_stage=(),
            candidates_scored=64,
            library=None,
        )
    )
    said = desk.said[-1]
    assert said is not None and said.mood is mood
    assert said.sentence.endswith(" None gave a latency: Failures says why.") is (failed == 3)
