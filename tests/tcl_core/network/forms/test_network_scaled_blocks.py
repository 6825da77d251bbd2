"""A scale for each block, and weights of few bits: what onnxruntime makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.load import load_network
from tcl_core.network.operators import spell_out
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.network.contributed_cases import Case as Nodes
from tests.tcl_core.network.contributed_cases import agree, expected, floats, found, refused, whole

SIZE = (8, 12)
RANGES = {"INT8": (-128, 128), "UINT8": (0, 256), "INT4": (-8, 8), "UINT4": (0, 16)}
RANGES |= {"INT2": (-2, 2), "UINT2": (0, 4), "FLOAT8E4M3FN": (-9, 9), "FLOAT8E5M2": (-9, 9)}


def numbers(name: str, kind: str, shape: tuple[int, ...]) -> Any:
    array = whole(*shape, low=RANGES[kind][0], high=RANGES[kind][1], dtype=np.int64)
    return onnx.helper.make_tensor(name, getattr(onnx.TensorProto, kind), shape, array.ravel().tolist())


def product(
    tools: Any, kind: str, scales: tuple[int, ...], *, zero: bool = False, opset: int = 21, **attributes: Any
) -> Any:
    """A product by weights that are made of whole numbers."""
    weights = [numbers("q", kind, SIZE), tools.tensor("s", np.abs(floats(*scales)) + 0.01)]
    weights += [numbers("z", kind, scales)] if zero else []
    names = [each.name for each in weights]
    nodes = [
        tools.node("DequantizeLinear", names, ["w"], name="meant", **attributes),
        tools.node("MatMul", ["x", "w"], ["y"]),
    ]
    ends = [tools.value("x", [3, 8])], [tools.value("y", [3, 12])]
    return tools.model(nodes, *ends, weights, opset=opset)


def agrees(tools: Any, model: Any) -> None:
    given = {"x": floats(3, 8)}
    for ours, theirs in zip(found(tools.save(model), given), expected(model, given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("axis", "block"), [(0, 4), (1, 3), (-1, 5), (0, 8)])
@pytest.mark.parametrize(("kind", "zero"), [("INT8", True), ("UINT8", True), ("INT4", False), ("UINT4", True)])
def test_weights_with_a_scale_for_each_block_are_constants(
    tools: Any, kind: str, axis: int, block: int, zero: bool
) -> None:
    scales = list(SIZE)
    scales[axis] = -(-scales[axis] // block)
    model = product(tools, kind, tuple(scales), zero=zero, axis=axis, block_size=block)
    loaded = load_network(tools.save(model), NetworkConfig()).model
    simplified = simplify(spell_out(loaded, on_cpu=True), on_cpu=True).model
    assert [node.op_type for node in simplified.graph.node] == ["MatMul"]
    agrees(tools, model)


@pytest.mark.parametrize("opset", [21, 25])
@pytest.mark.parametrize(("kind", "scales"), [("INT4", ()), ("UINT4", (12,)), ("INT4", (1,))])
def test_weights_of_few_bits_may_have_one_scale_or_one_for_each_column(
    tools: Any, kind: str, scales: tuple[int, ...], opset: int
) -> None:
    agrees(tools, product(tools, kind, scales, zero=True, opset=opset, axis=1))


@pytest.mark.parametrize("kind", ["INT2", "UINT2", "FLOAT8E4M3FN", "FLOAT8E5M2"])
def test_weights_of_other_narrow_types(tools: Any, kind: str) -> None:
    agrees(tools, product(tools, kind, (8,), opset=25, axis=0))


def between(operator: str, given: dict[str, Any], result: int = onnx.TensorProto.FLOAT, **attributes: Any) -> Nodes:
    constants = [name for name in given if name != "x"]
    return Nodes(operator, given, constants=constants, types={"y": result}, domain="", opset=23, **attributes)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16])
def test_what_comes_in_is_rounded_with_the_scale_of_its_block(tools: Any, kind: Any) -> None:
    given = {"x": 9 * floats(4, 8), "s": np.abs(floats(4, 2)) + 0.01, "z": whole(4, 2, high=99, dtype=kind)}
    result = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    agree(tools, between("QuantizeLinear", given, result, axis=1, block_size=4))
    del given["z"]
    agree(tools, between("QuantizeLinear", given, result, axis=1, block_size=4, output_dtype=result))


def test_bytes_that_come_in_are_scaled_by_block(tools: Any) -> None:
    given = {"x": whole(4, 9), "s": floats(4, 3), "z": whole(4, 3)}
    agree(tools, between("DequantizeLinear", given, axis=1, block_size=3))


def test_what_is_rounded_by_block_to_few_bits_is_refused(tools: Any) -> None:
    case = between("QuantizeLinear", {"x": floats(2, 8), "s": floats(2, 2)}, axis=1, block_size=4)
    case.model.graph.node[0].attribute.append(onnx.helper.make_attribute("output_dtype", onnx.TensorProto.INT4))
    case.model.graph.node[0].output[0] = "few"
    case.model.graph.node.append(onnx.helper.make_node("Cast", ["few"], ["y"], to=onnx.TensorProto.FLOAT))
    refused(tools, case)
