"""The fields of a token that tell of the loops it works on: extents, how threads share them, bytes they touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tcl_core.batches import FloatArray
from tcl_core.domain import Task
from tcl_core.features.context import Hardware
from tcl_core.features.footprints import brought, levels
from tcl_core.features.loops import Column, Loop, product
from tcl_core.features.tokens import filled
from tcl_core.features.vocabulary import EDGES, LEVELS, LOOP_FIELDS, LOOPS_SHOWN, STEPS, Field

_LOG_SCALE = 1 / 4
_BYTES_SCALE = 1 / 16
_RATE_SCALE = 1 / 8
_SHARED = ("Fuse", "Parallel")

_FILLED = np.stack([filled(float(value)) for value in range(EDGES[-1] + 1)])
"""`filled` of every whole number up to the last edge, which larger ones are as."""


def loop_fields(kind: str, loops: Sequence[Loop], unrolled: Column, task: Task, hardware: Hardware) -> FloatArray:
    """float32 [N, LOOP_FIELDS] of an instruction on known loops, [1, LOOP_FIELDS] where no decision changes them.

    Args:
        unrolled: see `LoopNest`.
    """
    whole = product(loops)
    rows = np.zeros((max(len(whole), len(unrolled)), LOOP_FIELDS))
    _write(rows, Field.KNOWN, 1.0)
    _write(rows, Field.PRODUCT, np.log2(1 + whole) * _LOG_SCALE)
    _write(rows, Field.INNERMOST, np.log2(1 + loops[-1].extent) * _LOG_SCALE)
    _write(rows, Field.UNROLLED, np.log2(1 + unrolled) * _LOG_SCALE)
    _write_filled(rows, Field.PRODUCT_FILLED, whole)
    _write_filled(rows, Field.UNROLLED_FILLED, unrolled)
    if kind in _SHARED and hardware.threads:
        _write(rows, Field.BALANCE, whole / (hardware.threads * np.ceil(whole / hardware.threads)))
        _write(rows, Field.SHARE, np.log2(1 + whole / hardware.threads) * _LOG_SCALE)
    if kind == "Reorder":
        _write_order(rows, loops)
        if all(loop.axis is not None for loop in loops):
            _write_bytes(rows, loops, task, hardware)
    return rows.astype(np.float32)


def _write(rows: Column, field: int, values: Column | float) -> None:
    rows[:, field - Field.KNOWN] = values


def _write_filled(rows: Column, field: int, values: Column) -> None:
    start = field - Field.KNOWN
    rows[:, start : start + STEPS] = _FILLED[np.minimum(values, EDGES[-1]).astype(np.int64)]


def _write_order(rows: Column, loops: Sequence[Loop]) -> None:
    """How often the outer loops are entered, and how much lies inside the inner ones."""
    for start, order in ((Field.OUTER, loops), (Field.INNER, loops[::-1])):
        entered = np.ones(1)
        for index, loop in enumerate(order[:LOOPS_SHOWN]):
            entered = entered * loop.extent
            _write(rows, start + index, np.log2(entered) * _LOG_SCALE)


def _write_bytes(rows: Column, loops: Sequence[Loop], task: Task, hardware: Hardware) -> None:
    inside = levels(task, loops)
    for index, level in enumerate(inside[:LEVELS]):
        _write(rows, Field.LEVEL_BYTES + index, np.log2(1 + level.bytes) * _BYTES_SCALE)
        _write(rows, Field.LEVEL_RATES + index, np.log2(level.bytes / level.steps) * _RATE_SCALE)
    for index, cache in enumerate(hardware.caches if inside else ()):
        if cache:
            bytes_N = brought(task, inside, cache)
            _write(rows, Field.BROUGHT + index, np.log2(1 + bytes_N) * _BYTES_SCALE)
            _write(rows, Field.BROUGHT_RATES + index, np.log2(bytes_N / inside[-1].steps) * _RATE_SCALE)
