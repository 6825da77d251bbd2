"""The numbers behind each plot, as a table that can be saved and copied: one header, rows made one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from app.models import plot_wording
from app.models.best_line import BestLine
from app.models.measured_records import MeasuredRecords, RecordSummary
from app.models.roofline import Roofline
from app.models.round_series import RoundSeries
from app.models.stage_times import StageTimes

Cell = str | int | float | None
NameOf = Callable[[str], str]


@dataclass(frozen=True, kw_only=True)
class PlotTable:
    """Attributes:
    name: what the file is called unless a person says otherwise, without its ending.
    rows: as long as `header`; None is an empty cell. May be gone through once.
    """

    name: str
    header: tuple[str, ...]
    rows: Iterable[tuple[Cell, ...]]


def of_records(records: MeasuredRecords, name_of: NameOf, task_key: str) -> PlotTable:
    """Every record that is there, or those of one task."""
    return PlotTable(
        name="predicted-against-measured",
        header=(
            "task", "task_key", "sketch", "decisions", "structural_hash", "source", "round", "elapsed_s", "latency_s",
            "relative_speed", "cut_off", "failure", "score", "representativeness", "diversity", "uncertainty",
        ),
        rows=(_record_row(record, name_of) for record in records.summaries(task_key)),
    )  # fmt: skip


def _record_row(record: RecordSummary, name_of: NameOf) -> tuple[Cell, ...]:
    candidate, why = record.candidate, record.rationale
    measured = record.latency_s is not None and record.best_s is not None
    return (
        name_of(candidate.task_key),
        candidate.task_key,
        candidate.sketch,
        plot_wording.decisions(candidate.decisions),
        record.structural_hash,
        record.source.value,
        record.round,
        record.elapsed_s,
        record.latency_s,
        record.best_s / record.latency_s if measured and record.best_s and record.latency_s else 0.0,
        int(record.cut_off),
        record.cause,
        why.score,
        why.representativeness,
        why.diversity,
        why.uncertainty,
    )


def of_rounds(rounds: RoundSeries, name_of: NameOf, task_key: str) -> PlotTable:
    """Every round, or those of one task."""
    return PlotTable(
        name="agreement-by-round",
        header=(
            "round",
            "task",
            "task_key",
            "scored_records",
            "rank_correlation",
            "pairwise_accuracy",
            "search_s",
            "learn_s",
        ),
        rows=tuple(
            (
                point.number,
                name_of(point.task_key),
                point.task_key,
                point.scored,
                _known(point.rank_correlation),
                _known(point.pairwise_accuracy),
                point.search_s,
                point.learn_s,
            )
            for point in rounds.points(task_key)
        ),
    )


def of_best(line: BestLine, name: str) -> PlotTable:
    """The points of the line, then the measured medians it is compared with."""
    points = zip(line.elapsed_s.tolist(), line.trials.tolist(), line.best_ms.tolist(), strict=True)
    references = ((reference.name, None, None, reference.latency_ms) for reference in line.references)
    return PlotTable(
        name="best-so-far",
        header=("line", "elapsed_s", "trials", "latency_ms"),
        rows=(*((name, *point) for point in points), *references),
    )


def of_stages(times: StageTimes) -> PlotTable:
    """Seconds and share of the sum, by stage."""
    total_s = sum(seconds for _, seconds in times.seconds)
    return PlotTable(
        name="time-by-stage",
        header=("stage", "seconds", "share"),
        rows=tuple((stage.value, seconds, seconds / total_s) for stage, seconds in times.seconds),
    )


def of_roofline(shown: Roofline, name_of: NameOf) -> PlotTable:
    """Every task that computes and has a record."""
    columns = (shown.intensity, shown.first, shown.best, shown.share)
    return PlotTable(
        name="roofline",
        header=("task", "task_key", "flop_per_byte", "first_round_gflop_s", "best_gflop_s", "share_of_roof"),
        rows=tuple(
            (name_of(key), key, *map(_known, values))
            for key, values in zip(shown.keys, np.column_stack(columns).tolist(), strict=True)
        ),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
