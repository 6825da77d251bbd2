"""Models with loops, and pieces to make them of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper

from tests.tcl_core.network.conftest import make_model, tensor, value

node = onnx.helper.make_node
INT64, BOOL = onnx.TensorProto.INT64, onnx.TensorProto.BOOL
SIZE = (2, 3)
STEPS = 4
GOES_ON = node("Identity", ["before"], ["after"])
"""The condition of a loop's body, passed on."""
WEIGHT = np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32)


def number(name: str, array: Any) -> Any:
    return tensor(name, np.array(array))


def graph(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[str], weights: Sequence[Any] = ()) -> Any:
    return onnx.helper.make_graph(
        list(nodes), "g", list(inputs), [value(name, None) for name in outputs], list(weights)
    )


def body(
    nodes: Sequence[Any], carried: Sequence[Any], outputs: Sequence[str], weights: Sequence[Any] = (), inner: str = ""
) -> Any:
    """Of a loop: ``step`` and ``before`` are its inputs, ``after`` the first output. `inner` begins their names."""
    given = [value(f"{inner}step", [], INT64), value(f"{inner}before", [], BOOL), *carried]
    made = graph(nodes, given, [f"{inner}after", *outputs], weights)
    made.output[0].type.tensor_type.elem_type = BOOL
    return made


def recurrence(*, steps: int = STEPS, opset: int = 18, condition: bool = True) -> Any:
    """``h = tanh(h w + x[step])``, its last value and all of them; the weight is one of the graph around."""
    nodes = [
        node("MatMul", ["h", "w"], ["product"]),
        node("Gather", ["x", "step"], ["row"], axis=0),
        node("Add", ["product", "row"], ["sum"], name="sum"),
        node("Tanh", ["sum"], ["next"]),
        node("Identity", ["next"], ["each"]),
        GOES_ON,
    ]
    inner = body(nodes, [value("h", SIZE)], ["next", "each"])
    loop = node("Loop", ["steps", "first" if condition else "", "h0"], ["last", "all"], name="loop", body=inner)
    weights = [number("steps", steps), tensor("w", WEIGHT), *([number("first", True)] if condition else [])]
    inputs = [value("x", [steps, *SIZE]), value("h0", SIZE)]
    return make_model([loop], inputs, [value("last", SIZE), value("all", [steps, *SIZE])], weights, opset=opset)


def loop_of(
    nodes: Sequence[Any],
    results: Sequence[str] = ("v2",),
    *,
    weights: Sequence[Any] = (),
    opset: int = 18,
    **inputs: Any,
) -> Any:
    """A loop that makes ``y`` of ``x``, by a carried ``v``; `inputs` say which of its first ones there are."""
    names = {"steps": "steps", "first": "", **inputs}
    given = {"steps": number("steps", STEPS), **{each.name: each for each in weights}}
    loop = node(
        "Loop", [names["steps"], names["first"], "x"], ["y"], name="loop", body=body(nodes, [value("v", SIZE)], results)
    )
    return make_model([loop], [value("x", SIZE)], [value("y", SIZE)], list(given.values()), opset=opset)


def counted(*, first: bool = True, most: int | None = None, results: Sequence[str] = ("y",)) -> Any:
    """As a ``while`` becomes it: ends once a counter that grows by 2 is no longer below 9."""
    nodes = [
        node("Add", ["k", "two"], ["k2"]),
        node("Less", ["k2", "limit"], ["after"]),
        node("Cast", ["k"], ["factor"], to=onnx.TensorProto.FLOAT),
        node("Mul", ["v", "factor"], ["product"]),
        node("Tanh", ["product"], ["v2"]),
        node("Identity", ["v2"], ["each"]),
    ]
    inner = body(nodes, [value("v", SIZE), value("k", [], INT64)], ["v2", "k2", "each"])
    inner.output[2].type.tensor_type.elem_type = INT64
    weights = [number("first", first), number("k0", 1), number("two", 2), number("limit", 9)]
    weights += [] if most is None else [number("most", most)]
    loop = node(
        "Loop", ["" if most is None else "most", "first", "x", "k0"], ["y", "end", "all"], name="loop", body=inner
    )
    return make_model([loop], [value("x", SIZE)], [value(name, None) for name in results], weights)


def scan(*, opset: int = 18, **attributes: Any) -> Any:
    """Over two inputs of four steps each, with two results of them."""
    nodes = [
        node("Add", ["h", "a"], ["sum"]),
        node("Mul", ["sum", "b"], ["next"]),
        node("Transpose", ["next"], ["turned"]),
    ]
    inner = graph(nodes, [value(name, SIZE) for name in ("h", "a", "b")], ["next", "turned", "sum"])
    sizes = {"x": list(SIZE), "z": list(SIZE)}
    for size, axis in zip(sizes.values(), attributes.get("scan_input_axes", [0, 0]), strict=True):
        size.insert(axis % 3, STEPS)
    made = node(
        "Scan", ["h0", "x", "z"], ["last", "all", "more"], name="scan", body=inner, num_scan_inputs=2, **attributes
    )
    inputs = [value("h0", SIZE), *(value(name, size) for name, size in sizes.items())]
    return make_model([made], inputs, [value(name, None) for name in ("last", "all", "more")], opset=opset)
