"""Means over windows of unequal sizes, where a picture is pooled to rows and columns that do not divide it.

TVM's own kernel sums up as many pixels as a window has, which differs from one to the next, and MetaSchedule tiles no
such loop. Here every sum goes over the largest window, with zeros for what lies behind a smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.kernels.pool_windows import window
from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.rewriting import calls_any, op_name, rewritten

_POOL = "relax.nn.adaptive_avg_pool2d"


def pool_unequal_windows(module: Any) -> Any:
    """The relax module with adaptive mean pools whose windows are unequal as kernels of ours, in any layout."""
    return rewritten(module, _Pools(module)) if calls_any(module, _POOL) else module


@mutator
class _Pools(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        shape, pooled = static_shape(op.args[0]) if op.args else None, static_shape(op)
        if op_name(op) != _POOL or shape is None or pooled is None:
            return call
        layout = str(op.attrs.layout)
        plane = [layout.index("H"), layout.index("W")]
        if all(shape[axis] % pooled[axis] == 0 for axis in plane):
            return call
        results = [pooled[axis] for axis in plane]
        return self.builder_.call_te(_means, call.args[0], plane, results, primfunc_name_hint="adaptive_avg_pool2d")


def _means(data: Any, plane: Sequence[int], results: Sequence[int]) -> Any:
    of = {int(axis): (int(data.shape[int(axis)]), int(count)) for axis, count in zip(plane, results, strict=True)}
    shape = [of[axis][1] if axis in of else extent for axis, extent in enumerate(data.shape)]
    steps = {axis: te.reduce_axis((0, _longest(*of[axis])), f"step{axis}") for axis in of}

    def total(*at: Any) -> Any:
        place, inside = list(at), []
        for axis, (extent, count) in of.items():
            begin, end = window(extent, count, at[axis])
            place[axis] = tirx.min(begin + steps[axis], extent - 1)
            inside.append(begin + steps[axis] < end)
        read = tirx.Select(tirx.all(*inside), data(*place), tirx.const(0, data.dtype))
        return te.sum(read, axis=list(steps.values()))

    sums = te.compute(shape, total, name="window_sum")

    def mean(*at: Any) -> Any:
        (top, bottom), (left, right) = (window(*of[axis], at[axis]) for axis in of)
        return sums(*at) / ((bottom - top) * (right - left)).astype(data.dtype)

    return te.compute(shape, mean, name="window_mean")


def _longest(extent: int, results: int) -> int:
    return max(int(end - begin) for begin, end in (window(extent, results, at) for at in range(results)))
