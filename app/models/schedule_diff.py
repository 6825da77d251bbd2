"""Two records side by side: which lines, loops and primitives are alike, and which are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TypeVar

from app.translation import tr
from tcl_core.schedule_events import Place, ScheduleView, Step

Named = TypeVar("Named", Place, Step)

MOST_LINES = 3000
"""Longer texts are shown side by side without a diff: comparing them would hold the window up."""


class Mark(StrEnum):
    """How a row differs from the other side; drawn as a sign, beside any colour."""

    NONE = ""
    CHANGED = "≠"
    ONLY = "+"


@dataclass(frozen=True)
class Row:
    """A row of an aligned text. `line` is None for a gap that keeps both sides level."""

    line: int | None
    mark: Mark = Mark.NONE


Aligned = tuple[tuple[Row, ...], tuple[Row, ...]]


def plain(count: int) -> tuple[Row, ...]:
    """All rows of a text that is compared with nothing."""
    return tuple(Row(line) for line in range(count))


def align(left: Sequence[str], right: Sequence[str]) -> Aligned:
    """Rows of both texts, equally many: equal lines stand side by side, different ones are marked."""
    if max(len(left), len(right)) > MOST_LINES:
        return plain(len(left)), plain(len(right))
    rows: tuple[list[Row], list[Row]] = ([], [])
    for _, low, high, other_low, other_high in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        equal = left[low:high] == right[other_low:other_high]
        for at in range(max(high - low, other_high - other_low)):
            here, there = low + at < high, other_low + at < other_high
            mark = Mark.NONE if equal else Mark.CHANGED if here and there else Mark.ONLY
            rows[0].append(Row(low + at, mark) if here else Row(None))
            rows[1].append(Row(other_low + at, mark) if there else Row(None))
    return tuple(rows[0]), tuple(rows[1])


def step_marks(steps: Sequence[Step], others: Sequence[Step]) -> dict[int, Mark]:
    """Which steps differ: in their decision or arguments, or because the other trace has none like it."""
    return _marks(steps, others, lambda step: (step.decision, step.arguments))


def place_marks(places: Sequence[Place], others: Sequence[Place]) -> dict[int, Mark]:
    """Which loops and blocks differ: in extent or kind, or because the other tree has none of that name there."""
    return _marks(places, others, lambda place: (place.kind, place.extent, place.axis, place.notes))


def _marks(mine: Sequence[Named], theirs: Sequence[Named], looks: Callable[[Named], object]) -> dict[int, Mark]:
    """Aligned by name; what has a partner differs from it by its looks."""
    names, other_names = [one.name for one in mine], [one.name for one in theirs]
    marks: dict[int, Mark] = {}
    for tag, low, high, other_low, _ in SequenceMatcher(None, names, other_names, autojunk=False).get_opcodes():
        for number in range(low, high):
            if tag != "equal":
                marks[number] = Mark.ONLY
            elif looks(mine[number]) != looks(theirs[other_low + number - low]):
                marks[number] = Mark.CHANGED
    return marks


def summary(view: ScheduleView, other: ScheduleView) -> str:
    """How two records differ, one sentence."""
    if view.record.candidate == other.record.candidate:
        return tr("Both sides show the same record.")
    if view.record.candidate.sketch != other.record.candidate.sketch:
        return tr(
            "Another sketch: {sketch} and {sketch_2}.",
            sketch=view.record.candidate.sketch,
            sketch_2=other.record.candidate.sketch,
        )
    decided = [mark for number, mark in step_marks(view.steps, other.steps).items() if view.steps[number].domain >= 0]
    total = sum(step.domain >= 0 for step in view.steps)
    if total == 1:
        return tr("The only decision differs.")
    if len(decided) == 1:
        return tr("1 of {total} decisions differs.", total=total)
    return tr("{count} of {total} decisions differ.", count=len(decided), total=total)
