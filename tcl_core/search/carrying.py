"""What was fast for one task, carried over to a similar one: each decision to the nearest that is legal there.

Similar tasks have the same anchor and the same loops, of other extents. A sketch of MetaSchedule's then has the same
instructions in both, and what makes a schedule fast (inner tiles that fill registers and caches, the depth of
unrolling, where a stage is computed) is worth trying where the outer loops are longer or shorter.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache

from tcl_core.domain import Candidate, Decision, DecisionDomain, DecisionKind, Sketch, Task, TaskLoops

_OUTERMOST = 0.25
"""Weight of a tile's outermost factor, which takes up what the others leave of the loop."""


def distance(one: Task | TaskLoops, other: Task | TaskLoops) -> float:
    """How far apart two tasks' loops are: sum of |log2| of their extents' ratios; infinite where they do not match."""
    if one.anchor != other.anchor or [axis.kind for axis in one.axes] != [axis.kind for axis in other.axes]:
        return math.inf
    return sum(abs(math.log2(a.extent / b.extent)) for a, b in zip(one.axes, other.axes, strict=True))


def carry(candidate: Candidate, theirs: Sketch, own: Sketch) -> Candidate | None:
    """The candidate of sketch `own` nearest to a candidate of `theirs`; None where their instructions differ."""
    if _instructions(theirs.trace_json) != _instructions(own.trace_json):
        return None
    if len(theirs.domains) != len(own.domains) or not all(domain.values for domain in own.domains):
        return None
    given = zip(candidate.decisions, theirs.domains, own.domains, strict=True)
    return Candidate(own.task_key, own.index, tuple(_nearest(value, before, now) for value, before, now in given))


def _nearest(value: Decision, before: DecisionDomain, now: DecisionDomain) -> Decision:
    if now.kind is DecisionKind.TILE:
        return min(now.values, key=lambda legal: _tile_distance(legal, value))
    if now.kind is DecisionKind.CATEGORY:
        wanted = before.literals[value[0]]
        return min(now.values, key=lambda legal: abs(now.literals[legal[0]] - wanted))
    return min(now.values, key=lambda legal: abs(legal[0] - value[0]))


def _tile_distance(one: Decision, other: Decision) -> float:
    apart = [abs(math.log2(a / b)) for a, b in zip(one, other, strict=True)]
    return _OUTERMOST * apart[0] + sum(apart[1:])


@lru_cache(maxsize=512)
def _instructions(trace_json: str) -> tuple[tuple[str, int, int], ...]:
    """Kind, number of inputs and number of outputs of each instruction of a sketch."""
    instructions, _ = json.loads(trace_json)
    return tuple((kind, len(inputs), len(outputs)) for kind, inputs, _, outputs in instructions)
