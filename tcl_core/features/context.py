"""The two context tokens: what the task is, and what the platform is (arXiv 2304.05430)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tcl_core.batches import FloatArray
from tcl_core.domain import Platform, Task, TensorSpec
from tcl_core.features.vocabulary import PLATFORM_FIELDS, TASK_ARGUMENTS, TASK_AXES, TASK_FIELDS

_BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "bool": 8} | {
    f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_THREADS, _L1 = 2, 4
"""Places in a platform's token."""


def _log(value: float, scale: float = 1 / 16) -> float:
    return math.log2(1 + value) * scale


def task_features(task: Task) -> FloatArray:
    """float32 [C_task]: FLOPs, bytes, intensity, dtype, counts of loops and arguments, then extent and kind by loop and
    bytes by argument.
    """
    row = np.zeros(TASK_FIELDS, np.float32)
    reduce = [axis for axis in task.axes if axis.kind == "reduce"]
    row[:8] = (
        _log(task.flops),
        _log(task.bytes_moved),
        _log(task.intensity, 1 / 4),
        _BITS.get(task.dtype, 8) / 32,
        float("float" in task.dtype),
        (len(task.axes) - len(reduce)) / 8,
        len(reduce) / 8,
        len(task.arguments) / 8,
    )
    for index, axis in enumerate(task.axes[:TASK_AXES]):
        row[8 + 2 * index] = _log(axis.extent, 1 / 8)
        row[9 + 2 * index] = float(axis.kind == "reduce")
    first = 8 + 2 * TASK_AXES
    *inputs, result = [_log(_bytes(argument)) for argument in task.arguments] or [0.0]
    row[first : first + len(inputs[:TASK_ARGUMENTS])] = inputs[:TASK_ARGUMENTS]
    row[first + TASK_ARGUMENTS] = result
    return row


def _bytes(argument: TensorSpec) -> float:
    return math.prod(argument.shape) * _BITS.get(argument.dtype, 8) / 8


def platform_features(platform: Platform) -> FloatArray:
    """float32 [C_platform]: cores, threads, vector width, caches, measured roofs, and a GPU's numbers."""
    facts = platform.features
    row = np.array(
        [
            float(platform.kind == "cuda"),
            _log(facts.cores, 1 / 4),
            _log(platform.threads, 1 / 4),
            facts.vector_bits / 512,
            _log(facts.l1_bytes),
            _log(facts.l2_bytes),
            _log(facts.l3_bytes),
            _log(facts.peak_flops, 1 / 32),
            _log(facts.bandwidth_bytes_s, 1 / 32),
            _log(facts.multiprocessors, 1 / 4),
            _log(facts.shared_memory_bytes),
            facts.warp_size / 32,
        ],
        np.float32,
    )
    if row.shape != (PLATFORM_FIELDS,):
        raise AssertionError(f"a platform has {PLATFORM_FIELDS} features, not {row.shape}")
    return row


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What a platform's token tells of threads and caches; zeros where it tells nothing.

    Attributes:
        caches: bytes of the first and the second level.
    """

    threads: int
    caches: tuple[float, float]

    @classmethod
    def told_by(cls, platform: FloatArray) -> Hardware:
        """Read back from `platform_features`, so that a token of zeros hides the platform from all fields."""
        return cls(
            threads=round(_unlog(platform[_THREADS], 1 / 4)),
            caches=(_unlog(platform[_L1], 1 / 16), _unlog(platform[_L1 + 1], 1 / 16)),
        )


def _unlog(value: float, scale: float) -> float:
    return float(2.0 ** (float(value) / scale) - 1)
