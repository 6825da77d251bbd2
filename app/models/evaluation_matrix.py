"""An evaluation as a matrix: checkpoints down, platforms across, one metric at a time with its place on a scale."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt

from app.models.evaluation import METRICS, EvaluationState, cell_text
from app.models.row_table import LEFT, Index
from app.translation import later, tr
from tcl_core.evaluation_events import CheckpointsEvaluated, EvaluatedCell, EvaluatedCheckpoint

HEAT_ROLE = int(Qt.ItemDataRole.UserRole) + 2
"""Where a cell's number lies between the least and the greatest of the matrix, in [0, 1]; None where it has none."""


class Knowledge(StrEnum):
    """What a row's checkpoint knows of a column's platform; the mark that stands before the number."""

    LAST = "◆"
    EARLIER = "●"
    NONE = "○"


LEGEND = later("◆ learned last   ● learned earlier   ○ not learned")


class EvaluationMatrix(QAbstractTableModel):
    """Column 0 names the checkpoints. Reset with each evaluation and each choice of a metric."""

    def __init__(self, evaluation: EvaluationState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._evaluation = evaluation
        self._metric = next(iter(METRICS))
        evaluation.changed.connect(self._reset)

    @property
    def metric(self) -> str:
        """Name of the metric on screen."""
        return self._metric

    def choose_metric(self, name: str) -> None:
        """Show another metric."""
        self._metric = name
        self._reset()

    @property
    def scale(self) -> tuple[float, float] | None:
        """The least and the greatest number of the matrix; None in one without numbers."""
        cells = [cell for row in self._shown.rows for cell in row.cells] if self._shown else []
        known = [value for cell in cells if (value := cell.metric(self._metric)) is not None]
        return (min(known), max(known)) if known else None

    def text(self, index: Index) -> str:
        """Everything that is known of a cell, in words."""
        shown = self._shown
        if shown is None or not index.isValid() or index.column() == 0:
            return ""
        row = shown.rows[index.row()]
        return cell_text(row, shown.platforms[index.column() - 1], row.cells[index.column() - 1])

    @property
    def _shown(self) -> CheckpointsEvaluated | None:
        return self._evaluation.result

    def _reset(self) -> None:
        self.beginResetModel()
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802  Qt's signature
        return 0 if parent.isValid() or self._shown is None else len(self._shown.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802  Qt's signature
        return 0 if parent.isValid() or self._shown is None else len(self._shown.platforms) + 1

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:  # noqa: N802  Qt's name
        shown = self._shown
        if orientation is not Qt.Orientation.Horizontal or shown is None:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if section == 0 else Qt.AlignmentFlag.AlignCenter
        if section == 0:
            return tr("After learning") if shown.lineage else tr("Checkpoint")
        column = shown.platforms[section - 1]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.platform.name
        if role == Qt.ItemDataRole.ToolTipRole:
            networks = ", ".join(column.networks) or tr("none")
            return tr(
                "{name} ({fingerprint})\nheld-out networks: {networks}",
                name=column.platform.name,
                fingerprint=column.platform.fingerprint,
                networks=networks,
            )
        return None

    def data(self, index: Index, role: int = 0) -> Any:
        shown = self._shown
        if shown is None or not index.isValid():
            return None
        row = shown.rows[index.row()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if index.column() == 0 else Qt.AlignmentFlag.AlignCenter
        if index.column() == 0:
            return self._head(row, role)
        cell = row.cells[index.column() - 1]
        if role == Qt.ItemDataRole.DisplayRole:
            value = cell.metric(self._metric)
            return "–" if value is None else f"{self._knowledge(row, index.column() - 1)} {value:.3f}"
        if role in {Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole}:
            return self.text(index)
        return self._heat(cell) if role == HEAT_ROLE else None

    def _head(self, row: EvaluatedCheckpoint, role: int) -> str | None:
        if role == Qt.ItemDataRole.DisplayRole:
            return row.name
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.platform.name if row.platform else row.kind
        return None

    def _knowledge(self, row: EvaluatedCheckpoint, column: int) -> Knowledge:
        assert self._shown is not None
        fingerprint = self._shown.platforms[column].platform.fingerprint
        if row.platform is not None and row.platform.fingerprint == fingerprint:
            return Knowledge.LAST
        return Knowledge.EARLIER if fingerprint in row.learned else Knowledge.NONE

    def _heat(self, cell: EvaluatedCell) -> float | None:
        value, scale = cell.metric(self._metric), self.scale
        if value is None or scale is None:
            return None
        low, high = scale
        return (value - low) / (high - low) if high > low else 0.5
