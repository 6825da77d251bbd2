"""How a box of the graph looks through a lens: share of time, speed-up, state or operations. Plain arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.models import quantities
from app.translation import tr
from tcl_core.domain import TaskState


class Lens(StrEnum):
    """What the colours of the graph say."""

    SHARE = "share"
    SPEED_UP = "speed-up"
    STATE = "state"
    OPERATIONS = "operations"


class Mark(StrEnum):
    """How far the tuning of a box is. Every mark has words and a line style of its own besides its colour."""

    NONE = "none"
    UNMEASURED = "unmeasured"
    MEASURED = "measured"
    BUSY = "busy"
    DONE = "done"
    FAILING = "failing"


_HEAT_DIGITS = 3
"""A finer heat changes no colour, but would be another with every record: each moves the shares of all tasks."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """One box through a lens.

    Attributes:
        heat: position on the colour ramp in [0, 1], rounded; None where the lens has nothing to say.
        value: what the box says in words.
    """

    mark: Mark
    heat: float | None = None
    value: str = ""


def box_looks(
    boxes: Sequence[tuple[str, ...]], states: Mapping[str, TaskState], active: str, lens: Lens
) -> tuple[Look, ...]:
    """The looks of boxes, each given by the task keys of its calls ("" for a call without a task)."""
    values = _values(boxes, states, lens)
    most = max((value for value in values if value is not None), default=0.0)
    return tuple(
        _look(_mark(keys, states, active), value, most, lens, _trials(keys, states))
        for keys, value in zip(boxes, values, strict=True)
    )


def _values(boxes: Sequence[tuple[str, ...]], states: Mapping[str, TaskState], lens: Lens) -> list[float | None]:
    known = {key: _amounts(state, lens) for key, state in states.items()}
    total = sum(state.task.weight * known[key][0] for key, state in states.items())
    values: list[float | None] = []
    for keys in boxes:
        amount = sum(known[key][0] for key in keys if key in known)
        before = sum(known[key][1] for key in keys if key in known)
        whole = before if lens is Lens.SPEED_UP else total
        if amount <= 0 or not whole > 0 or lens is Lens.STATE:
            values.append(None)
        else:
            values.append(before / amount if lens is Lens.SPEED_UP else amount / total)
    return values


def _amounts(state: TaskState, lens: Lens) -> tuple[float, float]:
    """One call's seconds (FLOP for operations), and its seconds after the task's first round, NaN where unknown."""
    if lens is Lens.OPERATIONS:
        return state.task.flops, 0.0
    return state.best_s or 0.0, math.nan if state.first_s is None else state.first_s


def _trials(keys: Sequence[str], states: Mapping[str, TaskState]) -> int:
    return sum(states[key].trials for key in set(keys) if key in states)


def _mark(keys: Sequence[str], states: Mapping[str, TaskState], active: str) -> Mark:
    known = [states[key] for key in dict.fromkeys(keys) if key in states]
    if not known:
        return Mark.NONE
    if active and active in keys:
        return Mark.BUSY
    if any(state.trials and state.failures >= state.trials for state in known):
        return Mark.FAILING
    if any(state.best_s is None for state in known):
        return Mark.UNMEASURED
    return Mark.DONE if all(state.exhausted for state in known) else Mark.MEASURED


def _look(mark: Mark, value: float | None, most: float, lens: Lens, trials: int) -> Look:
    if mark is Mark.NONE:
        return Look(mark=mark)
    if lens is Lens.STATE:
        words = {
            Mark.UNMEASURED: tr("not measured"),
            Mark.MEASURED: quantities.trials(trials),
            Mark.BUSY: tr("busy now"),
            Mark.DONE: tr("done"),
            Mark.FAILING: tr("all fail"),
        }
        return Look(mark=mark, value=words[mark])
    if value is None:
        return Look(mark=mark, value="–")
    if lens is Lens.SPEED_UP:
        heat = math.log(value) / math.log(most) if value > 1.0 and most > 1.0 else 0.0
        return Look(mark=mark, heat=round(heat, _HEAT_DIGITS), value=f"{quantities.digits(value)}×")
    return Look(mark=mark, heat=round(value / most, _HEAT_DIGITS), value=quantities.percent(value, 1))
