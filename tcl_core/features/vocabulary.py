"""What a token can say: instruction kinds, the strings that qualify them, and where each scalar field lies.

A change of any of these is a new `VERSION`: a checkpoint of another version is refused.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from tcl_core.batches import FeatureLayout

VERSION: Final = 3
MAX_TOKENS: Final = 64

EDGES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 48)
"""A factor is also shown by how much of each interval between these it fills, from 0 to 1 (piecewise linear encoding,
Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning", NeurIPS 2022): with one row more a
tile may no longer fit the registers, and a logarithm hides such steps from a network. Networks left out, three
folds: pairs in order 0.660 without, 0.680 with."""
STEPS: Final = len(EDGES) - 1
STEP_SLOTS: Final = 3
"""Shown so: a token's last integer, the one before it, and the first of three or more."""

VALUE_FIELDS: Final = 32 + STEP_SLOTS * STEPS
"""Fields that an instruction fills by itself; behind them are those of the loops it works on."""

LOOPS_SHOWN: Final = 8
"""Of an order of loops, so many from the outside and so many from the inside."""
LEVELS: Final = 10
"""Of an order of loops, so many from the inside with the bytes they touch."""
CACHES: Final = 2
"""First and second level."""

LOOP_FIELDS: Final = 6 + 2 * LOOPS_SHOWN + 2 * LEVELS + 2 * CACHES + 2 * STEPS
FIELDS: Final = VALUE_FIELDS + LOOP_FIELDS
"""With the fields of loops, and arguments' bytes in the task's token. Networks left out, three folds, two seeds, pairs
in order: 0.708 without, 0.716 with extents, 0.718 with the arguments, 0.722 with the bytes that loops touch."""

_ANNOTATIONS = (
    "meta_schedule.tiling_structure",
    "meta_schedule.parallel",
    "meta_schedule.vectorize",
    "meta_schedule.unroll_explicit",
    "meta_schedule.unroll_implicit",
    "meta_schedule.random_compute_producer",
    "meta_schedule.thread_extent_low_inclusive",
    "meta_schedule.thread_extent_high_inclusive",
    "meta_schedule.cooperative_fetch",
    "meta_schedule.cross_thread_reduction_block",
    "meta_schedule.auto_tensorize",
    "software_pipeline_stage",
    "software_pipeline_order",
    "software_pipeline_async_stages",
)
_THREAD_AXES = ("blockIdx.x", "blockIdx.y", "vthread.x", "threadIdx.x", "threadIdx.y")
_SCOPES = ("global", "shared", "shared.dyn", "local")
_PLAIN_KINDS = (
    "GetSBlock",
    "GetLoops",
    "GetChildBlocks",
    "GetProducers",
    "GetConsumers",
    "GetOutputBlocks",
    "SamplePerfectTile",
    "SampleCategorical",
    "SampleComputeLocation",
    "Split",
    "LoopPartition",
    "Merge",
    "Fuse",
    "Reorder",
    "AddUnitLoop",
    "ComputeAt",
    "ReverseComputeAt",
    "ComputeInline",
    "ReverseComputeInline",
    "RFactor",
    "DecomposeReduction",
    "Blockize",
    "Tensorize",
    "StorageAlign",
    "TransformLayout",
    "Parallel",
    "Vectorize",
    "Unroll",
)
_QUALIFIED = {
    "Annotate": _ANNOTATIONS,
    "Unannotate": ("meta_schedule.random_compute_producer", "meta_schedule.cross_thread_reduction_block"),
    "Bind": _THREAD_AXES,
    "CacheRead": _SCOPES,
    "CacheWrite": _SCOPES,
    "SetScope": _SCOPES,
}

NAMING: Final = frozenset({"GetSBlock", "GetProducers", "GetConsumers", "GetChildBlocks", "GetOutputBlocks"})
"""Instructions that have no token: they give blocks their names. Networks left out, pairs in order: 0.718 with tokens
for them, 0.722 without, in three quarters of the time."""

UNKNOWN_KIND: Final = 0
"""An instruction the vocabulary does not hold. Id 0 is never another kind's."""

_NAMES = ("", *_PLAIN_KINDS, *_QUALIFIED, *(f"{kind}/{text}" for kind, texts in _QUALIFIED.items() for text in texts))
_IDS: Final = {name: index for index, name in enumerate(_NAMES)}


def kind_id(kind: str, qualifier: str | None) -> int:
    """Id of an instruction kind with the string that qualifies it; an unknown string falls back to the kind alone."""
    return _IDS.get(f"{kind}/{qualifier}", _IDS.get(kind, UNKNOWN_KIND))


class Field(IntEnum):
    """Where a scalar lies in a token. Ranges are given by their first field and their length below."""

    BLOCK_IN = 0
    BLOCK_OUT = 1
    LOOP_IN = 2
    LOOPS_IN = 3
    LOOP_OUT = 4
    LOOPS_OUT = 5
    SAMPLED = 6
    DISTANCE = 7
    EXTENT = 8
    DIVISIBLE_BY_4 = 9
    DIVISIBLE_BY_8 = 10
    DIVISIBLE_BY_16 = 11
    NEGATIVE = 12
    POSITION = 13
    VALUES = 14
    IS_ONE = 20
    SUFFIXES = 26
    FILLED = 32
    KNOWN = VALUE_FIELDS
    PRODUCT = KNOWN + 1
    INNERMOST = KNOWN + 2
    UNROLLED = KNOWN + 3
    BALANCE = KNOWN + 4
    SHARE = KNOWN + 5
    OUTER = KNOWN + 6
    INNER = OUTER + LOOPS_SHOWN
    LEVEL_BYTES = INNER + LOOPS_SHOWN
    LEVEL_RATES = LEVEL_BYTES + LEVELS
    BROUGHT = LEVEL_RATES + LEVELS
    BROUGHT_RATES = BROUGHT + CACHES
    PRODUCT_FILLED = BROUGHT_RATES + CACHES
    UNROLLED_FILLED = PRODUCT_FILLED + STEPS


VALUE_SLOTS: Final = 6
"""A token holds its first six integers: on a log2 scale, as "is one" flags, and as log2 of suffix products."""

TASK_AXES: Final = 8
TASK_ARGUMENTS: Final = 5
"""Inputs whose bytes the task's token shows, those of the result behind them."""
TASK_FIELDS: Final = 8 + 2 * TASK_AXES + TASK_ARGUMENTS + 1
PLATFORM_FIELDS: Final = 12

LAYOUT: Final = FeatureLayout(
    version=VERSION, kinds=len(_NAMES), fields=FIELDS, task=TASK_FIELDS, platform=PLATFORM_FIELDS
)
