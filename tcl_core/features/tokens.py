"""One instruction of a trace as data, and its integers as scalar fields."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcl_core.batches import FloatArray
from tcl_core.features.vocabulary import EDGES, FIELDS, STEPS, VALUE_SLOTS, Field, kind_id

_REFERENCE_SCALE = 1 / 32
_LOG_SCALE = 1 / 4
_EDGES = np.array(EDGES, np.float32)
_WIDTHS = np.diff(_EDGES)


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One instruction of a trace's JSON.

    Attributes:
        kind: MetaSchedule's instruction kind.
        inputs: names of random variables ("b0", "l5", "v12") or literals.
        attributes: constants.
        outputs: names of the random variables it makes.
    """

    kind: str
    inputs: tuple[Any, ...]
    attributes: tuple[Any, ...]
    outputs: tuple[str, ...]


def parse_trace(text: str) -> tuple[tuple[Instruction, ...], dict[int, Any]]:
    """A trace's instructions up to (not including) `EnterPostproc`, and its decisions by instruction index."""
    rows, chosen = json.loads(text)
    instructions = []
    for kind, inputs, attributes, outputs in rows:
        if kind == "EnterPostproc":
            break
        instructions.append(
            Instruction(kind=kind, inputs=tuple(inputs), attributes=tuple(attributes), outputs=tuple(outputs))
        )
    return tuple(instructions), {index: value for index, value in chosen if index < len(instructions)}


def token_kind(instruction: Instruction) -> int:
    """Vocabulary id of an instruction, qualified by its first string constant (annotation key, scope, thread)."""
    for constant in instruction.attributes:
        if isinstance(constant, str):
            return kind_id(instruction.kind, constant)
    return kind_id(instruction.kind, None)


def literals(instruction: Instruction) -> tuple[float, ...]:
    """The integers an instruction carries itself, whatever the decisions: flat, booleans left out."""
    found: list[float] = []
    for value in (*instruction.inputs, *instruction.attributes):
        items = value if isinstance(value, list) else [value]
        found += [float(item) for item in items if isinstance(item, int | float) and not isinstance(item, bool)]
    return tuple(found)


def structure_fields(instruction: Instruction, position: int, made_at: dict[str, int]) -> FloatArray:
    """Fields that do not depend on decisions, float32 [F].

    Args:
        made_at: index of the instruction that made each random variable so far.
    """
    row = np.zeros(FIELDS, np.float32)
    blocks, loops = _references(instruction.inputs, "b"), _references(instruction.inputs, "l")
    row[Field.BLOCK_IN] = (blocks[0] + 1) * _REFERENCE_SCALE if blocks else 0
    row[Field.LOOP_IN] = (loops[0] + 1) * _REFERENCE_SCALE if loops else 0
    row[Field.LOOPS_IN] = len(loops) * _REFERENCE_SCALE
    blocks, loops = _references(instruction.outputs, "b"), _references(instruction.outputs, "l")
    row[Field.BLOCK_OUT] = (blocks[0] + 1) * _REFERENCE_SCALE if blocks else 0
    row[Field.LOOP_OUT] = (loops[0] + 1) * _REFERENCE_SCALE if loops else 0
    row[Field.LOOPS_OUT] = len(loops) * _REFERENCE_SCALE
    row[Field.SAMPLED] = float(instruction.kind.startswith("Sample"))
    makers = [made_at[name] for name in instruction.inputs if isinstance(name, str) and name in made_at]
    row[Field.DISTANCE] = (position - max(makers)) * _REFERENCE_SCALE if makers else 0
    row[Field.POSITION] = position * _REFERENCE_SCALE
    return row


def _references(names: Sequence[Any], prefix: str) -> list[int]:
    return [int(name[1:]) for name in names if isinstance(name, str) and name.startswith(prefix) and name[1:].isdigit()]


def write_values(row: FloatArray, values: Sequence[float]) -> None:
    """Write a token's integers into its value fields, in place; only the first `VALUE_SLOTS` have room."""
    if not values:
        return
    for slot, value in enumerate(values[:VALUE_SLOTS]):
        row[Field.VALUES + slot] = math.log2(1 + abs(value)) * _LOG_SCALE
        row[Field.IS_ONE + slot] = float(value == 1)
        suffix = math.prod(max(1.0, abs(item)) for item in values[slot:])
        row[Field.SUFFIXES + slot] = math.log2(suffix) * _LOG_SCALE
    last = values[-1]
    row[Field.EXTENT] = math.log2(math.prod(max(1.0, abs(item)) for item in values)) * _LOG_SCALE
    row[Field.DIVISIBLE_BY_4] = float(last > 0 and last % 4 == 0)
    row[Field.DIVISIBLE_BY_8] = float(last > 0 and last % 8 == 0)
    row[Field.DIVISIBLE_BY_16] = float(last > 0 and last % 16 == 0)
    row[Field.NEGATIVE] = float(last < 0)
    few = [values[-1], values[-2], values[0]] if len(values) > 2 else list(reversed(values))
    for slot, value in enumerate(few):
        start = Field.FILLED + slot * STEPS
        row[start : start + STEPS] = filled(value)


def filled(value: float) -> FloatArray:
    """How much of each interval between `EDGES` an integer's magnitude fills, float32 [STEPS]."""
    share: FloatArray = np.clip((abs(value) - _EDGES[:-1]) / _WIDTHS, 0.0, 1.0)
    return share
