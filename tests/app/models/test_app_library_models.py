"""The library's state and sentences: what a check keeps of the report before, and what is said of each outcome."""

from __future__ import annotations

from dataclasses import replace

import library_samples
import pytest
import recorded_run
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.models import library_tables, library_wording
from app.models.library_state import LibraryState
from app.models.run_state import Activity, EngineHealth, OpenedNetwork, RunState
from app.models.task_table import TaskTableModel
from tcl_core.domain import ImportReport, TaskState
from tcl_core.libraries import Contest, LibraryReport

UNTIMED = {"tuned": None, "untuned": None, "onnxruntime": None, "contests": ()}
TASKS = recorded_run.tasks(3)


@pytest.fixture
def run(qtbot: QtBot) -> RunState:
    return RunState()


@pytest.fixture
def tasks(qtbot: QtBot) -> TaskTableModel:
    return TaskTableModel()


@pytest.fixture
def state(run: RunState, tasks: TaskTableModel) -> LibraryState:
    state = LibraryState(run, tasks)
    for table in (state.times, state.tasks, state.outputs):
        tester = QAbstractItemModelTester(table, QAbstractItemModelTester.FailureReportingMode.Fatal)
        tester.setParent(table)
    return state


def texts(table: object) -> list[list[str]]:
    model = table
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]  # type: ignore[attr-defined]
        for row in range(model.rowCount())  # type: ignore[attr-defined]
    ]


def test_the_tables_show_a_report(state: LibraryState) -> None:
    state.take(library_samples.differing())
    assert texts(state.times) == [
        ["untuned TVM", "412", "405 to 432", "36.1×", "tuned is faster", "35.2 to 36.9×"],
        ["tuned", "11.4", "11.1 to 12.9", "–", "–", "–"],
        ["onnxruntime", "11.6", "10.7 to 13.1", "1.02×", "tie", "0.970 to 1.05×"],
    ]
    assert texts(state.tasks) == [
        ["fused_a1", "3", "2,000", "75.0 %", "tuned: best record"],
        ["fused_b2", "1", "2,000", "25.0 %", "tuned: best record"],
        ["fused_mean", "1", "–", "–", "fallback: no record that ran"],
    ]
    assert texts(state.outputs)[0] == ["logits", "0.5", "4.5", "infinite", "12", "1,000", "differs"]


def test_a_task_whose_faster_records_no_longer_apply_says_so(state: LibraryState) -> None:
    first, *others = library_samples.report().tasks
    state.take(library_samples.report(tasks=(replace(first, passed_over=2), *others)))
    assert [row[4] for row in texts(state.tasks)][:2] == [
        "tuned: record 3, as faster ones no longer apply",
        "tuned: best record",
    ]


def test_a_check_keeps_times_and_bundle_of_the_same_library_alone(state: LibraryState) -> None:
    state.take(library_samples.report())
    state.take(library_samples.report(path=None, rtol=0.1, **UNTIMED))
    assert state.report is not None
    assert (state.report.tuned, state.bundle) == (library_samples.report().tuned, "/workspaces/sample/exports/sample")
    assert state.report.rtol == 0.1
    other = library_samples.report(path=None, **UNTIMED)
    state.take(replace(other, tasks=other.tasks[:2]))
    assert (state.report.tuned, state.bundle) == (None, "")


def test_tasks_are_foretold_from_the_records_so_far(state: LibraryState, run: RunState, tasks: TaskTableModel) -> None:
    tasks.set_tasks(TASKS)
    run.announce()
    assert state.tasks.rowCount() == 0, "without a record nobody can tell: an earlier run may have some"
    tasks.update_state(TaskState(task=TASKS[0], trials=3, best_s=1e-3))
    run.announce()
    assert [row[4] for row in texts(state.tasks)] == ["tuned: best record", *["fallback: no record that ran"] * 2]
    assert state.expected
    state.take(library_samples.report())
    assert [row[0] for row in texts(state.tasks)] == ["fused_a1", "fused_b2", "fused_mean"]
    state.take(None)
    assert state.tasks.rowCount() == 3 and state.times.rowCount() == 0


def test_the_library_is_held_with_a_reason(state: LibraryState, run: RunState) -> None:
    assert state.held == "Open a network first."
    run.opened = OpenedNetwork(
        network=recorded_run.NETWORK,
        platform=recorded_run.PLATFORM,
        report=ImportReport(operators=(), issues=(), seconds=0.0),
    )
    run.settle()
    assert state.held == "The engine is starting."
    run.engine = EngineHealth.DOWN
    assert state.held == "The engine is down.", "which is more than a moment's business"
    run.engine = EngineHealth.READY
    assert state.held.startswith("Tune this network first")
    state.tuned = True
    assert state.held == ""
    for activity, told in ((Activity.TEACHING, "The engine is busy"), (Activity.STOPPING, "A run is on")):
        run.activity = activity
        assert state.held.startswith(told)


def test_checkpoints_are_held_with_a_reason(run: RunState) -> None:
    assert run.checkpoints_held == "The engine is starting."
    run.engine = EngineHealth.DOWN
    assert run.checkpoints_held == "The engine is down."
    run.engine = EngineHealth.READY
    assert run.checkpoints_held == ""
    for activity in Activity:
        run.activity = activity
        assert bool(run.checkpoints_held) is (activity not in {Activity.IDLE, Activity.READY})


def test_a_task_that_ran_in_no_time_has_a_share(state: LibraryState) -> None:
    (first, *_) = library_samples.report().tasks
    (row,) = library_tables.used_tasks((replace(first, latency_s=0.0),))
    assert row.share == 0.0


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ({}, "Tuned 11.4 ms: 36.1× as fast as untuned TVM, a tie with onnxruntime"),
        (UNTIMED, "Checked, not timed"),
        ({**UNTIMED, "outputs": ()}, "Built, neither checked nor timed"),
        (
            {"contests": (Contest(rival="onnxruntime", ratio=2.0, low=None, high=None, rounds=3),)},
            "Tuned 11.4 ms: 2.00× as fast as onnxruntime (too few rounds to be sure)",
        ),
        (
            {"contests": (Contest(rival="untuned", ratio=76.5, low=None, high=None, rounds=1),)},
            "Tuned 11.4 ms: 76.5× as fast as untuned TVM",
        ),
        ({"device": "pi:9090", "contests": ()}, "Tuned 11.4 ms on pi:9090"),
    ],
)
def test_headlines(changes: dict[str, object], headline: str) -> None:
    assert library_wording.headline(library_samples.report(**changes)) == headline


def test_a_rival_that_is_faster_and_a_result_that_differs_are_nothing_to_cheer_at() -> None:
    good = library_samples.report()
    slower = Contest(rival="onnxruntime", ratio=0.5, low=0.4, high=0.6, rounds=9)
    assert library_wording.is_good(good)
    assert not library_wording.is_good(replace(good, contests=(*good.contests, slower)))
    assert not library_wording.is_good(library_samples.differing())


def said(report: LibraryReport) -> str:
    return library_wording.verdict(report)


def test_verdicts() -> None:
    assert said(library_samples.report()) == (
        "Same results as onnxruntime: greatest absolute error 2.4e-06 of results up to 4.5 (rtol 0.001, atol 0.001)"
    )
    old = tuple(replace(each, largest=None) for each in library_samples.report().outputs)
    assert "greatest absolute error 2.4e-06 (rtol" in said(library_samples.report(outputs=old))
    great = tuple(replace(each, largest=1234.0) for each in library_samples.report().outputs)
    assert "of results up to 1,200 (" in said(library_samples.report(outputs=great))
    small = tuple(replace(each, largest=1e-3) for each in library_samples.report().outputs)
    assert said(library_samples.report(outputs=small)).endswith("zeros would match, too; check with a smaller one")
    assert said(library_samples.differing()).startswith("Results differ from onnxruntime: greatest absolute error 0.5")
    assert said(library_samples.report(outputs=())) == "Not checked against onnxruntime."
    broken = library_samples.report(outputs=(), crashed=True, failures=("crash (SIGSEGV)",))
    assert said(broken) == "The library broke when it was run. crash (SIGSEGV)"
    assert broken.matches is False


def test_what_is_missing_is_told_once() -> None:
    slow, crash = "untuned did not run: a run takes longer than 20 s", "crash (SIGSEGV): the comparison ended with -11"
    assert library_wording.left_out(library_samples.report()) == ""
    assert library_wording.left_out(library_samples.report(failures=(slow,))) == f"{slow}."
    broken = library_samples.report(outputs=(), crashed=True, failures=(f"{slow}.", crash))
    assert library_wording.left_out(broken) == f"{slow}."
    assert said(broken).endswith(crash)


def test_coverage() -> None:
    assert library_wording.coverage(library_samples.report()) == (
        "2 of 3 tasks run their best record that applies; 1 runs untuned code."
    )
    one = library_samples.report(tasks=library_samples.report().tasks[1:])
    assert library_wording.coverage(one).startswith("1 of 2 tasks runs its best record")
    assert "All 2 tasks" in library_wording.coverage(library_samples.report(tasks=library_samples.report().tasks[:2]))
    for number, said_of_it in ((0, "The only task runs its best record."), (2, "The only task runs untuned code.")):
        only = library_samples.report().tasks[number : number + 1]
        assert library_wording.coverage(library_samples.report(tasks=only)) == said_of_it
