"""Parts of a tensor that was moved about, each moved by itself.

An attention's queries, keys and values are thirds of one product, which exporters reshape and transpose as a whole and
then take apart, by indices, by a split or by slices. TVM fuses the first two with nothing, and what several read is
written down first: all values are copied twice (a ViT-B/16 of torchvision: 48 kernels a run). A slice of its own chain
of movements is fused with what its reader does. It can go when TVM fuses `take` of a constant index, and movements into
each reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.constants import constant_array, static_shape
from tcl_core.network.relax_graph.rewriting import bindings, calls_any, op_name, readers_of, rewritten

_TAKE = "relax.take"
_SPLIT = "relax.split"
_SLICE = "relax.strided_slice"
_PICTURE, _BLOCKED = 4, 5
"""Ranks of [batch, channels, height, width], and of these in chunks of channels, or of volumes."""
_MOVEMENTS = frozenset(f"relax.{name}" for name in ("expand_dims", "permute_dims", "reshape", "squeeze"))


def move_parts(module: Any) -> Any:
    """The relax module with such parts cut from chains of their own."""
    return relax.transform.DeadCodeElimination()(rewritten(module, _Parts(module)))


def cut_blocks(module: Any) -> Any:
    """The relax module with slices in the place of splits of blocked pictures, volumes and even parts of channels.

    A split is a kernel of its own that writes all of its parts; a slice is fused with what reads it.
    """
    if not calls_any(module, _SPLIT):
        return module
    return relax.transform.DeadCodeElimination()(rewritten(module, _Blocks(module)))


@mutator
class _Blocks(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._values: dict[Any, Any] = dict(bindings(module))

    def visit_tuple_getitem_(self, op: Any) -> Any:
        split: Any = self._values.get(op.tuple_value)
        bounds = _bounds(split)
        if bounds is None or not (int(split.args[0].ty.ndim) == _BLOCKED or is_even(split)):
            return super().visit_tuple_getitem_(op)
        axis = _axis(split)
        begin, end = bounds[op.index : op.index + 2]
        return relax.op.strided_slice(self.visit_expr(split.args[0]), axes=[axis], begin=[begin], end=[end])


@mutator
class _Parts(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Looks behind each part; what is read otherwise, too, lies in memory anyhow and is left alone."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._values: dict[Any, Any] = dict(bindings(module))
        self._in_parts = {whole for whole, readers in readers_of(module).items() if self._is_in_parts(whole, readers)}

    def visit_call_(self, op: Any) -> Any:
        if not op.args or op.args[0] not in self._in_parts:
            return super().visit_call_(op)
        if _is_slice(op):
            return relax.Call(op.op, [self.builder_.emit(self._moved(op.args[0])), *op.args[1:]], op.attrs, op.ty_args)
        index = self._index(op)
        if index is None:
            return super().visit_call_(op)
        return relax.op.squeeze(self._cut(op.args[0], _axis(op), index, index + 1), _axis(op))

    def visit_tuple_getitem_(self, op: Any) -> Any:
        split: Any = self._values.get(op.tuple_value)
        bounds = _bounds(split)
        if bounds is None or split.args[0] not in self._in_parts:
            return super().visit_tuple_getitem_(op)
        return self._cut(split.args[0], _axis(split), bounds[op.index], bounds[op.index + 1])

    def _is_in_parts(self, whole: Any, readers: Sequence[Any]) -> bool:
        """Whether a movement makes a tensor of which several parts are taken, and nothing else."""
        if op_name(self._values.get(whole)) not in _MOVEMENTS:
            return False
        taken = sum(self._index(reader) is not None or _is_slice(reader) for reader in readers)
        split = sum(_bounds(reader) is not None for reader in readers)
        return (taken > 1 or split > 0) and taken + split == len(readers)

    def _index(self, call: Any) -> int | None:
        """Where a call takes one place along an axis; None for all other calls."""
        if op_name(call) != _TAKE or call.attrs.axis is None:
            return None
        index, shape = constant_array(call.args[1], self._values.get), static_shape(call.args[0])
        if index is None or index.ndim or not shape:
            return None
        extent = shape[_axis(call)]
        return int(index) % extent if -extent <= int(index) < extent else None

    def _cut(self, whole: Any, axis: int, begin: int, end: int) -> Any:
        """A part of what a chain of movements makes, the chain made anew from where it begins."""
        moved = self.builder_.emit(self._moved(whole))
        return relax.op.strided_slice(moved, axes=[axis], begin=[begin], end=[end])

    def _moved(self, variable: Any) -> Any:
        call: Any = self._values.get(variable)
        if op_name(call) not in _MOVEMENTS:
            return self.visit_expr(variable)
        behind = self.builder_.emit(self._moved(call.args[0]))
        return relax.Call(call.op, [behind, *call.args[1:]], call.attrs, call.ty_args)


def is_even(split: Any) -> bool:
    """Whether a call takes a picture's channels apart into as many each."""
    bounds = _bounds(split)
    if bounds is None or int(split.args[0].ty.ndim) != _PICTURE or _axis(split) != 1:
        return False
    return len({end - begin for begin, end in pairwise(bounds)}) == 1


def _bounds(call: Any) -> list[int] | None:
    """Where the parts of a split begin, and where the last one ends; None for all other calls."""
    if op_name(call) != _SPLIT or static_shape(call.args[0]) is None:
        return None
    if not isinstance(call.ty, relax.TupleType):  # of a single part
        return None
    return [0, *accumulate(int(part.shape.values[_axis(call)]) for part in call.ty.fields)]


def _is_slice(call: Any) -> bool:
    return op_name(call) == _SLICE and static_shape(call) is not None


def _axis(call: Any) -> int:
    """Along which a call takes or splits, counted from the first."""
    return int(call.attrs.axis) % int(call.args[0].ty.ndim)
