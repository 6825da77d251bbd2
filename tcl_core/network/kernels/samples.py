"""Pictures sampled at the points of a grid with their channels last.

Channel by channel each element of the result works out anew where its four neighbours lie, and gathers them one by one.
With channels last a point is looked up once for a vector of them: Deformable DETR 4.55 -> 1.74 ms.
"""

from __future__ import annotations

from typing import Any

from tvm import relax, te, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.rewriting import APART, op_name, rewritten

_SAMPLE = "relax.image.grid_sample"
_LEAST = 8
"""Channels that are worth changing the layout for."""
_PADDINGS = ("zeros", "border")


def sample_by_points(module: Any) -> Any:
    """The relax module with linear `grid_sample` of pictures in float32 as kernels of ours between transpositions."""
    return rewritten(module, _Sampler(module))


@mutator
class _Sampler(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if op_name(op) != _SAMPLE or not _fits(op):
            return call
        picture, grid = call.args
        emit = self.builder_.emit
        points = self.builder_.call_te(
            _sampled,
            emit(relax.op.permute_dims(picture, [0, 2, 3, 1])),
            emit(relax.op.permute_dims(grid, [0, 2, 3, 1])),
            at_border=str(op.attrs.padding_mode) == "border",
            corners=bool(op.attrs.align_corners),
            primfunc_name_hint="sampled",
            primfunc_attrs=APART,
        )
        return relax.op.permute_dims(emit(points), [0, 3, 1, 2])


def _fits(call: Any) -> bool:
    picture, grid = map(static_shape, call.args)
    return (
        picture is not None
        and grid is not None
        and len(picture) == 4
        and picture[1] >= _LEAST
        and all(str(each.ty.dtype) == "float32" for each in call.args)
        and str(call.attrs.method) == "bilinear"
        and str(call.attrs.padding_mode) in _PADDINGS
    )


def _sampled(picture: Any, grid: Any, *, at_border: bool, corners: bool) -> Any:
    """[batch, rows, columns, channels] at [batch, ..., 2], columns first -> [batch, ..., channels]; as topi's.

    Indices are clamped and what is not there is left out afterwards: a branch for each neighbour is no vector. They are
    clamped as floats: of whole numbers TVM 0.27 drops it again, as they are right wherever the neighbour is there, and
    reads all of them, far outside the picture, too.
    """
    batch, *plane, channels = picture.shape

    def place(value: Any, extent: int) -> Any:
        at = (value + 1.0) * (extent - 1) / 2.0 if corners else (value + 1.0) * extent / 2.0 - 0.5
        return te.max(te.min(at, tirx.const(extent - 1, "float32")), 0.0) if at_border else at

    def neighbours(value: Any, extent: int) -> list[tuple[Any, Any, Any]]:
        """Index, whether it is there, and share of the two along an axis."""
        at = place(value, extent)
        low, last = te.floor(at), tirx.const(extent - 1, "float32")
        share = at - low
        return [
            (te.max(te.min(each, last), 0.0).astype("int32"), te.all(each >= 0.0, each <= last), part)
            for each, part in ((low, 1.0 - share), (low + 1.0, share))
        ]

    def sample(n: Any, *at: Any) -> Any:
        *point, channel = at
        columns, rows = (neighbours(grid(n, *point, axis), int(extent)) for axis, extent in enumerate(reversed(plane)))
        total = tirx.const(0.0, "float32")
        for row, row_there, row_share in rows:
            for column, column_there, column_share in columns:
                value = picture(n, row, column, channel)
                there = te.all(row_there, column_there)
                total += tirx.Select(there, value, tirx.const(0.0, "float32")) * (row_share * column_share)
        return total

    return te.compute((batch, *grid.shape[1:-1], channels), sample, name="sampled")
