"""The map of each task's last pool: where its candidates lie, which were chosen and why; in words and as a table."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.models import plot_wording, quantities
from app.models.plot_tables import PlotTable
from app.translation import tr
from tcl_core.domain import Candidate
from tcl_core.pool_events import PoolMapped


class PoolMaps(QObject):
    """The newest map of each task. Signals: changed, once a batch."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._maps: dict[str, PoolMapped] = {}
        self._dirty = False

    def clear(self) -> None:
        """Forget everything."""
        self._maps.clear()
        self._dirty = False
        self.changed.emit()

    def add(self, event: PoolMapped) -> None:
        """Take a map in; `flush` announces it."""
        self._maps.pop(event.task_key, None)  # the newest stands last
        self._maps[event.task_key] = event
        self._dirty = True

    def flush(self) -> None:
        """Announce what was added since the last call."""
        if self._dirty:
            self._dirty = False
            self.changed.emit()

    def newest(self, task_key: str = "") -> PoolMapped | None:
        """The last map of one task, of any for ""; None before the first."""
        if task_key:
            return self._maps.get(task_key)
        return next(reversed(self._maps.values()), None)


def recorded(shown: PoolMapped, number: int) -> Candidate | None:
    """The candidate of a point as it is recorded; None for one that nobody measures."""
    chosen = next((one for one in shown.chosen if one.point == number), None)
    if chosen is not None:
        return chosen.candidate
    return shown.candidates[number] if number >= shown.pool else None


def card(shown: PoolMapped, number: int, task_name: str) -> str:
    """A point in a few lines."""
    candidate = recorded(shown, number) or shown.candidates[number]
    lines = [task_name, tr("sketch {sketch}, {standing}", sketch=candidate.sketch, standing=_standing(shown, number))]
    lines += plot_wording.wrapped(candidate.decisions)
    score = float(shown.scores[number])
    chosen = next((one for one in shown.chosen if one.point == number), None)
    if chosen is not None:
        lines.append(plot_wording.reasons(chosen.rationale))
    elif not math.isnan(score):
        lines.append(tr("score {score:.2f}", score=score))
    return "\n".join(lines)


def note(shown: PoolMapped, task_name: str) -> str:
    """Whose map it is: "fused_matmul, round 3", and where not all is drawn "2,000 of 4,100 shown"."""
    total = shown.pool_total + shown.measured_total
    cut = tr(", {count:,} of {total:,} shown", count=len(shown.x), total=total) if len(shown.x) < total else ""
    return tr("{task_name}, round {round}{cut}", task_name=task_name, round=shown.round + 1, cut=cut)


def counts(shown: PoolMapped) -> str:
    """How many points there are of each kind."""
    before = len(shown.x) - shown.pool
    return tr(
        "{count:,} chosen; {pool:,} of {pool_total:,} of the pool and {before:,} of "
        "{measured_total:,} measured before are shown.",
        count=len(shown.chosen),
        pool=shown.pool,
        pool_total=shown.pool_total,
        before=before,
        measured_total=shown.measured_total,
    )


def spread(shown: PoolMapped) -> str:
    """How much of the pool's spread the plane holds."""
    across, along = shown.explained
    if across + along == 0.0:
        return tr("The cost model cannot tell these candidates apart: they all lie on one point.")
    return tr(
        "The two directions in which the cost model's embedding of the pool spreads most: "
        "they hold {across} and {along} of it, so that what lies close here may be "
        "apart in others.",
        across=quantities.percent(across),
        along=quantities.percent(along),
    )


def table_of(shown: PoolMapped, name_of: Callable[[str], str]) -> PlotTable:
    """Every point of a map."""
    chosen = {one.point: (place, one) for place, one in enumerate(shown.chosen, 1)}

    def row(number: int) -> tuple[str | int | float | None, ...]:
        place, one = chosen.get(number, (None, None))
        candidate = recorded(shown, number) or shown.candidates[number]
        why = one.rationale if one else None
        score = float(shown.scores[number])
        return (
            name_of(shown.task_key),
            shown.task_key,
            shown.round + 1,
            candidate.sketch,
            plot_wording.decisions(candidate.decisions),
            "measured" if number >= shown.pool else "chosen" if one else "pool",
            place,
            float(shown.x[number]),
            float(shown.y[number]),
            None if math.isnan(score) else score,
            why.representativeness if why else None,
            why.diversity if why else None,
            why.uncertainty if why else None,
        )

    return PlotTable(
        name="pool-map",
        header=(
            "task", "task_key", "round", "sketch", "decisions", "standing", "place", "x", "y", "score",
            "representativeness", "diversity", "uncertainty",
        ),
        rows=(row(number) for number in range(len(shown.x))),
    )  # fmt: skip


def _standing(shown: PoolMapped, number: int) -> str:
    if number >= shown.pool:
        return tr("measured before")
    place = next((place for place, one in enumerate(shown.chosen, 1) if one.point == number), 0)
    return (
        tr("chosen as number {place} of {count}", place=place, count=len(shown.chosen))
        if place
        else tr("in the pool, not chosen")
    )
