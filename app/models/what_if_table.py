"""The what-ifs that were measured: what each changed, what was predicted, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt

from app.models import what_if_wording as wording
from app.models.row_table import Column, RowTableModel
from app.models.schedule_wording import outcome
from app.translation import later, tr
from tcl_core.domain import Record
from tcl_core.what_if_events import Desk, Prediction


@dataclass(frozen=True, kw_only=True)
class Made:
    """A measured what-if. `prediction`: made just before; None when it was measured in an earlier sitting."""

    record: Record
    prediction: Prediction | None = None


@dataclass(frozen=True, kw_only=True)
class _Row:
    number: int
    made: Made
    changed: str
    changes: tuple[str, ...]
    best_s: float | None


def _score(row: _Row) -> float:
    score = row.made.record.rationale.score
    return -math.inf if score is None else score


def _latency(row: _Row) -> float:
    latency_s = row.made.record.latency_s
    return math.inf if latency_s is None else latency_s


_COLUMNS: tuple[Column[_Row], ...] = (
    Column("#", later("In order of measurement"), lambda row: str(row.number), lambda row: row.number, numeric=True),
    Column(
        later("Changed"),
        later("Decisions that differ from the opened record's"),
        lambda row: row.changed or tr("nothing"),
    ),
    Column(
        later("Predicted"),
        later("Score, and its place among the measured records, before it was measured"),
        lambda row: wording.predicted(row.made.record, row.made.prediction),
        _score,
        numeric=True,
    ),
    Column(
        later("Measured"),
        later("Latency, or what failed"),
        lambda row: wording.measured(row.made.record),
        _latency,
        True,
    ),
    Column(
        later("Of the best"),
        later("Against the best of its task"),
        lambda row: wording.ratio(row.made.record, row.best_s),
    ),
)


class MadeTableModel(RowTableModel[_Row]):
    """One row per measured what-if."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_COLUMNS, parent)

    def show_made(self, desk: Desk | None, made: Sequence[Made]) -> None:
        """Show other what-ifs, told against the opened record."""
        self.set_rows([] if desk is None else [_row(desk, number, one) for number, one in enumerate(made, 1)])

    def add(self, desk: Desk, made: Made) -> None:
        """One more; the best of the task may be another now."""
        self.show_made(desk, [*(row.made for row in self._rows), made])

    def made(self, row: int) -> Made:
        """The what-if of a row. Raises: IndexError."""
        return self._rows[row].made

    def row_data(self, row: _Row, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole:
            return "\n".join((*row.changes, outcome(row.made.record, row.best_s)))
        return None


def _row(desk: Desk, number: int, made: Made) -> _Row:
    told = desk.controls, desk.record.candidate.decisions, made.record.candidate.decisions
    changed, changes = wording.changed(*told), wording.changes(*told)
    return _Row(number=number, made=made, changed=changed, changes=changes, best_s=desk.best_s)
