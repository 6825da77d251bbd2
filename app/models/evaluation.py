"""How good checkpoints are on the networks no training has seen: what was asked, the last answer, and it in words."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.models import quantities
from app.models.plot_tables import PlotTable
from app.translation import later, tr
from tcl_core.evaluation_events import CheckpointsEvaluated, EvaluatedCell, EvaluatedCheckpoint, EvaluatedPlatform

METRICS = {
    "top1": "top-1",
    "top1_by_network": later("top-1 by network"),
    "top5": "top-5",
    "pairwise": later("pairwise accuracy"),
}
"""Metrics of a cell, by METHOD's names, as a person reads them."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """What a person asks of an evaluation, see `EvaluateCheckpoints`. `names`: keys of checkpoints."""

    names: tuple[str, ...]
    lineage: bool = False
    shipped: bool = False


class EvaluationState(QObject):
    """The last evaluation; None before the first, and in another workspace. Signals: changed."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._result: CheckpointsEvaluated | None = None

    @property
    def result(self) -> CheckpointsEvaluated | None:
        return self._result

    def set_result(self, result: CheckpointsEvaluated | None) -> None:
        """Show another evaluation, or none."""
        if result is not self._result:
            self._result = result
            self.changed.emit()

    def metric(self, path: str, name: str) -> dict[str, float]:
        """One metric of a checkpoint's file by platform fingerprint, as far as it was evaluated."""
        result = self._result
        row = next((row for row in result.rows if row.path == path), None) if result else None
        if result is None or row is None:
            return {}
        cells = zip(result.platforms, row.cells, strict=True)
        found = {column.platform.fingerprint: cell.metric(name) for column, cell in cells}
        return {fingerprint: value for fingerprint, value in found.items() if value is not None}


def outcome(result: CheckpointsEvaluated) -> str:
    """How an evaluation went, one sentence."""
    cells = [cell for row in result.rows for cell in row.cells]
    ranked = sum(bool(cell.metrics) for cell in cells)
    began = tr("Stopped: evaluated") if result.stopped else tr("Evaluated")
    told = tr(
        "{began} {count} on {count_2}",
        began=began,
        count=_checkpoints(len(result.rows)),
        count_2=_platforms(len(result.platforms)),
    )
    if ranked < len(cells):
        empty, count = len(cells) - ranked, len(cells)
        if count == 1:
            told += tr("; the cell is empty and says why")
        elif empty == 1:
            told += tr("; 1 of {count} cells is empty and says why", count=count)
        else:
            told += tr("; {empty} of {count} cells are empty and say why", empty=empty, count=count)
    return (
        f"{told}."
        if result.forgetting is None
        else tr("{told}; forgetting {forgetting:.3f}.", told=told, forgetting=result.forgetting)
    )


def cell_text(row: EvaluatedCheckpoint, column: EvaluatedPlatform, cell: EvaluatedCell) -> str:
    """One cell in a few words: all its metrics and what was ranked, or why there are none."""
    head = tr("{name} on {name_2}: ", name=row.name, name_2=column.platform.name)
    if not cell.metrics:
        return head + cell.reason
    figures = ", ".join(f"{tr(METRICS.get(name, name))} {value:.3f}" for name, value in cell.metrics)
    ranked = tr(
        "{records} of {count} of {networks}",
        records=quantities.records(column.records),
        count=quantities.tasks(column.tasks),
        networks=", ".join(column.networks),
    )
    return tr("{head}{figures}; ranked {ranked}.", head=head, figures=figures, ranked=ranked)


def table_of(result: CheckpointsEvaluated) -> PlotTable:
    """Every cell, as numbers that can be saved."""
    return PlotTable(
        name="evaluation",
        header=(
            *("checkpoint", "kind", "platform", "fingerprint", "learned", *METRICS),
            *("networks", "tasks", "records", "source", "reason"),
        ),
        rows=tuple(
            (
                row.name,
                row.kind,
                column.platform.name,
                column.platform.fingerprint,
                int(column.platform.fingerprint in row.learned),
                *(cell.metric(name) for name in METRICS),
                " ".join(column.networks),
                column.tasks,
                column.records,
                result.source,
                cell.reason,
            )
            for row in result.rows
            for column, cell in zip(result.platforms, row.cells, strict=True)
        ),
    )


def _checkpoints(count: int) -> str:
    return tr("1 checkpoint") if count == 1 else tr("{count:,} checkpoints", count=count)


def _platforms(count: int) -> str:
    return tr("1 platform") if count == 1 else tr("{count:,} platforms", count=count)
