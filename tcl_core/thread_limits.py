"""Which tile factors of a GPU sketch are threads, and how many of them a block may have.

MetaSchedule draws each loop's tiles for itself, and rejects the product after a replay (`VerifyGPUCode`, 8 - 23 ms
each): six of seven random candidates. What it counts can be read off the trace. Its bound of eight virtual threads
cannot: some products beyond it pass. Nor can shared memory, which depends on what the kernel reads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tcl_core.domain import ThreadLimit

Factor = tuple[int, int]

_LEAST, _MOST = "meta_schedule.thread_extent_low_inclusive", "meta_schedule.thread_extent_high_inclusive"
_THREADS = "threadIdx.x"
_SAMPLING = "Sample"
"""How the instructions that take a decision begin."""


def thread_limits(trace_json: str) -> tuple[ThreadLimit, ...]:
    """The limits of a trace: products of tile factors bound to threads, with the bounds that the trace annotates.

    Loops whose extent is more than tile factors (split by a category, say) have none.

    Args:
        trace_json: as `Sketch.trace_json`.
    """
    if _LEAST not in trace_json:  # spares a processor's traces the reading
        return ()
    instructions: list[Sequence[Any]] = json.loads(trace_json)[0]
    bounds = {attributes[0]: inputs[1] for kind, inputs, attributes, _ in instructions if kind == "Annotate"}
    if not {_LEAST, _MOST} <= bounds.keys():
        return ()
    factors = _factors_of_loops(instructions)
    bound = [inputs[0] for kind, inputs, attributes, _ in instructions if kind == "Bind" and attributes[0] == _THREADS]
    return tuple(
        ThreadLimit(factors=factors[loop], least=int(bounds[_LEAST]), most=int(bounds[_MOST]))
        for loop in bound
        if loop in factors
    )


def _factors_of_loops(instructions: Sequence[Sequence[Any]]) -> dict[str, tuple[Factor, ...]]:
    """Of each loop that tile factors make, by name: the factors whose product it runs over."""
    drawn: dict[str, Factor] = {}
    loops: dict[str, tuple[Factor, ...]] = {}
    slot = 0
    for kind, inputs, _, outputs in instructions:
        if kind == "SamplePerfectTile":
            drawn |= {name: (slot, place) for place, name in enumerate(outputs)}
        elif kind == "Split":
            parts = zip(outputs, inputs[1:], strict=True)
            loops |= {loop: (drawn[name],) for loop, name in parts if isinstance(name, str) and name in drawn}
        elif kind == "Fuse" and all(loop in loops for loop in inputs):
            loops[outputs[0]] = tuple(factor for loop in inputs for factor in loops[loop])
        slot += kind.startswith(_SAMPLING)
    return loops
