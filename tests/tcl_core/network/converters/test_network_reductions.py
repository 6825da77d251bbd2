from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest

from tests.tcl_core.network.agreement import BOOL, INT64, agree, module_of


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[-1], [1, 2], [1]])
def test_the_greatest_of_a_row(tools: Any, keepdims: int, axes: list[int]) -> None:
    shape = [(1 if keepdims else 0) if at in {axis % 3 for axis in axes} else size for at, size in enumerate((2, 3, 4))]
    model = tools.model(
        [tools.node("ReduceMax", ["x", "axes"], ["y"], keepdims=keepdims)],
        [tools.value("x", [2, 3, 4])],
        [tools.value("y", [size for size in shape if size])],
        [tools.tensor("axes", np.array(axes))],
    )
    agree(tools.save(model), np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32))


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[1], [0], [0, 2], [-2, -1], []])
def test_where_all_is_minus_infinity_nothing_is_greater(tools: Any, axes: list[int], keepdims: int) -> None:
    nodes = [tools.node("ReduceMax", ["x", "axes"], ["y"], keepdims=keepdims)]
    values = [tools.value("x", [2, 3, 2])], [tools.value("y", None)]
    model = tools.model(nodes, *values, [tools.tensor("axes", np.array(axes, np.int64))])
    data = np.full((2, 3, 2), -np.inf, np.float32)
    path = tools.save(model)
    agree(path, data)
    data[1, 1, 1] = np.finfo(np.float32).min
    agree(path, data)


def test_the_greatest_of_a_pictures_places_is_relaxs_own(tools: Any) -> None:
    """Which a layout moves through; of its channels it is ours."""
    nodes = [
        tools.node("ReduceMax", ["x", "places"], ["y"]),
        tools.node("ReduceMax", ["x", "channels"], ["z"]),
    ]
    axes = [tools.tensor("places", np.array([2, 3])), tools.tensor("channels", np.array([1]))]
    outputs = [tools.value(name, None) for name in "yz"]
    path = tools.save(tools.model(nodes, [tools.value("x", [1, 2, 3, 4])], outputs, axes))
    agree(path, np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype(np.float32))
    assert sum("greatest" in name.name_hint for name in module_of(path).get_global_vars()) == 1


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
def test_the_greatest_and_the_least_of_truths(tools: Any, operator: str) -> None:
    nodes = [tools.node(operator, ["x", "axes"], ["y"])]
    axes = [tools.tensor("axes", np.array([1]))]
    model = tools.model(nodes, [tools.value("x", [3, 2], BOOL)], [tools.value("y", [3, 1], BOOL)], axes, opset=20)
    agree(tools.save(model), np.array([[0, 0], [0, 1], [1, 1]], bool))


def test_an_attention_gives_zeros_for_what_is_masked_altogether(tools: Any) -> None:
    shape, mask = [1, 2, 4, 8], np.ones((4, 4), np.bool_)
    mask[1] = False
    model = tools.model(
        [tools.node("Attention", ["q", "k", "v", "mask"], ["y"])],
        [tools.value(name, shape) for name in "qkv"] + [tools.value("mask", [4, 4], BOOL)],
        [tools.value("y", shape)],
        opset=23,
    )
    generator = np.random.default_rng(0)
    inputs = [generator.normal(size=shape).astype(np.float32) for _ in "qkv"]
    (found,) = agree(tools.save(model), *inputs, mask)
    assert not found[:, :, 1].any() and found[:, :, 0].all()


def test_axes_in_an_empty_list_are_all(tools: Any) -> None:
    """PyTorch's older exporter writes one for the maximum of everything; the frontend takes it for no attribute."""
    everything = tools.node("ReduceMax", ["x"], ["y"], keepdims=0)
    everything.attribute.append(onnx.helper.make_attribute("axes", [], attr_type=onnx.AttributeProto.INTS))
    model = tools.model([everything], [tools.value("x", [3, 4])], [tools.value("y", [])], opset=17)
    (found,) = agree(tools.save(model), np.arange(12, dtype=np.float32).reshape(3, 4))
    assert found.item() == 11


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("operator", ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean"])
@pytest.mark.parametrize("axes", [[1], [-1, 0], []])
def test_reductions_of_whole_numbers_are_cut_off(tools: Any, operator: str, dtype: Any, axes: list[int]) -> None:
    """The frontend knows roots and logarithms of floats alone, and made 64 bits of a mean of 32."""
    kind, keepdims = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), int(axes != [1])
    node = tools.node(operator, ["x", "axes"], ["y"], keepdims=keepdims)
    values = [tools.value("x", [6, 40], kind)], [tools.value("y", None, kind)]
    data = np.random.default_rng(0).integers(-1, 2, (6, 40))
    data[0] = 3  # as many of the greatest as have a logarithm
    if operator == "ReduceLogSum":
        data = abs(data) + 1
    path = tools.save(tools.model([node], *values, [tools.tensor("axes", np.array(axes, np.int64))]))
    agree(path, data.astype(dtype))


def test_the_logarithm_of_whole_numbers_powers_in_an_old_opset(tools: Any) -> None:
    node = tools.node("ReduceLogSumExp", ["x"], ["y"], keepdims=0, axes=[0])
    values = [tools.value("x", [40, 3], INT64)], [tools.value("y", [3], INT64)]
    path = tools.save(tools.model([node], *values, opset=13))
    agree(path, np.random.default_rng(0).integers(0, 3, (40, 3)))
