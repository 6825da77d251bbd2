"""Rows and columns of the library's three tables: who was timed, what each task runs, how far each output is off."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.models import quantities
from app.models.row_table import Column
from app.translation import later, tr
from tcl_core.domain import TaskState
from tcl_core.libraries import Contest, LibraryReport, LibraryTask, OutputCheck, Timing, Verdict, magnitude

NO_RECORD = later("no record that ran")
_NONE = "–"
_VERDICTS = {
    Verdict.FASTER: later("tuned is faster"),
    Verdict.SLOWER: later("tuned is slower"),
    Verdict.TIE: later("tie"),
    Verdict.OPEN: later("too few rounds"),
}


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One row of the times. `contest`: the tuned library against it; None for the tuned library itself."""

    name: str
    timing: Timing | None
    contest: Contest | None


@dataclass(frozen=True, kw_only=True)
class UsedTask:
    """One row of the tasks. `share`: of the sum of weight x latency over the tuned tasks, None for a fallback."""

    task: LibraryTask
    share: float | None


def _timed(text: Callable[[Timing], str], otherwise: str = _NONE) -> Callable[[Contender], str]:
    return lambda row: text(row.timing) if row.timing else tr(otherwise)


def _speed_up(row: Contender) -> str:
    return tr("{ratio}×", ratio=quantities.digits(row.contest.ratio)) if row.contest else _NONE


def _interval(row: Contender) -> str:
    contest = row.contest
    if contest is None or contest.low is None or contest.high is None:
        return _NONE
    return tr("{low} to {high}×", low=quantities.digits(contest.low), high=quantities.digits(contest.high))


def _verdict(row: Contender) -> str:
    return tr(_VERDICTS[row.contest.verdict]) if row.contest else _NONE


TIME_COLUMNS: tuple[Column[Contender], ...] = (
    Column(later("Contender"), later("Timed in turns, on the same inputs"), lambda row: row.name),
    Column(
        later("Median (ms)"),
        later("Median latency of the whole network, in milliseconds"),
        _timed(lambda timing: quantities.digits(timing.median_ms), later("not timed")),
        numeric=True,
    ),
    Column(
        later("10–90 % (ms)"),
        later("Spread: 10th to 90th percentile of all runs, in milliseconds; a report of the run tells how many"),
        _timed(
            lambda timing: tr(
                "{low_ms} to {high_ms}",
                low_ms=quantities.digits(timing.low_ms),
                high_ms=quantities.digits(timing.high_ms),
            )
        ),
        numeric=True,
    ),
    Column(
        later("Speed-up"),
        later("How many times as fast the tuned library is: the median over the rounds"),
        _speed_up,
        numeric=True,
    ),
    Column(later("Verdict"), later("A tie when the interval includes 1"), _verdict),
    Column(
        later("95 % interval"),
        later("Confidence interval of that median by the sign test over the rounds"),
        _interval,
        numeric=True,
    ),
)


def _latency_us(row: UsedTask) -> str:
    return _NONE if row.task.latency_s is None else quantities.digits(row.task.latency_s * 1e6)


TASK_COLUMNS: tuple[Column[UsedTask], ...] = (
    Column(later("Task"), later("The fused function"), lambda row: row.task.name),
    Column(later("Weight"), later("How often the network runs it"), lambda row: f"{row.task.weight}", numeric=True),
    Column(later("Latency (µs)"), later("Of the record it runs, in microseconds"), _latency_us, numeric=True),
    Column(
        later("Share"),
        later("Weight x latency, of the sum over the tuned tasks"),
        lambda row: _NONE if row.share is None else quantities.percent(row.share, 1),
        numeric=True,
    ),
    Column(
        later("In the library"),
        later("Its best record that applies, or untuned code as a fallback"),
        lambda row: used(row.task),
    ),
)


def _error(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else tr("infinite")


OUTPUT_COLUMNS: tuple[Column[OutputCheck], ...] = (
    Column(later("Output"), later("Compared with onnxruntime's on random inputs"), lambda row: row.name),
    Column(
        later("Absolute error"),
        later("Greatest absolute difference to onnxruntime"),
        lambda row: _error(row.max_abs_error),
        numeric=True,
    ),
    Column(
        later("Largest"),
        later("Greatest absolute value of onnxruntime's"),
        lambda row: _NONE if row.largest is None else magnitude(row.largest),
        numeric=True,
    ),
    Column(
        later("Relative error"),
        later("Greatest difference as a part of onnxruntime's value, where that is not 0"),
        lambda row: _error(row.max_rel_error),
        numeric=True,
    ),
    Column(later("Outside"), later("Elements outside the tolerance"), lambda row: f"{row.beyond:,}", numeric=True),
    Column(later("Elements"), later("Elements compared"), lambda row: f"{row.elements:,}", numeric=True),
    Column(
        later("Verdict"),
        later("Whether all elements are inside the tolerance"),
        lambda row: tr("same") if row.matches else tr("differs"),
    ),
)


def used(task: LibraryTask) -> str:
    """What a task runs."""
    if task.fallback:
        return tr("fallback: {fallback}", fallback=tr(task.fallback))
    if task.passed_over:
        return tr("tuned: record {place}, as faster ones no longer apply", place=task.passed_over + 1)
    return tr("tuned: best record")


def contenders(report: LibraryReport) -> list[Contender]:
    """Untuned TVM, tuned, onnxruntime."""
    return [
        Contender(name="untuned TVM", timing=report.untuned, contest=report.contest("untuned")),
        Contender(name=tr("tuned"), timing=report.tuned, contest=None),
        Contender(name=report.reference, timing=report.onnxruntime, contest=report.contest("onnxruntime")),
    ]


def used_tasks(tasks: Sequence[LibraryTask]) -> list[UsedTask]:
    """Rows of tasks, in their order."""
    whole_s = sum(task.weight * (task.latency_s or 0.0) for task in tasks)
    return [
        UsedTask(task=task, share=None if task.latency_s is None else task.weight * task.latency_s / (whole_s or 1.0))
        for task in tasks
    ]


def expected_tasks(states: Sequence[TaskState]) -> tuple[LibraryTask, ...]:
    """What a library would run if it were built from the records so far."""
    return tuple(
        LibraryTask(
            key=state.task.key,
            name=state.task.name,
            weight=state.task.weight,
            latency_s=state.best_s,
            fallback="" if state.best_s is not None else NO_RECORD,
        )
        for state in states
    )
