"""Models of one recurrent node, and what onnxruntime makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime

from tcl_core.network.recurrence.recurrence_kernel import Cell

STEPS, BATCH, INPUTS, HIDDEN = 5, 2, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(
    kind: str,
    *,
    direction: str = "forward",
    bias: bool = True,
    states: bool = False,
    lengths: list[int] | None = None,
    outputs: tuple[bool, bool, bool] = (True, True, True),
    steps: int = STEPS,
    inputs: int = INPUTS,
    hidden: int = HIDDEN,
    opset: int = 18,
    **attributes: Any,
) -> Any:
    """A model of one recurrent node, all its results given out."""
    directions = 2 if direction == "bidirectional" else 1
    width = GATES[kind] * hidden
    generator = np.random.default_rng(0)
    weights = {
        "W": generator.standard_normal((directions, width, inputs)),
        "R": generator.standard_normal((directions, width, hidden)),
        "B": generator.standard_normal((directions, 2 * width)),
    }
    weights = {name: array.astype(np.float32) for name, array in weights.items() if name != "B" or bias}
    given = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    names = ["x", "W", "R", "B" if bias else "", ""]
    if lengths is not None:
        names[4] = "lengths"
        given.append(onnx.numpy_helper.from_array(np.array(lengths, np.int32), "lengths"))
    shapes = {"x": (steps, BATCH, inputs)}
    if states:
        for name in ("h0", "c0")[: 2 if kind == "LSTM" else 1]:
            names.append(name)
            shapes[name] = (directions, BATCH, hidden)
    all_results = ("y", "yh", "yc")[: 3 if kind == "LSTM" else 2]
    results = [name if wanted else "" for name, wanted in zip(all_results, outputs, strict=False)]
    attributes |= {"hidden_size": hidden, "direction": direction}
    node = onnx.helper.make_node(kind, names, results, name="cell", **attributes)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "recurrent",
        [value(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [value(name, onnx.TensorProto.FLOAT, None) for name in results if name],
        given,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)


def inputs_of(model: Any) -> dict[str, Any]:
    """By name, at random."""
    generator = np.random.default_rng(1)
    shapes = {each.name: [dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in model.graph.input}
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def run(model: Any) -> list[Any]:
    """What onnxruntime makes of them."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, inputs_of(model)))


FORMS: list[dict[str, Any]] = [
    {},
    {"bias": False},
    {"direction": "reverse"},
    {"direction": "bidirectional", "states": True},
    {"states": True, "opset": 9},
    {"lengths": [STEPS, STEPS]},
    {"steps": 40},
    {"outputs": (False, True, False)},
    {"steps": 1, "direction": "bidirectional"},
]
"""Of any kind."""
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("GRU", {"linear_before_reset": 1}),
    ("GRU", {"linear_before_reset": 1, "bias": False, "direction": "bidirectional"}),
    ("RNN", {"activations": ["Relu"]}),
    ("RNN", {"activations": ["Tanh", "Tanh"]}),  # the standard's default, for one direction, too
    ("LSTM", {"activations": ["Sigmoid", "Relu", "Tanh"]}),
]
"""Whose gates are not as the kind has them."""
LSTM = Cell(
    kind="LSTM",
    steps=4,
    batch=3,
    hidden=16,
    backwards=False,
    activations=("Sigmoid", "Tanh", "Tanh"),
    reset_after=False,
)
GRU = replace(LSTM, kind="GRU", activations=("Sigmoid", "Tanh"))
"""Cells to make kernels of."""
