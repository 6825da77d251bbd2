"""Decision domains: every legal value of a sampling instruction, found once per sketch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from tvm.s_tir.schedule import Trace

from tcl_core.domain import Decision, DecisionDomain, DecisionKind
from tcl_core.space.traces import SAMPLING_KINDS, read_decisions, sampling_instructions

ReadBack = Callable[[Sequence[Decision]], tuple[Decision, ...] | None]
"""Replays decisions and returns those the replayed trace holds; None when the replay fails."""

_BEYOND_ANY_LOOP = 1 << 20
_LOCATION = DecisionKind.LOCATION


@lru_cache(maxsize=4096)
def factorisations(extent: int, parts: int, innermost: int) -> tuple[Decision, ...]:
    """Ordered factorisations of `extent` into `parts` factors, the last at most `innermost`, in lexical order.

    This is `SamplePerfectTile`'s sample space; where no divisor up to `innermost` exists but 1, the last factor is 1.
    """

    def expand(rest: int, left: int) -> Iterator[Decision]:
        if left == 1:
            if rest <= innermost:
                yield (rest,)
            return
        for factor in _divisors(rest):
            for tail in expand(rest // factor, left - 1):
                yield (factor, *tail)

    return tuple(expand(extent, parts))


@lru_cache(maxsize=4096)
def _divisors(number: int) -> tuple[int, ...]:
    low = [factor for factor in range(1, math.isqrt(number) + 1) if number % factor == 0]
    return tuple(low + [number // factor for factor in reversed(low) if factor * factor != number])


def find_domains(trace: Trace, read_back: ReadBack) -> tuple[DecisionDomain, ...]:
    """The domains of a generated trace, whose own decisions serve as the base for probing locations."""
    base = read_decisions(trace)
    positions = {instruction: index for index, instruction in enumerate(trace.insts)}
    instructions = sampling_instructions(trace)
    kinds = [SAMPLING_KINDS[instruction.kind.name] for instruction in instructions]
    locations = _location_values(base, [slot for slot, kind in enumerate(kinds) if kind is _LOCATION], read_back)
    domains = []
    for slot, (instruction, kind) in enumerate(zip(instructions, kinds, strict=True)):
        literals: tuple[float, ...] = ()
        if kind is DecisionKind.TILE:
            parts, innermost = (int(attribute) for attribute in instruction.attrs)
            values = factorisations(math.prod(base[slot]), parts, innermost)
        elif kind is DecisionKind.CATEGORY:
            literals = tuple(float(literal) for literal in instruction.attrs[0])
            values = tuple((index,) for index in range(len(literals)))
        else:
            values = locations[slot]
        domains.append(DecisionDomain(instruction=positions[instruction], kind=kind, values=values, literals=literals))
    return tuple(domains)


def _location_values(
    base: Sequence[Decision], slots: Sequence[int], read_back: ReadBack
) -> dict[int, tuple[Decision, ...]]:
    """Legal loop indices of each location slot, by a descending chain of replays a slot.

    `SampleComputeLocation` replaces an illegal location by the next legal one below it, and by -1 (root) at the end,
    so each replay names the next legal value: as many replays as values. What is legal for one location depends on
    the others, so every replay's other locations count as well; candidates are read back after replay anyway.
    """
    seen: dict[int, set[Decision]] = {slot: {base[slot]} for slot in slots}
    for slot in slots:
        ask = _BEYOND_ANY_LOOP
        while ask >= -1:
            probe = [*base]
            probe[slot] = (ask,)
            replayed = read_back(probe)
            if replayed is None:
                break
            for other in slots:
                seen[other].add(replayed[other])
            ask = min(replayed[slot][0], ask) - 1
    return {slot: tuple(sorted(values)) for slot, values in seen.items()}
