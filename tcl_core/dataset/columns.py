"""Arrow columns to plain Python values, nested lists as tuples.

Arrow's own `to_pylist` makes one Python object per nesting step and takes seconds for the legal decisions of a few
hundred sketches; this goes through flat arrays, and equal tuples of integers become one object.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def values_of(column: Any) -> list[Any]:
    """The values of an Arrow array without nulls inside lists: lists and structs as tuples, the rest as scalars."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_list(column.type):
        return _lists(column)
    if pa.types.is_struct(column.type):
        return [*zip(*(values_of(member) for member in column.flatten()), strict=True)]
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return numbers
    scalars: list[Any] = column.to_pylist()
    return scalars


def _lists(column: Any) -> list[Any]:
    ends = np.cumsum(pc.list_value_length(column).to_numpy(zero_copy_only=False), dtype=np.int64).tolist()
    items = values_of(column.flatten())
    made = [tuple(items[start:end]) for start, end in pairwise([0, *ends])]
    if not _holds_integers(column.type):
        return made  # 0.0 and -0.0 are equal and not the same
    seen: dict[Any, Any] = {}
    return [seen.setdefault(item, item) for item in made]


def _holds_integers(kind: Any) -> bool:
    while pa.types.is_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_integer(kind))
