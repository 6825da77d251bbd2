"""The slow, readable twin of `template`: tokens of one candidate, read from its replayed trace. A test oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcl_core.batches import FloatArray, IntArray
from tcl_core.features.template import kept_tokens
from tcl_core.features.tokens import Instruction, literals, parse_trace, structure_fields, token_kind, write_values


def trace_tokens(trace_json: str) -> tuple[IntArray, FloatArray]:
    """Kinds int32 [T] and fields float32 [T, F] of a trace with decisions (postprocessing is not looked at)."""
    instructions, decisions = parse_trace(trace_json)
    values: dict[str, tuple[float, ...]] = {}
    made_at: dict[str, int] = {}
    rows = []
    for index, instruction in enumerate(instructions):
        row = structure_fields(instruction, index, made_at)
        write_values(row, _shown(instruction, decisions.get(index), values))
        rows.append(row)
        if index in decisions:
            values |= dict.fromkeys(instruction.outputs, _decided(instruction, decisions[index]))
        made_at |= dict.fromkeys(instruction.outputs, index)
    kept = kept_tokens(instructions)
    kinds = np.array([token_kind(instructions[index]) for index in kept], np.int32)
    return kinds, np.stack([rows[index] for index in kept])


def _decided(instruction: Instruction, decision: Any) -> tuple[float, ...]:
    if instruction.kind == "SampleCategorical":
        return (float(instruction.attributes[0][decision]),)
    return tuple(float(value) for value in (decision if isinstance(decision, list) else [decision]))


def _shown(instruction: Instruction, decision: Any, values: dict[str, tuple[float, ...]]) -> tuple[float, ...]:
    if decision is not None:
        return _decided(instruction, decision)
    for name in instruction.inputs:
        if isinstance(name, str) and name in values:
            return values[name]
    return literals(instruction)
