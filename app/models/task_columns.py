"""The columns of the task table: what a row holds, and how each cell is written and sorted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from app.models import quantities
from app.models.row_table import Column
from app.translation import later, tr
from tcl_core.domain import TaskState

NO_LIMIT = later("no limit")


class TaskColumn(IntEnum):
    """Columns of the task table."""

    TASK = 0
    WEIGHT = 1
    FLOPS = 2
    INTENSITY = 3
    SHARE = 4
    BEST = 5
    RATE = 6
    GAIN = 7
    TRIALS = 8
    FAILED = 9
    LIMIT = 10


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """A task as a person sees it.

    Attributes:
        share: of the network's time: weight x best / sum over the tasks that have a best.
        gain_s: `GainsExpected` of the task; None before the first.
        limit: most trials of the task in the next run; None for no limit.
    """

    state: TaskState
    share: float | None = None
    gain_s: float | None = None
    limit: int | None = None


_LEAST = 0.001
"""Smaller numbers of a column are said to be below it."""


def _mflop(flops: float) -> str:
    if 0 < flops < 1e4:
        return "< 0.01"
    return quantities.digits(flops / 1e6) if flops else "0"


def _rate(row: TaskRow) -> float:
    """GFLOP/s of the best record; -1 before there is one."""
    return row.state.task.flops / row.state.best_s / 1e9 if row.state.best_s else -1.0


def _best_us(row: TaskRow) -> float:
    return -1.0 if row.state.best_s is None else row.state.best_s * 1e6


def _share_or_guess(row: TaskRow) -> float:
    """The share; before it is known, operations rank the tasks, below all whose share is known."""
    if row.share is not None:
        return row.share
    return -1.0 / (1.0 + row.state.task.weight * row.state.task.flops)


def _gain_us(row: TaskRow) -> float:
    return -1.0 if row.gain_s is None else row.gain_s * 1e6


def _gain(row: TaskRow) -> str:
    return tr("unknown") if row.gain_s == math.inf else _measured(_gain_us)(row)


def _measured(value: Callable[[TaskRow], float]) -> Callable[[TaskRow], str]:
    def text(row: TaskRow) -> str:
        number = value(row)
        if 0 < number < _LEAST:  # its digits would be wider than the column, and cut
            return f"< {_LEAST}"
        return "–" if number < 0 else quantities.digits(number)

    return text


COLUMNS: tuple[Column[TaskRow], ...] = (
    Column(later("Task"), later("Fused operator subgraph of the network"), lambda row: row.state.task.name),
    Column(
        later("Weight"),
        later("How often the task occurs in the network"),
        lambda row: f"{row.state.task.weight:,}",
        lambda row: row.state.task.weight,
        numeric=True,
    ),
    Column(
        "MFLOP",
        later("Floating point operations of one run, in millions"),
        lambda row: _mflop(row.state.task.flops),
        lambda row: row.state.task.flops,
        numeric=True,
    ),
    Column(
        "FLOP/byte",
        later("Arithmetic intensity: operations for each byte of the arguments, each moved once"),
        lambda row: quantities.digits(row.state.task.intensity),
        lambda row: row.state.task.intensity,
        numeric=True,
    ),
    Column(
        later("Share of time"),
        later("Weight x best latency, as a share of the sum over all tasks"),
        lambda row: "–" if row.share is None else quantities.percent(row.share, 1),
        _share_or_guess,
        numeric=True,
    ),
    Column(
        later("Best (µs)"),
        later("Latency of the best record, in microseconds"),
        _measured(_best_us),
        _best_us,
        numeric=True,
    ),
    Column("GFLOP/s", later("Operations a second of the best record, in 10⁹"), _measured(_rate), _rate, numeric=True),
    Column(
        later("Gain (µs)"),
        later(
            "Predicted gain: what one more round of the task may take off the network's time, in "
            "microseconds.\n"
            "Weight x expected gain: half of it is what its latest rounds gained, half what "
            "similar tasks show to be\n"
            "possible; rounds that gained nothing make it fade. The next round goes where it is "
            "largest; a task\n"
            "without a trial comes first."
        ),
        _gain,
        _gain_us,
        numeric=True,
    ),
    Column(
        later("Trials"),
        later("Candidates measured, failures included"),
        lambda row: f"{row.state.trials:,}",
        lambda row: row.state.trials,
        numeric=True,
    ),
    Column(
        later("Failed"),
        later("Candidates that failed to compile or to run"),
        lambda row: f"{row.state.failures:,}",
        lambda row: row.state.failures,
        numeric=True,
    ),
    Column(
        later("Budget"),
        later(
            "Most trials of the task in the next run, besides the budget of the whole run.\n"
            "Double-click or F2 to change it; empty it for no limit."
        ),
        lambda row: tr(NO_LIMIT) if row.limit is None else f"{row.limit:,}",
        lambda row: math.inf if row.limit is None else row.limit,
        numeric=True,
    ),
)
