"""What is said of a budget before a run, by the tasks on screen and by the pace of earlier runs."""

from __future__ import annotations

from dataclasses import replace

import checkpoint_samples
import pytest
import recorded_run
from pytestqt.qtbot import QtBot

from app.models.budget_check import Verdict, _span
from app.models.run_request import RunRequest, request_of
from app.models.run_state import OpenedNetwork
from app.models.studio import StudioModels
from tcl_core.checkpoint_events import PastRun
from tcl_core.domain import ImportReport, TaskState

ASKED = request_of(recorded_run.config())
PAST = checkpoint_samples.runs()[0]


@pytest.fixture
def models(qtbot: QtBot) -> StudioModels:
    """Three tasks, none of them measured, and a workspace without runs."""
    models = StudioModels()
    models.run.opened = OpenedNetwork(
        network=recorded_run.NETWORK,
        platform=recorded_run.PLATFORM,
        report=ImportReport(operators=(), issues=(), seconds=0.0),
    )
    models.tasks.set_tasks(recorded_run.tasks(3))
    return models


def judged(models: StudioModels, *runs: PastRun, **asked: object) -> Verdict:
    models.checkpoints.set_listing(checkpoint_samples.listing("/w", runs=runs))
    request: RunRequest = replace(ASKED, **({"minutes": None, "trials": None} | asked))  # type: ignore[arg-type]
    return models.budget.judge(request)


def paced(trials: int | None, seconds: float, **config: object) -> PastRun:
    return replace(PAST, trials=trials, seconds=seconds, config=replace(PAST.config, **config))  # type: ignore[arg-type]


def test_without_a_pace_trials_are_judged_and_time_is_not(models: StudioModels) -> None:
    assert judged(models, trials=47) == Verdict(
        sentence="With 47 trials, tasks stay nearly untuned: 16 trials for every untried task are 48.", enough=False
    )
    assert judged(models, trials=48).sentence == "Enough: 16 trials for every untried task are 48."
    assert judged(models, minutes=3.0) == Verdict(
        sentence="16 trials for every untried task are 48; how long that takes is known after a first run."
    )
    assert judged(models).sentence == "No limit: the run goes on until no task promises a gain."


def test_the_pace_of_several_runs_is_a_range(models: StudioModels) -> None:
    slow, fast = paced(60, 60.0), paced(120, 60.0)
    assert judged(models, slow, fast, trials=120).sentence.endswith(", and 120 take about 1:00 to 2:00 here.")
    one = replace(RunRequest(minutes=None), trials=1)
    assert _span(one, (1.0, 0.5)) == ", and 1 takes about 0:01 to 0:02 here"
    assert judged(models, slow, fast, minutes=1.0) == Verdict(
        sentence="1:00 measures about 60 to 120 trials here; 16 trials for every untried task are 48."
    )
    short = judged(models, slow, fast, minutes=0.2)
    assert short.sentence.startswith("0:12 measures about 12 to 24 trials here, and 16 trials")
    assert short.sentence.endswith(": allow 0:24 or more.") and not short.enough
    assert judged(models, slow, fast, minutes=0.4).enough, "the fast one's 48 trials"


@pytest.mark.parametrize(
    "past",
    [
        paced(None, 60.0),
        paced(0, 60.0),
        paced(60, 9.9),
        paced(60, 60.0, target="cuda"),
        paced(60, 60.0, threads=7),
        replace(paced(60, 60.0), digest="another"),
    ],
)
def test_a_run_that_tells_no_pace_of_this_one_is_left_out(models: StudioModels, past: PastRun) -> None:
    assert judged(models, past, trials=48).sentence == "Enough: 16 trials for every untried task are 48."
    assert "here" in judged(models, past, paced(10, 10.0), trials=48).sentence


def test_only_untried_tasks_need_trials(models: StudioModels) -> None:
    known = [TaskState(task=task, trials=1, best_s=1e-3) for task in recorded_run.tasks(3)]
    models.tasks.set_states([*known[:2], TaskState(task=known[2].task)])
    assert judged(models, trials=16).sentence == "Enough: the only untried task needs 16 trials."
    models.tasks.set_states(known)
    assert judged(models, trials=1).sentence == "Enough: every task has been measured already."
    assert judged(models, minutes=1.0).sentence == "Every task has been measured already."


def test_nothing_is_said_of_no_network(models: StudioModels) -> None:
    models.tasks.set_tasks(())
    assert judged(models, trials=1) == Verdict(sentence="")
    models.tasks.set_tasks(recorded_run.tasks(1))
    models.run.opened = None
    assert judged(models, trials=1) == Verdict(sentence="")


def test_tasks_with_next_to_no_budget_are_named_as_far_as_there_is_room(models: StudioModels) -> None:
    keys = [state.task.key for state in models.tasks.states]
    models.tasks.set_task_trials([(key, 15) for key in keys])
    names = [state.task.name for state in models.tasks.states]
    said = judged(models, trials=480)
    assert said.sentence.startswith(f"The budget of {names[0]}, {names[1]} and 1 more is next to nothing")
    assert not said.enough
    models.tasks.set_task_trials([(key, 15) for key in keys[:2]])
    said = judged(models, trials=480)
    assert said.sentence.startswith(f"The budget of {names[0]}, {names[1]} is next to nothing")
    models.tasks.set_task_trials([(key, 16) for key in keys[:2]])
    assert judged(models, paced(60, 60.0), trials=480).sentence.endswith("480 take about 8:00 here.")
    models.tasks.set_task_trials([(key, 20) for key in keys])
    assert judged(models, paced(60, 60.0), trials=480).sentence.endswith("60 take about 1:00 here.")
    assert judged(models, paced(60, 60.0), trials=50).sentence.endswith("50 take about 0:50 here.")
