"""Normalisations that exporters and people spelled out, as one node again.

Before opset 17 a layer normalisation is nine nodes, and TensorFlow's are eleven in any opset; onnxruntime's folding
makes one of the former from opset 17 on. Of the nodes TVM makes three kernels or four, and one of one: each is a launch
and goes over all elements. Of channels, as ConvNeXt's and SAM's own code has it, they are five with changes of layout
between. What is found is an operator of our own, `LAYER_NORM`, `RMS_NORM`, `GROUP_NORM` or, by any other deviation,
`DEVIATION_NORM`, as no opset has the last and none before 17, 21 and 23 the others.

A mean m, a deviation d and what stands around them are followed as algebra, factors and summands in any order:

    (x - m) / d * scale + bias                        as PyTorch has it
    x * (scale / d) + (bias - m * (scale / d))        as TensorFlow has it
    x / d * scale                                     by the root mean square, as Llama and T5 have it
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from tcl_core.network.onnx_graph.nodes import DEVIATION_NORM, GROUP_NORM, LAYER_NORM, OWN, RMS_NORM, replace_nodes
from tcl_core.network.onnx_graph.origins import Array, Origins
from tcl_core.network.rewrites.deviations import Deviation, Deviations

_LAST = frozenset({"Add", "Mul", "Div"})
"""Operators that a normalisation may end with."""
_CHANNELS, _PICTURE = 1, 2
"""The axis of channels and the first of what each of them has many of."""


@dataclass(frozen=True, kw_only=True)
class _Along:
    """Axes that a normalisation is along, and the one that its weights are of; all counted from the front."""

    axes: tuple[int, ...]
    weighted: int


@dataclass(frozen=True, kw_only=True)
class _Norm:
    """``(value - mean) / deviation * scale + bias``.

    Attributes:
        centred: False where no mean is taken off.
        about_mean: whether the deviation is from the mean, not from zero.
        scale: number or [weights]; None is 1.
        bias: number or [weights]; None is 0.
    """

    value: str
    deviation: Deviation
    centred: bool
    about_mean: bool
    scale: Array | None = None
    bias: Array | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is a layer normalisation, or one by the root mean square."""
        return self.deviation.is_plain and self.centred == self.about_mean

    def weights(self, count: int, *, by: float) -> dict[str, Array]:
        """Scale, multiplied by a number, and bias: [count] both."""
        given = {"scale": 1.0 if self.scale is None else self.scale, "bias": 0.0 if self.bias is None else self.bias}
        factors = {"scale": by, "bias": 1.0}
        return {
            word: np.ascontiguousarray(np.broadcast_to(np.asarray(array * factors[word], np.float32), (count,)))
            for word, array in given.items()
        }


def restore_layer_norms(
    graph: Any,
    constants: Mapping[str, Any],
    sizes: Mapping[str, Sequence[int]],
    types: Mapping[str, int],
    *,
    on_cpu: bool,
) -> None:
    """Make each one node again, in place; what it was made of stays for those who read it, or for nobody.

    Args:
        constants: initializers by name.
        sizes: dimensions by tensor.
        types: element types by tensor (`onnx.TensorProto`); others than float32 are left alone.
        on_cpu: along other axes than the last one and by any deviation, too.
    """
    origins = Origins(graph, constants, sizes)
    nodes: list[Any] = []
    # Backwards: what is a normalisation without its scale and bias is met after the whole of it.
    for node in reversed(graph.node):
        made = None
        if node.op_type in _LAST and types.get(node.output[0]) == onnx.TensorProto.FLOAT:
            made = _restored(graph, node, origins, on_cpu=on_cpu)
        nodes += reversed(made or [node])
    if any(each.domain == OWN for each in nodes):
        replace_nodes(graph, reversed(nodes))


def _restored(graph: Any, node: Any, origins: Origins, *, on_cpu: bool) -> list[Any] | None:
    """What stands in the place of a node that a normalisation ends with; None for others."""
    size = origins.size(node.output[0])
    if not size or min(size) < 1:
        return None
    for along in _ways(len(size)) if on_cpu else (_last(len(size)),):
        found = _Norms(origins, size, along).of(node.output[0])
        if found is not None and origins.size(found.value) == size and (on_cpu or found.is_plain):
            made = _as_nodes(graph, node, found, along, size)
            if made:
                return made
    return None


def _last(rank: int) -> _Along:
    return _Along(axes=(rank - 1,), weighted=rank - 1)


def _ways(rank: int) -> Iterator[_Along]:
    """The last axis, the channels, what each channel has, and all of a sample."""
    yield _last(rank)
    if rank > _PICTURE:
        for axes in ((_CHANNELS,), tuple(range(_PICTURE, rank)), tuple(range(_CHANNELS, rank))):
            yield _Along(axes=axes, weighted=_CHANNELS)


def _as_nodes(graph: Any, node: Any, norm: _Norm, along: _Along, size: tuple[int, ...]) -> list[Any]:
    """Nothing where no operator is like it."""
    # That the variance is `factor` times the mean of squares is a matter of epsilon and scale.
    factor = norm.deviation.factor if norm.is_plain else 1.0
    count = size[along.weighted]
    weights = norm.weights(count, by=1 / math.sqrt(factor))
    epsilon = norm.deviation.epsilon / factor
    result, rank = str(node.output[0]), len(size)

    def made(operator: str, value: str, output: str, words: Iterable[str], **attributes: Any) -> Any:
        names = [f"{result}.by_{word}" for word in words]
        graph.initializer.extend(
            onnx.numpy_helper.from_array(weights[word], name) for word, name in zip(words, names, strict=True)
        )
        inputs = [value, *names]
        return onnx.helper.make_node(operator, inputs, [output], name=node.name, domain=OWN, **attributes)

    def along_last(value: str, output: str) -> Any:
        if norm.is_plain and norm.centred:
            return made(LAYER_NORM, value, output, ("scale", "bias"), epsilon=epsilon)
        if norm.is_plain:
            return made(RMS_NORM, value, output, ("scale",), epsilon=epsilon)
        how = {name: getattr(norm.deviation, name) for name in ("factor", "epsilon", "outside", "least")}
        flags = {"centred": int(norm.centred), "about_mean": int(norm.about_mean)}
        return made(DEVIATION_NORM, value, output, ("scale", "bias"), **how, **flags)

    if along == _last(rank):
        return [along_last(norm.value, result)]
    if along.axes == (_CHANNELS,):
        to_last = [0, *range(_PICTURE, rank), _CHANNELS]
        last, normalised = f"{result}.channels_last", f"{result}.normalised"
        return [
            onnx.helper.make_node("Transpose", [norm.value], [last], name=f"{node.name}.channels_last", perm=to_last),
            along_last(last, normalised),
            onnx.helper.make_node(
                "Transpose", [normalised], [result], name=f"{node.name}.back", perm=np.argsort(to_last).tolist()
            ),
        ]
    if norm.is_plain and norm.centred:
        groups = count if along.axes[0] == _PICTURE else 1
        return [made(GROUP_NORM, norm.value, result, ("scale", "bias"), groups=groups, epsilon=epsilon)]
    return []


class _Norms:
    """Finds what a tensor is, from its name on backwards."""

    def __init__(self, origins: Origins, size: tuple[int, ...], along: _Along) -> None:
        self._origins, self._along, self._size = origins, along, size
        self._deviations = Deviations(origins, size, along.axes)

    def of(self, name: str) -> _Norm | None:
        """The normalisation that a tensor is the result of."""
        for value, bias in self._with_weights(name, "Add"):
            scaled = self._scaled(value)
            if scaled is not None and scaled.centred:
                return replace(scaled, bias=bias)
        return self._scaled(name) or self._in_two_products(name)

    def _scaled(self, name: str) -> _Norm | None:
        """Without bias; the scale may be a factor of the whole, of the value or of what the deviation has become."""
        found = (
            [(self._normalised(whole), scale) for whole, scale in self._with_weights(name, "Mul")]
            + [
                (self._by_deviation(value, deviation), scale)
                for scaled, deviation in self._quotients(name)
                for value, scale in self._with_weights(scaled, "Mul")
            ]
            + [
                (self._by_deviation(value, self._deviations.inverse(inverse)), scale)
                for value, factor in self._origins.pairs(name, "Mul")
                for inverse, scale in self._with_weights(factor, "Mul")
            ]
        )
        return next((replace(norm, scale=scale) for norm, scale in found if norm), None) or self._normalised(name)

    def _normalised(self, name: str) -> _Norm | None:
        """Without scale and bias."""
        found = (self._by_deviation(value, deviation) for value, deviation in self._quotients(name))
        return next(filter(None, found), None)

    def _by_deviation(self, value: str, deviation: Deviation | None) -> _Norm | None:
        """A value by its own deviation."""
        if deviation is None:
            return None
        (of, centred), (squared, about_mean) = self._core(value), self._core(deviation.of)
        if of != squared:
            return None
        return _Norm(value=of, deviation=deviation, centred=centred, about_mean=about_mean)

    def _core(self, name: str) -> tuple[str, bool]:
        """What a tensor is before its mean was taken off, and whether it was."""
        centred = self._deviations.centred(name)
        return centred or self._deviations.pictures(name), centred is not None

    def _in_two_products(self, name: str) -> _Norm | None:
        """TensorFlow's: the value and its mean are scaled each for itself."""
        for product, rest in self._origins.pairs(name, "Add"):
            shift = self._origins.of(rest, "Sub")
            bias = None if shift is None else self._weights(shift.input[0])
            if shift is None or bias is None:
                continue
            for value, factor in self._origins.pairs(product, "Mul"):
                shifted = next((mean for mean, by in self._origins.pairs(shift.input[1], "Mul") if by == factor), "")
                found = self._scaled_inverse(factor)
                if not shifted or found is None or not self._deviations.is_mean(shifted, value):
                    continue
                scale, deviation = found
                if deviation.is_plain and self._deviations.centred(deviation.of) == value:
                    return _Norm(
                        value=value, deviation=deviation, centred=True, about_mean=True, scale=scale, bias=bias
                    )
        return None

    def _scaled_inverse(self, name: str) -> tuple[Array | None, Deviation] | None:
        """Scale and deviation, of ``scale / deviation``."""
        for inverse, scale in (*self._with_weights(name, "Mul"), (name, None)):
            found = self._deviations.inverse(inverse)
            if found is not None:
                return scale, found
        return None

    def _quotients(self, name: str) -> Iterator[tuple[str, Deviation | None]]:
        """What is divided and what by, however it is written."""
        node = self._origins.of(name, "Div")
        if node is not None:
            yield str(node.input[0]), self._deviations.found(node.input[1])
        for value, factor in self._origins.pairs(name, "Mul"):
            yield value, self._deviations.inverse(factor)

    def _with_weights(self, name: str, operator: str) -> Iterator[tuple[str, Array]]:
        """The other side, and the constant."""
        for value, other in self._origins.pairs(name, operator):
            weights = self._weights(other)
            if weights is not None:
                yield value, weights

    def _weights(self, name: str) -> Array | None:
        """A number, or one for each place along the axis of weights: [weights]."""
        array = self._origins.array(name)
        if array is None or array.ndim > len(self._size):
            return None
        if array.size == 1:
            return array.reshape(())
        aligned = (1,) * (len(self._size) - array.ndim) + array.shape
        return array.reshape(-1) if array.size == aligned[self._along.weighted] else None
