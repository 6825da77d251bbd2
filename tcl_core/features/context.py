"""The two context tokens: what the task is, and what the platform is (arXiv 2304.05430)."""

from __future__ import annotations

import math

import numpy as np

from tcl_core.batches import FloatArray
from tcl_core.domain import Platform, Task
from tcl_core.features.vocabulary import PLATFORM_FIELDS, TASK_AXES, TASK_FIELDS

_BITS = {"float64": 64, "int64": 64, "float32": 32, "int32": 32, "float16": 16, "bfloat16": 16, "int8": 8, "uint8": 8}


def _log(value: float, scale: float = 1 / 16) -> float:
    return math.log2(1 + value) * scale


def task_features(task: Task) -> FloatArray:
    """float32 [C_task]: FLOPs, bytes, intensity, dtype, counts of loops and arguments, then extent and kind by loop."""
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
    return row


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
