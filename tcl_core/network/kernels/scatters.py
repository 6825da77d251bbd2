"""`ScatterElements` into parts of the axes that its indices do not stand for, as one into a single row.

TVM's kernel counts the places of the data by the extents of the indices (0.27), and writes elsewhere where these are
fewer along another axis. This can go when it counts by those of the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm import relax


def scatter_elements(node: Any) -> Any:
    """A relax expression of what a node of the frontend gives (`frontend`): the data, with updates at their places."""
    data, places, updates = node.inputs
    size, part = ([int(extent) for extent in each.ty.shape.values] for each in (data, places))
    axis = int(node.attrs.get("axis", 0)) % len(size)
    if _counts_alike(size, part, axis):
        return node.convert(node.inputs)
    far = [math.prod(size[at + 1 :]) for at in range(len(size))]
    place = node.value(places, "int64")
    behind = node.value(relax.op.add(place, _whole(size[axis])))
    counted = node.value(relax.op.where(node.value(relax.op.less(place, _whole(0))), behind, place))
    along = node.value(relax.op.multiply(counted, _whole(far[axis])))
    flat = node.value(relax.op.add(along, relax.const(_others(part, far, axis), "int64")))
    rows = [node.value(relax.op.reshape(each, [-1])) for each in (data, flat, updates)]
    return node.value(relax.op.reshape(node.value(node.convert(rows, axis=0)), size))


def _counts_alike(size: Sequence[int], part: Sequence[int], axis: int) -> bool:
    """Whether places are the same by either's extents: those of the outermost axis, before and behind, do not count."""
    counted = [at for at in range(len(size)) if at not in {0, axis, axis + 1}]
    return all(size[at] == part[at] for at in counted)


def _others(part: Sequence[int], far: Sequence[int], axis: int) -> NDArray[np.int64]:
    """How far from the first element all other axes than one lead, to be broadcast to the indices' extents."""
    along = (np.arange(1 if at == axis else extent) * far[at] for at, extent in enumerate(part))
    return np.asarray(sum(np.ix_(*along)), np.int64)


def _whole(number: int) -> Any:
    return relax.const(number, "int64")
