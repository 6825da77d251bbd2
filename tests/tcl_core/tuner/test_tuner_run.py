"""When a run learns and searches: when enough is new, and while another task's candidates compile."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from quick_run import heaviest, quick_run

from tcl_core.checkpoints import describe
from tcl_core.config import Budget, RunConfig
from tcl_core.domain import Failure, Rationale, Record, Stage
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken, Event, PhaseChanged, Progress, RecordMeasured, RoundFinished
from tcl_core.measure import Measurer
from tcl_core.measure.batch import Batch
from tcl_core.measure.requests import MeasureResult
from tcl_core.store import Workspace
from tcl_core.store.record_table import compress
from tcl_core.store.workspace import DATABASE
from tcl_core.tuner import Tuner
from tcl_core.tuner.lesson import FIRST
from tcl_core.tuner.measuring import Chosen
from tcl_core.tuner.opening import Opened
from tcl_core.tuner.step import Prepared, Step
from tcl_core.tuner.task_work import TaskWork

TRIALS = FIRST + 4


def test_a_lesson_waits_until_enough_is_new(opened: Opened, tmp_path: Path) -> None:
    events = quick_run(tmp_path, opened, Budget(trials=TRIALS), heaviest(opened, 3))
    before, new, lessons = 0, 0, 0
    for event in events:
        new += isinstance(event, RecordMeasured)
        if isinstance(event, RoundFinished):
            learned = event.learn_s > 0
            assert not learned or new >= FIRST
            lessons += learned
            # A lesson beside the round's compiling had not seen what was measured afterwards.
            new = 0 if learned and before < FIRST else new - before if learned else new
            before = new
    assert lessons == 1
    assert FIRST <= kept_records(opened, tmp_path) <= TRIALS


def test_a_run_that_had_no_lesson_learns_at_its_end(opened: Opened, tmp_path: Path) -> None:
    events = quick_run(tmp_path, opened, Budget(trials=4), heaviest(opened, 2))
    assert not any(event.learn_s for event in events if isinstance(event, RoundFinished))
    assert kept_records(opened, tmp_path) == 4


def test_a_run_in_which_all_fails_leaves_no_model(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, lost = Batch.results, Failure(stage=Stage.MEASURE, cause="timeout")

    def failed_results(batch: Batch) -> Iterator[MeasureResult]:
        return (replace(result, latencies_s=(), failure=lost) for result in results(batch))

    monkeypatch.setattr(Batch, "results", failed_results)
    events = quick_run(tmp_path, opened, Budget(trials=4), heaviest(opened, 2))
    assert [event.record.failure for event in events if isinstance(event, RecordMeasured)] == [lost] * 4
    assert not list((tmp_path / "checkpoints").iterdir())


@pytest.mark.parametrize("stage", ["read_network", "open_on"])
def test_a_stop_while_the_network_is_opened_leaves_nothing_behind(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    token = CancelToken()
    left: list[bool] = []

    def stopping(*_: object) -> object:
        left.append(token.may_be_left)
        if stage == "read_network" or len(left) == 2:
            token.stop()
        return opened.loaded if len(left) == 1 else opened

    monkeypatch.setattr("tcl_core.tuner.run.read_network", stopping)
    monkeypatch.setattr("tcl_core.tuner.run.open_on", stopping)
    config = RunConfig(network=None, workspace=str(tmp_path / "w"), threads=1)
    with pytest.raises(Interrupted):
        list(Tuner(config, token).events())
    assert left == [True] * (1 if stage == "read_network" else 2)
    assert not (tmp_path / "w").exists()


def test_a_stop_inside_a_step_does_not_cost_its_lesson(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_ahead = Tuner._look_ahead

    def stopping(tuner: Tuner, *arguments: Any) -> None:
        look_ahead(tuner, *arguments)
        if tuner._lessons:
            tuner.cancel.stop()

    monkeypatch.setattr(Tuner, "_look_ahead", stopping)
    with pytest.raises(Interrupted):
        quick_run(tmp_path, opened, Budget(trials=2 * FIRST), heaviest(opened, 3))
    assert kept_records(opened, tmp_path) >= FIRST


def test_each_lesson_gives_what_is_lent_of_a_task_another_stamp(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn, stamps = Tuner._learn, []

    def stamped(tuner: Tuner) -> list[Any]:
        assert tuner.loan is not None
        return [tuner.loan.stamp(key) for key in tuner._works]

    def noted(tuner: Tuner) -> None:
        before = stamped(tuner)
        learn(tuner)
        stamps.append((before, stamped(tuner)))

    monkeypatch.setattr(Tuner, "_learn", noted)
    quick_run(tmp_path, opened, Budget(trials=TRIALS), heaviest(opened, 3))
    assert stamps, "the run had no lesson"
    for before, after in stamps:
        assert all(old != new for old, new in zip(before, after, strict=True))


def test_what_is_told_of_is_lent_at_once(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who opens a record in a pause is told that it is measured, and does not measure it once more."""
    progress, lent = Tuner._progress, []

    def noted(tuner: Tuner) -> Progress:
        assert tuner.loan is not None
        loan = tuner.loan
        lent.append((tuner.trials, sum(len(loan.records(key)) for key in tuner._works)))
        return progress(tuner)

    monkeypatch.setattr(Tuner, "_progress", noted)
    quick_run(tmp_path, opened, Budget(trials=6), heaviest(opened, 3))
    assert {trials for trials, _ in lent} == set(range(7)), "not at the ends of rounds alone"
    assert all(records == trials for trials, records in lent)


def test_what_a_person_measures_of_a_batch_at_work_is_one_record(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pause a what-if may ask for a candidate that waits its turn: the run comes to it all the same."""
    look_ahead, results = Tuner._look_ahead, Batch.results
    waiting: list[tuple[Tuner, Chosen]] = []
    tuners: set[Tuner] = set()
    persons: list[Record] = []

    def noted(tuner: Tuner, step: Step, *arguments: Any) -> None:
        look_ahead(tuner, step, *arguments)
        tuners.add(tuner)
        waiting.append((tuner, step.rounds[-1].chosen[-1]))

    def overtaken(batch: Batch) -> Iterator[MeasureResult]:
        if waiting and not persons:
            tuner, chosen = waiting.pop()
            assert tuner.loan is not None
            persons.append(tuner.loan.measure(chosen.replay, Rationale(score=None), CancelToken()))
        return results(batch)

    monkeypatch.setattr(Tuner, "_look_ahead", noted)
    monkeypatch.setattr(Batch, "results", overtaken)
    events = quick_run(tmp_path, opened, Budget(trials=4), heaviest(opened, 1))
    told = [event.record.candidate for event in events if isinstance(event, RecordMeasured)]
    (person,) = persons
    assert len(told) == 4 and person.candidate not in told, "the run has its trials besides"
    assert max(event.trials for event in events if isinstance(event, Progress)) == 4
    (tuner,) = tuners
    (work,) = tuner._works.values()
    assert work.state.trials == len(work.records) == 5
    with Workspace.open(tmp_path, read_only=True) as kept:
        assert [record.candidate for record in kept.records()] == [record.candidate for record in work.records]


def test_the_next_task_is_searched_while_one_compiles(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    results, prepare = Batch.results, Tuner._prepare

    def noted_results(batch: Batch) -> Iterator[MeasureResult]:
        order.append("results")
        return results(batch)

    def noted_prepare(tuner: Tuner, *arguments: Any) -> tuple[Prepared, ...]:
        order.append("search")
        return prepare(tuner, *arguments)

    monkeypatch.setattr(Batch, "results", noted_results)
    monkeypatch.setattr(Tuner, "_prepare", noted_prepare)
    tasks = heaviest(opened, 3)
    events = quick_run(tmp_path, opened, Budget(trials=6), tasks)
    assert order == ["search", "search", "results", "search", "results", "results"]
    assert phases(events).count(Stage.SEARCH) == 1
    assert sum(isinstance(event, RecordMeasured) for event in events) == 6
    rounds = [event for event in events if isinstance(event, RoundFinished)]
    assert [event.state.task.key for event in rounds] == list(tasks)
    assert all(event.search_s > 0 for event in rounds)


def test_rounds_of_several_tasks_are_measured_at_once_where_there_are_workers_for_them(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[str]] = []
    begin = Batch.begin

    def noted(batch: Batch) -> None:
        batches.append([request.task_key for request in batch._requests.values()])
        begin(batch)

    monkeypatch.setattr(Batch, "begin", noted)
    chosen = [task for task in opened.tasks if task.key in heaviest(opened, 5)]
    tasks = [task.key for task in sorted(chosen, key=lambda task: -task.flops * task.weight)]
    events = quick_run(tmp_path, opened, Budget(trials=9), tuple(tasks), workers=4)
    first, second, third, fourth, fifth = tasks
    assert batches == [[first] * 2, [second] * 2 + [third] * 2, [fourth] * 2 + [fifth]], "the last trial is the ninth"
    rounds = [event for event in events if isinstance(event, RoundFinished)]
    assert [(event.round, event.state.task.key, event.state.trials) for event in rounds] == [
        (0, first, 2),
        (1, second, 2),
        (2, third, 2),
        (3, fourth, 2),
        (4, fifth, 1),
    ]
    measured: list[Record] = []
    for event in events:
        if isinstance(event, RecordMeasured):
            measured.append(event.record)
        elif isinstance(event, RoundFinished):
            assert {(one.candidate.task_key, one.round) for one in measured} == {(event.state.task.key, event.round)}
            measured.clear()


def test_all_that_was_timed_is_stored_when_a_round_of_several_ends(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed, at_ends = 0, []
    results, close_round = Batch.results, Tuner._close_round

    def counted(batch: Batch) -> Iterator[MeasureResult]:
        nonlocal timed
        for result in results(batch):
            timed += 1
            yield result

    def noted(tuner: Tuner, *arguments: Any, **more: Any) -> Iterator[Event]:
        at_ends.append((timed, tuner.trials))
        return close_round(tuner, *arguments, **more)

    monkeypatch.setattr(Batch, "results", counted)
    monkeypatch.setattr(Tuner, "_close_round", noted)
    quick_run(tmp_path, opened, Budget(trials=8), heaviest(opened, 4), workers=6)
    assert at_ends == [(2, 2), (4, 4), (6, 6), (8, 8)]


def test_a_run_that_breaks_off_leaves_its_workers_before_they_are_ended(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever compiles would start them anew, and nobody would end those."""
    order: list[str] = []

    def full(_workspace: Workspace, _record: Record) -> bool:
        raise UserError("workspace", "The disk is full.")

    def noted(kind: type[Batch] | type[Measurer]) -> None:
        close = kind.close

        def closing(it: Any) -> None:
            order.append(kind.__name__)
            close(it)

        monkeypatch.setattr(kind, "close", closing)

    noted(Batch)
    noted(Measurer)
    monkeypatch.setattr(Workspace, "add_record", full)
    with pytest.raises(UserError, match="disk is full"):
        quick_run(tmp_path, opened, Budget(trials=2), heaviest(opened, 1))
    assert order == ["Batch", "Measurer"]


def test_a_run_of_one_task_waits_for_its_results(opened: Opened, tmp_path: Path) -> None:
    events = quick_run(tmp_path, opened, Budget(trials=6), heaviest(opened, 1))
    rounds = sum(isinstance(event, RoundFinished) for event in events)
    assert phases(events).count(Stage.SEARCH) == rounds


def test_the_same_seed_chooses_the_same_first_rounds(opened: Opened, tmp_path: Path) -> None:
    def chosen(name: str) -> list[str]:
        events = quick_run(tmp_path / name, opened, Budget(trials=6), heaviest(opened, 3))
        return sorted(str(event.record.candidate) for event in events if isinstance(event, RecordMeasured))

    assert chosen("one") == chosen("two")


def test_only_the_tasks_at_work_keep_their_records_where_there_are_many(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcl_core.tuner.run._RESIDENT", 2)
    forgotten: list[str] = []
    forget = TaskWork.forget

    def noted(work: TaskWork) -> None:
        forgotten.append(work.task.key)
        forget(work)

    monkeypatch.setattr(TaskWork, "forget", noted)
    first, second, third = heaviest(opened, 3)
    events = quick_run(tmp_path, opened, Budget(trials=6), (first, second, third))
    assert sum(isinstance(event, RecordMeasured) for event in events) == 6
    assert forgotten == [first, second], "the third was prepared while the second was measured"


def test_records_of_other_sketches_are_not_learned_from(opened: Opened, tmp_path: Path) -> None:
    tasks = heaviest(opened, 2)
    quick_run(tmp_path, opened, Budget(trials=4), tasks)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection, connection:
        connection.execute("UPDATE sketches SET trace_json = ? WHERE task_key = ?", (compress("[[], []]"), tasks[1]))
    with pytest.raises(UserError, match="were made with other sketches"):
        quick_run(tmp_path, opened, Budget(trials=2), tasks, checkpoint="none")
    with Workspace.open(tmp_path, read_only=True) as workspace:
        assert len(workspace.records()) == 4, "nothing was measured before"


def kept_records(opened: Opened, workspace: Path) -> int:
    """Of the platform's own model in a workspace."""
    kept = describe(workspace / "checkpoints" / f"{opened.platform.fingerprint}-random.safetensors").origin
    assert kept is not None
    return kept.records


def phases(events: list[Event]) -> list[Stage]:
    return [event.stage for event in events if isinstance(event, PhaseChanged)]
