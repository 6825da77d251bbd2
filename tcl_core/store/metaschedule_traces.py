"""What a MetaSchedule trace says of a candidate: its decisions, and which stored sketch it came from.

A trace as JSON is ``[[[kind, inputs, attributes, outputs], ...], [[instruction, decision], ...]]``; a candidate's own
instructions are those before `EnterPostproc`. Equal instructions get equal variable names, so they compare as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from tcl_core.domain import Decision, Sketch

_POSTPROCESSING = "EnterPostproc"


def decisions_of(trace: Any) -> tuple[Decision, ...]:
    """The decisions before postprocessing, in the order of their instructions.

    Raises:
        TypeError, ValueError, LookupError, OverflowError: not a trace.
    """
    _, decisions = trace
    end = len(_own_instructions(trace))
    ordered = sorted((int(index), decision) for index, decision in decisions)
    return tuple(_decision(decision) for index, decision in ordered if index < end)


class SketchFinder:
    """Finds the stored sketch of a trace. `sketches_of` gives a task's sketches; each task is asked for once."""

    def __init__(self, sketches_of: Callable[[str], Sequence[Sketch]]) -> None:
        self._sketches_of = sketches_of
        self._by_instructions: dict[str, dict[str, Sketch]] = {}

    def index_of(self, task_key: str, trace: Any, decisions: tuple[Decision, ...]) -> int:
        """The sketch's index, or a negative number that stands for the trace's instructions.

        Raises:
            TypeError, ValueError, LookupError: not a trace.
        """
        if task_key not in self._by_instructions:
            self._by_instructions[task_key] = {
                _key(_own_instructions(json.loads(sketch.trace_json))): sketch for sketch in self._sketches_of(task_key)
            }
        key = _key(_own_instructions(trace))
        sketch = self._by_instructions[task_key].get(key)
        if sketch is not None and _holds(sketch, decisions):
            return sketch.index
        return -1 - int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest())


def _own_instructions(trace: Any) -> list[Any]:
    own: list[Any] = []
    for instruction in trace[0]:
        if instruction[0] == _POSTPROCESSING:
            break
        own.append(instruction)
    return own


def _key(instructions: Sequence[Any]) -> str:
    return json.dumps(_normal(instructions), separators=(",", ":"))


def _normal(value: Any) -> Any:
    # TVM writes True as 1 into its database, and float32 probabilities with more or fewer digits.
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if isinstance(value, (bool, int, float)):
        return float(f"{value:.5g}") if isinstance(value, float) and not value.is_integer() else int(value)
    return value


def _decision(value: Any) -> Decision:
    return tuple(int(factor) for factor in value) if isinstance(value, list) else (int(value),)


def _holds(sketch: Sketch, decisions: tuple[Decision, ...]) -> bool:
    return len(decisions) == len(sketch.domains) and all(
        decision in domain.values for decision, domain in zip(decisions, sketch.domains, strict=True)
    )
