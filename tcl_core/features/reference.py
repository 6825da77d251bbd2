"""The slow, readable twin of `template`: tokens of one candidate, read from its replayed trace. A test oracle."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcl_core.batches import FloatArray, IntArray
from tcl_core.domain import Task
from tcl_core.features.context import Hardware
from tcl_core.features.template import kept_tokens
from tcl_core.features.tokens import (
    Instruction,
    filled,
    literals,
    parse_trace,
    structure_fields,
    token_kind,
    write_values,
)
from tcl_core.features.vocabulary import CACHES, LEVELS, LOOPS_SHOWN, STEPS, Field


def trace_tokens(trace_json: str, task: Task, platform: FloatArray) -> tuple[IntArray, FloatArray]:
    """Kinds int32 [T] and fields float32 [T, F] of a trace with decisions (postprocessing is not looked at).

    Args:
        platform: float32 [C_platform], see `platform_features`.
    """
    instructions, decisions = parse_trace(trace_json)
    values: dict[str, tuple[float, ...]] = {}
    made_at: dict[str, int] = {}
    nest, hardware = _Nest(task), Hardware.told_by(platform)
    rows = []
    for index, instruction in enumerate(instructions):
        row = structure_fields(instruction, index, made_at)
        write_values(row, _shown(instruction, decisions.get(index), values))
        if index in decisions:
            decided = _decided(instruction, decisions[index])
            values |= dict.fromkeys(instruction.outputs, decided)
            nest.factors |= dict(zip(instruction.outputs, decided, strict=False))
        if loops := nest.read(instruction):
            _write_loops(row, instruction.kind, loops, nest.unrolled, task, hardware)
        rows.append(row)
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


@dataclass
class _Nest:
    """Loops by name: extent, and the one axis they are of."""

    task: Task
    factors: dict[str, float] = field(default_factory=dict)
    loops: dict[str, tuple[float, int | None]] = field(default_factory=dict)
    still: dict[str, str] = field(default_factory=dict)
    unrolled: float = 1.0

    def read(self, instruction: Instruction) -> list[tuple[float, int | None]]:
        inputs = [name for name in instruction.inputs if isinstance(name, str) and name[:1] == "l"]
        known = [self.loops[name] for name in inputs if name in self.loops]
        match instruction.kind:
            case "GetSBlock":
                self.still[instruction.outputs[0]] = instruction.attributes[0]
            case "GetConsumers" | "GetProducers":
                self.still |= dict.fromkeys(instruction.outputs, "")
            case "ComputeAt" | "ReverseComputeAt":
                self.still.pop(instruction.inputs[0], None)
            case "AddUnitLoop":
                self.loops[instruction.outputs[0]] = (1.0, None)
            case "GetLoops" if instruction.inputs[0] in self.still:
                whole = self.still[instruction.inputs[0]] == self.task.anchor
                axes = [(i, axis) for i, axis in enumerate(self.task.axes) if whole or axis.kind == "spatial"]
                if len(axes) == len(instruction.outputs):
                    made = [(float(axis.extent), i) for i, axis in axes]
                    self.loops |= dict(zip(instruction.outputs, made, strict=True))
        if not inputs or len(known) < len(inputs):
            return []
        match instruction.kind:
            case "Split":
                self._split(instruction, *known[0])
            case "Fuse":
                self.loops[instruction.outputs[0]] = (math.prod(extent for extent, _ in known), None)
            case "Unroll" | "Vectorize":
                self.unrolled *= known[0][0]
        return known

    def _split(self, instruction: Instruction, extent: float, axis: int | None) -> None:
        given = [
            self.factors.get(each, 0.0) if isinstance(each, str) else each or 0.0 for each in instruction.inputs[1:]
        ]
        rest = math.ceil(extent / math.prod(each for each in given if each))
        self.loops |= {name: (float(each or rest), axis) for name, each in zip(instruction.outputs, given, strict=True)}


def _write_loops(
    row: FloatArray,
    kind: str,
    loops: list[tuple[float, int | None]],
    unrolled: float,
    task: Task,
    hardware: Hardware,
) -> None:
    extents = [extent for extent, _ in loops]
    product = math.prod(extents)
    row[Field.KNOWN] = 1
    row[Field.PRODUCT] = math.log2(1 + product) / 4
    row[Field.INNERMOST] = math.log2(1 + extents[-1]) / 4
    row[Field.UNROLLED] = math.log2(1 + unrolled) / 4
    row[Field.PRODUCT_FILLED : Field.PRODUCT_FILLED + STEPS] = filled(product)
    row[Field.UNROLLED_FILLED : Field.UNROLLED_FILLED + STEPS] = filled(unrolled)
    if kind in ("Fuse", "Parallel") and hardware.threads:
        row[Field.BALANCE] = product / (hardware.threads * math.ceil(product / hardware.threads))
        row[Field.SHARE] = math.log2(1 + product / hardware.threads) / 4
    if kind != "Reorder":
        return
    for index in range(min(LOOPS_SHOWN, len(extents))):
        row[Field.OUTER + index] = math.log2(math.prod(extents[: index + 1])) / 4
        row[Field.INNER + index] = math.log2(math.prod(extents[len(extents) - 1 - index :])) / 4
    if task.accesses and all(axis is not None for _, axis in loops):
        _write_bytes(row, loops, task, hardware)


def _write_bytes(row: FloatArray, loops: list[tuple[float, int | None]], task: Task, hardware: Hardware) -> None:
    inside = [_inside(task, loops, first) for first in reversed(range(len(loops)))]
    for index, (steps, size) in enumerate(inside[:LEVELS]):
        row[Field.LEVEL_BYTES + index] = math.log2(1 + size) / 16
        row[Field.LEVEL_RATES + index] = math.log2(size / steps) / 8
    total = inside[-1][0]
    for index in range(CACHES):
        if not (cache := hardware.caches[index]):
            continue
        brought = total * sum(access.bytes for access in task.accesses)
        for steps, size in inside:
            if size <= cache:
                brought = total / steps * size
        row[Field.BROUGHT + index] = math.log2(1 + brought) / 16
        row[Field.BROUGHT_RATES + index] = math.log2(brought / total) / 8


def _inside(task: Task, order: list[tuple[float, int | None]], first: int) -> tuple[float, float]:
    """Iterations inside the loop in this place, that loop included, and the bytes that they touch."""
    named = {axis for _, axis in order}
    ranges = [
        float(axis.extent)
        if axis.kind == "reduce" and index not in named
        else math.prod((extent for extent, own in order[first:] if own == index), start=1.0)
        for index, axis in enumerate(task.axes)
    ]
    touched = sum(
        access.bytes * math.prod(1 + sum(added * (ranges[axis] - 1) for axis, added in group) for group in access.spans)
        for access in task.accesses
    )
    return math.prod(ranges), touched
