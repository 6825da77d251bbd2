"""Pools that round their sizes up: what stands behind them has the size that everyone makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.rewrites.pools import without_windows_in_padding

IN_PADDING = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}
"""Of 5 rows and columns: windows at -1, 1 and 3, and one at 5 that nobody has."""


def pooled(tools: Any, shape: list[int], *behind: Any, operator: str = "MaxPool", opset: int = 18, **given: Any) -> Any:
    pool = tools.node(operator, ["x"], ["p" if behind else "y"], name="pool", **{**IN_PADDING, **given})
    weights = [tools.tensor("w", np.random.default_rng(0).standard_normal((3, shape[1], 2, 2)).astype(np.float32))]
    outputs = [tools.value("y", None)]
    return tools.model([pool, *behind], [tools.value("x", shape)], outputs, weights if behind else [], opset=opset)


def sizes(model: Any) -> tuple[int, ...]:
    """What onnxruntime makes of it."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    return tuple(session.run(None, {"x": np.zeros(given.shape, np.float32)})[0].shape)


@pytest.mark.parametrize("opset", [13, 18, 22])
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_a_convolution_behind_is_padded_for_the_size_there_is(tools: Any, operator: str, opset: int) -> None:
    behind = tools.node("Conv", ["p", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2])
    tools.compared(tools.save(pooled(tools, [1, 2, 5, 5], behind, operator=operator, opset=opset)))


@pytest.mark.parametrize(
    ("shape", "given"),
    [
        ([1, 2, 5, 6], {}),
        ([1, 2, 5, 6], {"kernel_shape": [2, 3], "strides": [2, 4]}),
        ([1, 2, 7, 9], {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [0, 0, 1, 1]}),
        ([1, 2, 9, 9], {"kernel_shape": [3, 2], "strides": [4, 2], "dilations": [1, 1], "pads": [1, 1, 2, 1]}),
        ([1, 2, 5], {"kernel_shape": [2], "strides": [2], "pads": [1, 1]}),
    ],
)
def test_the_size_is_onnxruntimes(tools: Any, shape: list[int], given: dict[str, Any]) -> None:
    model = pooled(tools, shape, **given)
    path = tools.save(model)
    assert load_network(path, NetworkConfig()).network.outputs[0].shape == sizes(model)
    tools.compared(path)


def test_sizes_that_were_written_down_wrong_are_forgotten_pool_by_pool(tools: Any) -> None:
    again = tools.node("MaxPool", ["p"], ["y"], name="again", **IN_PADDING)
    model = pooled(tools, [1, 2, 9, 9], again)
    del model.graph.initializer[:]
    model = onnx.shape_inference.infer_shapes(model)
    assert [dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim] == [1, 2, 4, 4]
    loaded = load_network(tools.save(model), NetworkConfig())
    assert loaded.network.outputs[0].shape == (1, 2, 3, 3) == sizes(model)
    assert [attributes_of(node)["ceil_mode"] for node in loaded.model.graph.node] == [0, 0]


@pytest.mark.parametrize(
    ("shape", "given"),
    [
        ([1, 2, 5, 5], {"opset": 22}),
        ([1, 2, 6, 6], {"pads": [0, 0, 0, 0]}),
        ([1, 2, 5, 5], {"pads": [0, 0, 0, 0]}),
        ([1, 2, 5, 5], {"ceil_mode": 0}),
        ([1, 2, 5, 5], {"operator": "AveragePool", "count_include_pad": 1}),
        ([1, 2, "rows", 5], {}),
    ],
)
def test_other_pools_stay(tools: Any, shape: list[int], given: dict[str, Any]) -> None:
    model = pooled(tools, shape, **given)
    before = model.SerializeToString(deterministic=True)
    without_windows_in_padding(model)
    assert model.SerializeToString(deterministic=True) == before
