"""Operators on whole numbers: the bytes of onnxruntime where sums are whole, a step from them at most elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1, "mcpu": "x86-64-v3"}
"""With an instruction that multiplies and adds, as onnxruntime has it."""
GENERATOR = np.random.default_rng(0)
UINT8, INT32, FLOAT = onnx.TensorProto.UINT8, onnx.TensorProto.INT32, onnx.TensorProto.FLOAT
ONE, EACH = np.float32(0.02), GENERATOR.uniform(0.01, 0.03, 16).astype(np.float32)


def weights(*shape: int) -> Any:
    """Few bits: onnxruntime's own sums of two bytes saturate on processors without VNNI."""
    return GENERATOR.integers(-40, 40, shape).astype(np.int8)


def network_of(
    tools: Any, nodes: list[Any], constants: dict[str, Any], shape: list[int], result: list[int], dtype: int = UINT8
) -> Path:
    tensors = [tools.tensor(name, value) for name, value in constants.items()]
    values = [tools.value("x", shape, UINT8)], [tools.value("y", result, dtype)]
    return Path(tools.save(tools.model(nodes, *values, tensors, domains=["com.microsoft"])))


def imported(path: Path) -> ImportedNetwork:
    config = NetworkConfig()
    network = import_network(load_network(path, config), json.dumps(CPU), config, 512)
    assert not network.report.issues
    return network


def off_by(path: Path, data: Any, inlined: Callable[[Any], Any]) -> Any:
    """By how much each number of the result differs from onnxruntime's."""
    module = inlined(imported(path).module)
    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target(CPU)), tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(data)).numpy()
    (expected,) = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": data})
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.ptp(expected) > 0
    return np.abs(found.astype(np.float64) - expected)


def bytes_of(*shape: int) -> Any:
    return GENERATOR.integers(0, 256, shape).astype(np.uint8)


SIDE = {"xs": np.float32(0.5), "xz": np.uint8(120)}
RESULT = {"ys": np.float32(7), "yz": np.uint8(99)}


@pytest.mark.parametrize(
    ("scale", "zero"),
    [
        (ONE, np.int8(0)),
        (EACH[:1], np.zeros(1, np.int8)),
        (ONE, np.int8(-5)),
        (EACH, np.zeros(16, np.int8)),
        (EACH, np.full(16, 3, np.int8)),
        (EACH, np.arange(-8, 8, dtype=np.int8)),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_a_convolution_gives_the_same_bytes(tools: Any, scale: Any, zero: Any, bias: bool) -> None:
    constants = {**SIDE, **RESULT, "w": weights(16, 8, 3, 3), "ws": scale, "wz": zero}
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    if bias:
        constants["b"] = GENERATOR.integers(-3000, 3000, 16).astype(np.int32)
        names.append("b")
    node = tools.node("QLinearConv", names, ["y"], pads=[1, 1, 0, 1], strides=[2, 1])
    assert (
        off_by(
            network_of(tools, [node], constants, [1, 8, 9, 7], [1, 16, 4, 7]), bytes_of(1, 8, 9, 7), tools.inlined
        ).max()
        == 0
    )


@pytest.mark.parametrize("scale", [ONE, EACH])
def test_a_product_gives_the_same_bytes(tools: Any, scale: Any) -> None:
    constants = {**SIDE, **RESULT, "w": weights(24, 16), "ws": scale, "wz": np.zeros(scale.shape, np.int8)}
    node = tools.node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])
    assert (
        off_by(network_of(tools, [node], constants, [2, 3, 24], [2, 3, 16]), bytes_of(2, 3, 24), tools.inlined).max()
        == 0
    )


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("rounded", [True, False])
def test_a_gemm_gives_the_same_bytes(tools: Any, turned: int, alpha: float, rounded: bool) -> None:
    weight = weights(16, 24) if turned else weights(24, 16)
    constants = {**SIDE, **RESULT, "w": weight, "ws": EACH, "wz": np.zeros(16, np.int8)}
    constants["b"] = GENERATOR.integers(-3000, 3000, 16).astype(np.int32)
    names = ["x", "xs", "xz", "w", "ws", "wz", "b", *(["ys", "yz"] if rounded else [])]
    node = tools.node("QGemm", names, ["y"], domain="com.microsoft", transB=turned, alpha=alpha)
    path = network_of(tools, [node], constants, [3, 24], [3, 16], UINT8 if rounded else FLOAT)
    assert off_by(path, bytes_of(3, 24), tools.inlined).max() <= (0 if rounded else 1e-4)


@pytest.mark.parametrize("zeros", [[], ["xz"], ["xz", "wz"]])
def test_an_integer_convolution_gives_the_same_sums(tools: Any, zeros: list[str]) -> None:
    constants = {"xz": np.uint8(120), "w": weights(16, 8, 3, 3), "wz": np.int8(3)}
    node = tools.node("ConvInteger", ["x", "w", *zeros], ["y"])
    path = network_of(tools, [node], constants, [1, 8, 6, 6], [1, 16, 4, 4], INT32)
    assert off_by(path, bytes_of(1, 8, 6, 6), tools.inlined).max() == 0


def integer_product(tools: Any, constants: dict[str, Any], zeros: list[str], *, cast: bool) -> Path:
    """A product of bytes of 3 rows, its sums cast to floats or read as they are."""
    nodes = [tools.node("MatMulInteger", ["x", "w", *zeros], ["sums"], name="product")]
    nodes += [tools.node("Cast", ["sums"], ["y"], to=FLOAT)] if cast else [tools.node("Identity", ["sums"], ["y"])]
    return network_of(tools, nodes, constants, [2, 3, 24], [2, 3, 16], FLOAT if cast else INT32)


@pytest.mark.parametrize(
    ("zeros", "wz"),
    [([], 0), (["xz"], 0), (["xz", "wz"], np.int8(3)), (["xz", "wz"], np.arange(16).astype(np.int8)), (["", "wz"], 3)],
)
def test_an_integer_product_read_as_floats_is_one_of_floats(tools: Any, zeros: list[str], wz: Any) -> None:
    constants = {"xz": np.uint8(120), "w": weights(24, 16), "wz": np.asarray(wz, np.int8)}
    path = integer_product(tools, constants, zeros, cast=True)
    simplified = imported(path).simplified().graph.node
    assert "MatMul" in {node.op_type for node in simplified}
    assert onnx.TensorProto.INT32 not in {each.i for node in simplified for each in node.attribute}
    assert off_by(path, bytes_of(2, 3, 24), tools.inlined).max() == 0


@pytest.mark.parametrize(("zeros", "cast"), [(["xz"], False), (["by_row"], True)])
def test_others_stay_whole(tools: Any, zeros: list[str], cast: bool) -> None:
    """Sums that are read as they are may be longer than a float is exact; zero points may be of rows."""
    constants = {"xz": np.uint8(120), "by_row": np.array([120, 3, 77], np.uint8), "w": weights(24, 16)}
    path = integer_product(tools, {name: constants[name] for name in ("w", *zeros)}, zeros, cast=cast)
    assert "MatMulInteger" in {node.op_type for node in imported(path).simplified().graph.node}
    if zeros == ["xz"]:  # onnxruntime has no zero points of rows
        assert off_by(path, bytes_of(2, 3, 24), tools.inlined).max() == 0


def test_a_dynamically_quantised_product_is_what_it_means(tools: Any) -> None:
    constants = {"w": weights(24, 16), "ws": ONE}
    nodes = [
        tools.node("Cast", ["x"], ["floats"], to=FLOAT),
        tools.node("DynamicQuantizeLinear", ["floats"], ["q", "qs", "qz"]),
        tools.node("MatMulInteger", ["q", "w", "qz"], ["sums"], name="product"),
        tools.node("Cast", ["sums"], ["total"], to=FLOAT),
        tools.node("Mul", ["qs", "ws"], ["scale"]),
        tools.node("Mul", ["total", "scale"], ["y"]),
    ]
    path = network_of(tools, nodes, constants, [2, 3, 24], [2, 3, 16], FLOAT)
    assert {"MatMul"} <= {node.op_type for node in imported(path).simplified().graph.node}
    assert off_by(path, bytes_of(2, 3, 24), tools.inlined).max() < 1e-2


@pytest.mark.parametrize(
    ("operator", "attributes", "size"),
    [
        ("QLinearAveragePool", {"kernel_shape": [2, 2], "strides": [2, 2]}, 4),
        ("QLinearGlobalAveragePool", {}, 1),
        ("QLinearLeakyRelu", {"alpha": 0.1}, 8),
        ("QLinearSigmoid", {}, 8),
        ("QLinearSoftmax", {"axis": -1, "opset": 13}, 8),
    ],
)
def test_what_reads_one_tensor_is_a_step_off_at_most(
    tools: Any, operator: str, attributes: dict[str, Any], size: int
) -> None:
    constants = {"xs": np.float32(0.05), "xz": np.uint8(120), "ys": np.float32(0.04), "yz": np.uint8(9)}
    node = tools.node(operator, ["x", "xs", "xz", "ys", "yz"], ["y"], domain="com.microsoft", **attributes)
    off = off_by(
        network_of(tools, [node], constants, [1, 4, 8, 8], [1, 4, size, size]), bytes_of(1, 4, 8, 8), tools.inlined
    )
    assert off.max() <= 1 and (off > 0).mean() < 0.05


@pytest.mark.parametrize(
    ("operator", "scales"),
    [
        ("QLinearAdd", (0.5, 0.02, 0.6)),
        ("QLinearAdd", (0.031, 0.047, 0.039)),
        ("QLinearAdd", (0.0313871, 0.0472203, 0.0391177)),
        ("QLinearMul", (0.5, 0.02, 1.3)),
    ],
)
def test_of_any_two_bytes_the_same_third(tools: Any, operator: str, scales: tuple[float, float, float]) -> None:
    """Sums and products that lie between two bytes among them, where every rounding counts."""
    constants = {"xs": scales[0], "ws": scales[1], "ys": scales[2]}
    constants = {name: np.float32(scale) for name, scale in constants.items()}
    constants |= {"xz": np.uint8(120), "wz": np.uint8(7), "yz": np.uint8(111)}
    nodes = [
        tools.node("Split", ["x"], ["a", "b"], axis=0, num_outputs=2),
        tools.node(operator, ["a", "xs", "xz", "b", "ws", "wz", "ys", "yz"], ["y"], domain="com.microsoft"),
    ]
    pairs = np.stack(np.meshgrid(*2 * [np.arange(256, dtype=np.uint8)]))
    assert off_by(network_of(tools, nodes, constants, [2, 256, 256], [1, 256, 256]), pairs, tools.inlined).max() == 0


@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
def test_of_a_scale_that_is_computed_a_step_off_at_most(tools: Any, operator: str) -> None:
    constants = {**SIDE, "ws": ONE, "wz": np.uint8(7), "w": bytes_of(1, 4, 8, 8), "yz": np.uint8(110)}
    nodes = [
        tools.node("Add", ["xs", "ws"], ["ys"]),
        tools.node(operator, ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], domain="com.microsoft"),
    ]
    off = off_by(network_of(tools, nodes, constants, [1, 4, 8, 8], [1, 4, 8, 8]), bytes_of(1, 4, 8, 8), tools.inlined)
    assert off.max() <= 1 and (off > 0).mean() < 0.05


def test_a_concatenation_brings_its_parts_to_one_scale(tools: Any) -> None:
    constants = {**SIDE, "w": bytes_of(1, 2, 8), "ws": np.float32(0.25), "wz": np.uint8(50)}
    constants |= {"ys": np.float32(0.6), "yz": np.uint8(110)}
    names = ["ys", "yz", "x", "xs", "xz", "w", "ws", "wz"]
    node = tools.node("QLinearConcat", names, ["y"], domain="com.microsoft", axis=1)
    assert (
        off_by(network_of(tools, [node], constants, [1, 3, 8], [1, 5, 8]), bytes_of(1, 3, 8), tools.inlined).max() <= 1
    )


def test_between_two_convolutions_bytes_stay_floats_in_blocks(tools: Any) -> None:
    shared = {**SIDE, "ws": ONE, "wz": np.int8(0), **RESULT}
    constants = {**shared, "v": weights(32, 16, 3, 3), "w": weights(16, 32, 3, 3)}
    nodes = [
        tools.node("QLinearConv", ["x", "xs", "xz", "v", "ws", "wz", "ys", "yz"], ["h"], pads=[1, 1, 1, 1]),
        tools.node("QLinearConv", ["h", "ys", "yz", "w", "ws", "wz", "ys", "yz"], ["y"], pads=[1, 1, 1, 1]),
    ]
    path = network_of(tools, nodes, constants, [1, 16, 8, 8], [1, 16, 8, 8])
    assert off_by(path, bytes_of(1, 16, 8, 8), tools.inlined).max() == 0
    names = [task.name for task in imported(path).tasks]
    assert sum("conv2d_NCHWc" in name for name in names) == 2
    assert sum("layout_transform" in name for name in names) == 2, "at both ends"
    assert not any("winograd" in name or "quantize" in name for name in names)


@pytest.mark.parametrize(
    ("operator", "changed", "attributes"),
    [
        ("QLinearMatMul", {"xs": np.full(4, 0.5, np.float32), "xz": np.zeros(4, np.uint8)}, {}),
        ("QLinearConv", {"ws": None}, {}),
        ("com.microsoft::QLinearSoftmax", {}, {"axis": 1, "opset": 12}),
        ("com.microsoft::QLinearAveragePool", {}, {"channels_last": 1, "kernel_shape": [1, 1]}),
    ],
)
def test_other_forms_are_refused_by_name(
    tools: Any, operator: str, changed: dict[str, Any], attributes: dict[str, Any]
) -> None:
    domain, _, name = operator.rpartition("::")
    product = "Softmax" not in name and "Pool" not in name
    constants = {**SIDE, "w": weights(4, 4) if name == "QLinearMatMul" else weights(4, 4, 1, 1)}
    constants |= {"ws": ONE, "wz": np.int8(0), **RESULT, **changed}
    constants, computed = {key: value for key, value in constants.items() if value is not None}, []
    if "ws" not in constants:
        nodes = [("Cast", ["x"], "floats", {"to": FLOAT}), ("ReduceMax", ["floats"], "ws", {"keepdims": 0})]
        computed = [tools.node(each, read, [made], **given) for each, read, made, given in nodes]
    names = ["x", "xs", "xz", *(["w", "ws", "wz"] if product else []), "ys", "yz"]
    node = tools.node(name, names, ["y"], name="odd", domain=domain, **attributes)
    path = network_of(tools, [*computed, node], constants, [1, 4, 4, 4], [1, 4, 4, 4])
    with pytest.raises(UserError, match=rf"Node 'odd' \({operator}\) cannot be imported by TVM"):
        imported(path)
