"""Normalisations over the channels of blocked pictures, where these lie.

Networks have them as a layer norm between two transpositions (ConvNeXt's of channels first, SAM's, Restormer's), and
the layout ends in front of the first: each then is three kernels. They become one of ours, `kernels.channel_norms`, or
where what follows reads rows of channels, one from blocks to these. It can go when `ConvertLayout` moves blocks
through a layer norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.kernels.channel_norms import NAME, channel_norm_kernel
from tcl_core.network.kernels.tile_rows import are_blocks_of
from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.norms import DeviationNorm
from tcl_core.network.relax_graph.rewriting import APART, bindings, op_name, readers_of, rewritten

_LAYER_NORM, _RMS_NORM = "relax.nn.layer_norm", "relax.nn.rms_norm"
_CALL = "relax.call_tir"
_MOVE, _TURN, _RESHAPE = "relax.layout_transform", "relax.permute_dims", "relax.reshape"
_TO_ROWS, _FROM_ROWS, _FLAT = (0, 2, 3, 1), (0, 3, 1, 2), (0, 2, 1)
"""Orders of axes: from [batch, channels, height, width] to rows of channels and back, and of [batch, channels, pixels]
either way."""


def normalise_in_blocks(module: Any) -> Any:
    """The relax module, converted to blocked layouts and not lowered yet, with such normalisations as calls of ours."""
    graph = _Graph(module)
    found = dict(graph.found())
    return relax.transform.DeadCodeElimination()(rewritten(module, _Pixels(module, found))) if found else module


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A norm of rows of channels, the blocked picture that they are taken from, and scale and, perhaps, bias."""

    norm: DeviationNorm
    picture: Any
    weights: tuple[Any, ...]


class _Graph:
    """Finds the calls that can be replaced."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._values: dict[Any, Any] = dict(bindings(module))
        self._readers = readers_of(module)
        self._names = {value: name for name, value in self._values.items() if isinstance(value, relax.Call)}

    def found(self) -> Iterator[tuple[Any, _Found]]:
        """Moves back into blocks, and norms that something else reads, each with what it comes to."""
        into = {call: found for call in self._names if (found := self._into_blocks(call)) is not None}
        yield from into.items()
        for call, name in self._names.items():
            found = self._norm(call)
            if found is not None and self._is_needed(name, into):
                yield call, found

    def _into_blocks(self, call: Any) -> _Found | None:
        """For what moves a normalised picture back into the blocks that it was moved out of."""
        if op_name(call) != _MOVE:
            return None
        found = self._norm(self._values.get(self._rows_of(call.args[0])))
        return found if found is not None and static_shape(found.picture) == static_shape(call) else None

    def _is_needed(self, name: Any, into: dict[Any, _Found]) -> bool:
        """Whether anything but those reads a tensor, as it is or moved."""
        return any(
            reader is None
            or (reader not in into and (op_name(reader) not in {_TURN, _RESHAPE} or self._leads_on(reader, into)))
            for reader in self._readers[name]
        )

    def _leads_on(self, call: Any, into: dict[Any, _Found]) -> bool:
        name = self._names.get(call)
        return name is None or self._is_needed(name, into)

    def _norm(self, call: Any) -> _Found | None:
        """For a norm along the channels of what was blocked."""
        norm, value, weights = self._along_last(call)
        picture = self._picture_of(value)
        moved: Any = self._values.get(picture)
        if norm is None or op_name(moved) != _MOVE:
            return None
        if not are_blocks_of(static_shape(picture), static_shape(moved.args[0])):
            return None
        return _Found(norm=norm, picture=moved.args[0], weights=weights)

    def _along_last(self, call: Any) -> tuple[DeviationNorm | None, Any, tuple[Any, ...]]:
        """How, what and with which weights a call normalises along the last axis of float32."""
        if op_name(call) == _CALL:
            norm = DeviationNorm.of(self._module[call.args[0]])
            value, *weights = (None,) if norm is None else call.args[1].fields
            return norm, value, tuple(weights)
        if op_name(call) not in {_LAYER_NORM, _RMS_NORM} or str(call.ty.dtype) != "float32":
            return None, None, ()
        rank = int(call.ty.ndim)
        if [int(axis) % rank for axis in call.attrs.axes] != [rank - 1]:
            return None, None, ()
        centred = op_name(call) == _LAYER_NORM
        norm = DeviationNorm(centred=centred, about_mean=centred, epsilon=float(call.attrs.epsilon))
        return norm, call.args[0], tuple(call.args[1:])

    def _picture_of(self, rows: Any) -> Any:
        """The tensor [batch, channels, height, width] that rows of channels are; None for others."""
        turned = self._turned(self._reshaped(rows, _rows_alike), _TO_ROWS)
        if turned is not None:
            return turned
        flat = self._turned(rows, _FLAT)
        picture = self._reshaped(flat, _pixels_alike)
        return None if picture is flat else picture

    def _rows_of(self, picture: Any) -> Any:
        """The rows of channels that [batch, channels, height, width] are made of; None for others."""
        flat = self._reshaped(picture, _pixels_alike)
        if flat is not picture:
            return self._turned(flat, _FLAT)
        return self._reshaped(self._turned(picture, _FROM_ROWS), _rows_alike)

    def _reshaped(self, name: Any, alike: Callable[..., bool]) -> Any:
        """What a tensor was before it was given a shape that is alike; else as it is."""
        call: Any = self._values.get(name)
        if op_name(call) != _RESHAPE:
            return name
        shapes = sorted((static_shape(call) or (), static_shape(call.args[0]) or ()), key=len)
        return call.args[0] if [len(each) for each in shapes] == [3, 4] and alike(*shapes) else name

    def _turned(self, name: Any, order: tuple[int, ...]) -> Any:
        """What a tensor is with its axes in another order; None where it is not in this one."""
        call: Any = self._values.get(name)
        if op_name(call) != _TURN or call.attrs.axes is None:
            return None
        axes = tuple(int(axis) % len(order) for axis in call.attrs.axes)
        return call.args[0] if axes == order else None


def _pixels_alike(flat: tuple[int, ...], picture: tuple[int, ...]) -> bool:
    """[batch, channels, pixels], and these in rows."""
    return flat == (*picture[:2], picture[2] * picture[3])


def _rows_alike(flat: tuple[int, ...], picture: tuple[int, ...]) -> bool:
    """[batch, pixels, channels], and these in rows."""
    return flat == (picture[0], picture[1] * picture[2], picture[3])


@mutator
class _Pixels(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    def __init__(self, module: Any, found: dict[Any, _Found]) -> None:
        super().__init__(module)
        self._found = found

    def visit_call_(self, op: Any) -> Any:
        found = self._found.get(op)
        return super().visit_call_(op) if found is None else self._normalised(found, static_shape(op))

    def _normalised(self, found: _Found, shape: tuple[int, ...] | None) -> Any:
        blocks = static_shape(found.picture) or ()
        batch, chunks, height, width, lanes = blocks
        made = blocks if shape == blocks else (batch, height, width, chunks * lanes)
        kernel = channel_norm_kernel(found.norm, blocks, in_blocks=made == blocks).with_attrs(APART)
        arguments = [self.visit_expr(each) for each in (found.picture, *found.weights)]
        if len(found.weights) == 1:
            arguments.append(relax.const(np.zeros(chunks * lanes, np.float32)))
        call = relax.call_tir(self.builder_.add_func(kernel, NAME), arguments, relax.TensorType(made, "float32"))
        return call if made == shape else relax.op.reshape(self.builder_.emit(call), shape)
