"""What is known of a graph's tensors before a run: values of constants, of shapes, and of arithmetic on both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.reference
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.nodes import STANDARD, has_branches, opset_of

_MOST_NODES = 64
"""Of the arithmetic that a value comes from; what is longer is left to onnxruntime."""
_DRAWN = frozenset({"Bernoulli", "Multinomial", *(f"Random{kind}" for kind in ("Normal", "Uniform"))})
"""Anew in each run, out of nothing."""

Array = NDArray[Any]


def is_drawn(node: Any) -> bool:
    """Whether a node gives random numbers."""
    return node.domain in STANDARD and node.op_type.removesuffix("Like") in _DRAWN


def can_be_computed(node: Any) -> bool:
    """Whether a node gives the same in each run, from its inputs alone, by the standard's own reference."""
    return node.domain in STANDARD and not is_drawn(node) and not has_branches([node])


class StaticValues:
    """Of one graph, each worked out when it is asked for, and once."""

    def __init__(self, model: Any, sizes: Mapping[str, tuple[int, ...]] | None = None) -> None:
        """
        Args:
            sizes: dimensions by tensor, -1 where one is not known; without them no shape is told.
        """
        self.opset = opset_of(model)
        self._model = model
        self._sizes = sizes or {}
        self._makers = {name: place for place, node in enumerate(model.graph.node) for name in node.output if name}
        self._constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self._found: dict[str, Any] = {}

    def of(self, name: str) -> Array | None:
        """A tensor's value; None where it is not known before a run."""
        if name not in self._found:
            self._found[name] = self._worked_out(name)
        tensor = self._found[name]
        return None if tensor is None else np.asarray(onnx.numpy_helper.to_array(tensor))

    def size_of(self, name: str) -> tuple[int, ...] | None:
        """A tensor's dimensions, -1 where one is not known; None where not even their number is."""
        return tuple(self._constants[name].dims) if name in self._constants else self._sizes.get(name)

    def evaluator(self, nodes: Iterable[Any], weights: Sequence[Any], given: Iterable[str], made: Iterable[str]) -> Any:
        """What computes tensors from given ones, by nodes in their order and initializers: an `onnx.reference` one."""
        inputs, outputs = (
            [onnx.helper.make_empty_tensor_value_info(name) for name in names] for names in (given, made)
        )
        graph = onnx.helper.make_graph(list(nodes), "part", inputs, outputs, list(weights))
        part = onnx.helper.make_model(graph, opset_imports=self._model.opset_import, ir_version=self._model.ir_version)
        return onnx.reference.ReferenceEvaluator(part)

    def _worked_out(self, name: str) -> Any | None:
        """The same as an `onnx.TensorProto`."""
        needed: set[int] = set()
        read: dict[str, Any] = {}
        waiting = [name]
        while waiting and len(needed) <= _MOST_NODES:
            each = waiting.pop()
            if (known := self._known(each)) is not None:
                read[each] = known
            elif each in self._found or each not in self._makers or not can_be_computed(self._maker(each)):
                return None
            elif self._makers[each] not in needed:
                needed.add(self._makers[each])
                waiting += filter(None, self._maker(each).input)
        if waiting or name in read:
            return read.get(name)
        nodes = [self._model.graph.node[place] for place in sorted(needed)]
        try:
            (array,) = self.evaluator(nodes, list(read.values()), (), [name]).run(None, {})
        except Exception:  # noqa: BLE001  # whatever the reference trips over; onnxruntime tells what is wrong with it
            return None
        return onnx.numpy_helper.from_array(np.asarray(array), name)

    def _maker(self, name: str) -> Any:
        return self._model.graph.node[self._makers[name]]

    def _known(self, name: str) -> Any | None:
        if name in self._constants:
            return self._constants[name]
        if self._found.get(name) is not None:
            return self._found[name]
        if name not in self._makers or self._maker(name).op_type not in ("Shape", "Size"):
            return None
        node = self._maker(name)
        size = self.size_of(node.input[0])
        if size is None or -1 in size:
            return None
        if node.op_type == "Size":
            return onnx.numpy_helper.from_array(np.array(math.prod(size), np.int64), name)
        bounds = {attribute.name: attribute.i for attribute in node.attribute}
        part = size[bounds.get("start", 0) : bounds.get("end", len(size))]
        return onnx.numpy_helper.from_array(np.array(part, np.int64), name)
