"""The trace of one record: its primitives in order, what they decided, and what that does to the score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor

from app.models.plot_wording import decision
from app.models.row_table import Column, RowTableModel
from app.models.schedule_diff import Mark
from app.tokens import LIGHT, Tokens
from app.translation import later, tr
from tcl_core.schedule_events import Influence, Step

SHARE_ROLE = int(Qt.ItemDataRole.UserRole) + 6
"""A contribution as a share of the greatest one of the trace, in [-1, 1]; None without one."""


class TraceColumn(IntEnum):
    """Columns of the trace."""

    NUMBER = 0
    PRIMITIVE = 1
    ARGUMENTS = 2
    DECISION = 3
    SCORE = 4


class StepFilter(StrEnum):
    """Which steps are shown."""

    CHANGES = later("Steps that change something")
    DECISIONS = later("Decisions only")
    ALL = later("All steps")


@dataclass(frozen=True, kw_only=True)
class TraceRow:
    """A step with what is known of its influence, and how it differs from the record compared with."""

    number: int
    step: Step
    influence: Influence | None = None
    mark: Mark = Mark.NONE

    @property
    def looks_only(self) -> bool:
        """Whether the primitive only finds blocks or loops."""
        return self.step.name.startswith("Get")

    def passes(self, kept: StepFilter) -> bool:
        """Whether a filter lets it through."""
        if kept is StepFilter.DECISIONS:
            return self.step.domain >= 0
        return kept is StepFilter.ALL or not self.looks_only


def signed(value: float) -> str:
    """A difference of scores: "+0.31", "−0.08", "0.00"."""
    text = f"{value:+.2f}".replace("-", "−")
    return text if text.strip("+−0.") else "0.00"


def influence_hint(influence: Influence) -> str:
    """A contribution in words."""
    contribution, above = abs(influence.contribution), influence.contribution >= 0
    if influence.alternatives == 1 and influence.best is None:
        return tr("Scores {contribution:.3f} above the only other value.", contribution=contribution)
    if influence.alternatives == 1 and influence.best is not None:
        other = decision(influence.best)
        return tr(
            "Scores {contribution:.3f} below the only other value, {other}.", contribution=contribution, other=other
        )
    moved = (
        later("Scores {contribution:.3f} above the mean of {alternatives} other values.")
        if above
        else later("Scores {contribution:.3f} below the mean of {alternatives} other values.")
    )
    text = tr(moved, contribution=contribution, alternatives=influence.alternatives)
    if influence.best is None:
        return tr("{text}\nNone of them scores higher.", text=text)
    return tr(
        "{text}\nThe best of them, {best}, would score {best_gain:.3f} more.",
        text=text,
        best=decision(influence.best),
        best_gain=influence.best_gain,
    )


_COLUMNS: tuple[Column[TraceRow], ...] = (
    Column("#", later("Place in the trace"), lambda row: str(row.number + 1), lambda row: row.number, numeric=True),
    Column(later("Primitive"), later("The schedule primitive"), lambda row: row.step.name),
    Column(
        later("Arguments"),
        later("What it is applied to, with the names of that moment"),
        lambda row: row.step.arguments,
    ),
    Column(later("Decision"), later("What it decided"), lambda row: f"{row.mark} {row.step.decision}".strip()),
    Column(
        later("Score"),
        later(
            "What the decision adds to the cost model's score, against the mean of the "
            "alternatives with all other decisions kept"
        ),
        lambda row: signed(row.influence.contribution) if row.influence else "",
        lambda row: row.influence.contribution if row.influence else 0.0,
        numeric=True,
    ),
)


class TraceTableModel(RowTableModel[TraceRow]):
    """Rows are steps, in the order in which they are applied."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_COLUMNS, parent)
        self._greatest = 0.0
        self._muted = QColor(LIGHT.muted)

    def set_steps(
        self, steps: tuple[Step, ...], influences: Mapping[int, Influence], marks: Mapping[int, Mark]
    ) -> None:
        """Show another trace."""
        self._greatest = max((abs(one.contribution) for one in influences.values()), default=0.0)
        self.set_rows(
            [
                TraceRow(number=number, step=step, influence=influences.get(number), mark=marks.get(number, Mark.NONE))
                for number, step in enumerate(steps)
            ]
        )

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._muted = QColor(tokens.muted)

    @property
    def rows(self) -> tuple[TraceRow, ...]:
        """All steps."""
        return tuple(self._rows)

    def as_text(self) -> str:
        """Header and all rows, tab-separated."""
        cells = ([column.text(row) for column in self._columns] for row in self._rows)
        return "\n".join("\t".join(line) for line in ([tr(column.title) for column in self._columns], *cells))

    def row_data(self, row: TraceRow, column: int, role: int) -> Any:
        if role == SHARE_ROLE and column == TraceColumn.SCORE and row.influence and self._greatest:
            return row.influence.contribution / self._greatest
        if role == Qt.ItemDataRole.ForegroundRole and (row.looks_only or row.step.postprocessing):
            return self._muted
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._hint(row)
        return None

    def _hint(self, row: TraceRow) -> str:
        lines = [f"{row.step.name}: {row.step.arguments}"]
        if row.step.decision:
            lines.append(tr("decided {decision}", decision=row.step.decision))
        if row.step.postprocessing:
            lines.append(tr("A postprocessor applied it; it takes no decision."))
        if row.mark:
            lines.append(tr("Differs from the record on the other side."))
        if row.influence:
            lines.append(influence_hint(row.influence))
        return "\n".join(lines)
