"""Normalisations spelled out, node by node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import onnx
import onnx.helper

from tests.tcl_core.network.conftest import make_model, tensor, value

AXES_AS_INPUTS = 18
"""The opset from which reductions take their axes as an input."""


class Graph:
    """Nodes one after the other, each giving the name of its result; their input is "x"."""

    def __init__(self, shape: Sequence[int], constants: Mapping[str, Any], opset: int = 13) -> None:
        self.nodes: list[Any] = []
        self.opset = opset
        self._shape, self._constants = list(shape), dict(constants)
        self._names: Iterator[int] = count()

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        result = f"t{next(self._names)}"
        self.nodes.append(onnx.helper.make_node(operator, list(inputs), [result], name=result, **attributes))
        return result

    def constant(self, array: Any) -> str:
        """The name of a further one; whole numbers stay as they are."""
        name = f"c{len(self._constants)}"
        self._constants[name] = np.asarray(array)
        return name

    def mean(self, name: str, *axes: int, keepdims: int = 1) -> str:
        """Along the last axis where none is named."""
        axes = axes or (-1,)
        if self.opset >= AXES_AS_INPUTS:
            return self("ReduceMean", name, self.constant(np.array(axes)), keepdims=keepdims)
        return self("ReduceMean", name, axes=list(axes), keepdims=keepdims)

    def model(self, *results: str, elem_type: int = onnx.TensorProto.FLOAT) -> Any:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(elem_type)
        given = [
            tensor(name, array if array.dtype.kind == "i" else array.astype(dtype))
            for name, array in ((name, np.asarray(each)) for name, each in self._constants.items())
        ]
        outputs = [value(name, None, elem_type) for name in results]
        inputs = [value("x", self._shape, elem_type)]
        return make_model(self.nodes, inputs, outputs, given, opset=self.opset)
