"""Pairs around an operator: the bytes of onnxruntime, which makes an operator on whole numbers of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import opset_of
from tcl_core.network.quantization.pairs import join_pairs
from tests.tcl_core.network.control_flow_models import graph

CPU = {"kind": "llvm", "num-cores": 1, "mcpu": "x86-64-v3"}
GENERATOR = np.random.default_rng(0)
UINT8 = onnx.TensorProto.UINT8
SCALES = {
    "x": (0.037, 120),
    "w": (0.021, 0),
    "h": (0.913, 0),
    "y": (0.91, 0),
    "v": (0.043, 110),
    "b": (0.037 * 0.021, 0),
}


class Pairs:
    """A network from bytes to bytes, of float operators between pairs."""

    def __init__(self, tools: Any, **scales: tuple[Any, int]) -> None:
        self.tools = tools
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.scales = {**SCALES, **scales}

    def parameters(self, name: str, dtype: Any) -> list[str]:
        scale, zero = self.scales[name]
        zeros = np.full(np.shape(scale), zero, dtype)
        self.tensors += [self.tools.tensor(f"{name}.s", np.float32(scale)), self.tools.tensor(f"{name}.z", zeros)]
        return [f"{name}.s", f"{name}.z"]

    def opened(self, name: str, values: Any = None, dtype: Any = np.uint8) -> str:
        """The floats of an input's bytes, or of a constant's."""
        if values is not None:
            self.tensors.append(self.tools.tensor(name, values.astype(dtype)))
        axis = {"axis": 0} if np.ndim(self.scales[name][0]) else {}
        inputs = [name, *self.parameters(name, dtype)]
        self.nodes.append(self.tools.node("DequantizeLinear", inputs, [f"{name}.f"], **axis))
        return f"{name}.f"

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.tools.node(operator, inputs, [output], name=output, **attributes))
        return output

    def closed(self, value: str, name: str = "y") -> str:
        return self.add("QuantizeLinear", [value, *self.parameters(name, np.uint8)], name)

    def again(self, name: str) -> str:
        """The floats of bytes that were made here, as each of their readers has them."""
        output = f"{name}.f{len(self.nodes)}"
        self.nodes.append(self.tools.node("DequantizeLinear", [name, f"{name}.s", f"{name}.z"], [output]))
        return output

    def model(self, shape: list[int], *results: str) -> Any:
        outputs = [self.tools.value(name, None, UINT8 if name == "y" else 1) for name in ("y", *results)]
        return self.tools.model(self.nodes, [self.tools.value("x", shape, UINT8)], outputs, self.tensors)


def off_by(tools: Any, model: Any, shape: list[int]) -> Any:
    """By how much each number of the first result differs from onnxruntime's."""
    path, data = Path(tools.save(model)), GENERATOR.integers(0, 256, shape).astype(np.uint8)
    config = NetworkConfig()
    network = import_network(load_network(path, config), json.dumps(CPU), config, 256)
    assert not network.report.issues
    machine = relax.VirtualMachine(tvm.compile(tools.inlined(network.module), tvm.target.Target(CPU)), tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(data))
    found = (found if hasattr(found, "numpy") else found[0]).numpy()
    expected = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": data})[0]
    assert np.ptp(expected) > 0
    return np.abs(found.astype(np.int32) - expected.astype(np.int32))


def weights(*shape: int) -> Any:
    """Few bits: onnxruntime's own sums of two bytes saturate on processors without VNNI."""
    return GENERATOR.integers(-40, 40, shape)


def operators(model: Any) -> list[str]:
    return [each.node.op_type for each in join_pairs(model.graph, opset_of(model))]


CHANNELS = GENERATOR.uniform(0.01, 0.03, 16).astype(np.float32)


@pytest.mark.parametrize("scale", [0.021, CHANNELS])
@pytest.mark.parametrize("activation", ["", "Relu", "Clip"])
@pytest.mark.parametrize("bias", [False, True])
def test_a_convolution_and_what_follows_it(tools: Any, scale: Any, activation: str, bias: bool) -> None:
    pairs = Pairs(tools, w=(scale, 0), b=(np.float32(0.037) * np.float32(scale), 0))
    inputs = [pairs.opened("x"), pairs.opened("w", weights(16, 8, 3, 3), np.int8)]
    if bias:
        inputs.append(pairs.opened("b", GENERATOR.integers(-3000, 3000, 16), np.int32))
    last = pairs.add("Conv", inputs, "c", pads=[1, 1, 1, 1])
    if activation:
        bounds = {"low": np.float32(0), "high": np.float32(300)} if activation == "Clip" else {}
        pairs.tensors += [tools.tensor(name, bound) for name, bound in bounds.items()]
        last = pairs.add(activation, [last, *bounds], "a")
    pairs.closed(last)
    model = pairs.model([1, 8, 9, 9])
    assert operators(model) == ["QLinearConv"]
    assert off_by(tools, model, [1, 8, 9, 9]).max() == 0


def test_a_block_with_its_sum_and_mean(tools: Any) -> None:
    pairs = Pairs(tools, h=(0.9, 7), v=(1.1, 101), y=(1.07, 33), k=(0.021, 0))
    pairs.closed(pairs.add("Conv", [pairs.opened("x"), pairs.opened("w", weights(16, 16, 3, 3), np.int8)], "c1"), "h")
    pairs.closed(pairs.add("Conv", [pairs.again("h"), pairs.opened("k", weights(16, 16, 1, 1), np.int8)], "c2"), "v")
    pairs.scales["s"] = (2.3, 90)
    pads = {"auto_pad": "SAME_UPPER"}
    pairs.nodes[2].attribute.extend([onnx.helper.make_attribute(name, value) for name, value in pads.items()])
    pairs.closed(pairs.add("Add", [pairs.again("h"), pairs.again("v")], "sum"), "s")
    pairs.closed(pairs.add("GlobalAveragePool", [pairs.again("s")], "mean"))
    model = pairs.model([1, 16, 8, 8])
    assert operators(model) == ["QLinearConv", "QLinearConv", "QLinearAdd", "QLinearGlobalAveragePool"]
    assert off_by(tools, model, [1, 16, 8, 8]).max() == 0


@pytest.mark.parametrize("operator", ["MatMul", "Gemm"])
def test_a_product(tools: Any, operator: str) -> None:
    pairs = Pairs(tools)
    inputs = [pairs.opened("x"), pairs.opened("w", weights(24, 16), np.int8)]
    if operator == "Gemm":
        inputs.append(pairs.opened("b", GENERATOR.integers(-3000, 3000, 16), np.int32))
    pairs.closed(pairs.add(operator, inputs, "p"))
    model = pairs.model([3, 24])
    assert operators(model) == ["QGemm" if operator == "Gemm" else "QLinearMatMul"]
    assert off_by(tools, model, [3, 24]).max() == 0


@pytest.mark.parametrize("scale", [1 / 255, 2 / 255])
def test_probabilities_are_counted_in_whole_steps(tools: Any, scale: float) -> None:
    """Of the first scale 254 to a whole, of the second one 127: every larger one is a step less than it should be."""
    pairs = Pairs(tools, y=(scale, 0))
    pairs.closed(pairs.add("Softmax", [pairs.opened("x")], "p", axis=-1))
    model = pairs.model([1, 64, 5])
    assert operators(model) == ["QLinearSoftmax"]
    assert (off_by(tools, model, [1, 64, 5]) > 0).mean() < 0.005


def convolved(tools: Any, **scales: tuple[Any, int]) -> Pairs:
    pairs = Pairs(tools, **scales)
    pairs.add("Conv", [pairs.opened("x"), pairs.opened("w", weights(16, 8, 3, 3), np.int8)], "c")
    return pairs


def test_what_is_read_elsewhere_too_stays(tools: Any) -> None:
    pairs = convolved(tools)
    pairs.closed("c")
    assert operators(pairs.model([1, 8, 9, 9], "c")) == []


def test_what_a_branch_reads_too_stays(tools: Any) -> None:
    pairs = convolved(tools)
    pairs.closed("c")
    assert operators(pairs.model([1, 8, 9, 9])) == ["QLinearConv"]
    branch = graph([tools.node("Neg", ["c"], ["r"])], [], ["r"])
    pairs.nodes.append(tools.node("If", ["known"], ["z"], then_branch=branch, else_branch=branch))
    assert operators(pairs.model([1, 8, 9, 9], "z")) == []


def test_an_activation_that_cuts_more_than_the_bytes_stays(tools: Any) -> None:
    pairs = convolved(tools, y=(0.91, 100))
    pairs.closed(pairs.add("Relu", ["c"], "a"))
    assert operators(pairs.model([1, 8, 9, 9])) == []


def test_a_bias_in_floats_stays(tools: Any) -> None:
    pairs = convolved(tools)
    pairs.tensors.append(tools.tensor("b", np.zeros(16, np.float32)))
    pairs.nodes[-1].input.append("b")
    pairs.closed("c")
    assert operators(pairs.model([1, 8, 9, 9])) == []


@pytest.mark.parametrize("scale", [0.037 * 0.021 * 2, 0.037 * 0.021])
def test_a_bias_in_another_scale_stays(tools: Any, scale: float) -> None:
    pairs = convolved(tools, b=(scale, 0))
    conv = pairs.nodes.pop()
    conv.input.append(pairs.opened("b", np.arange(16), np.int32))
    pairs.nodes.append(conv)
    pairs.closed("c")
    assert len(operators(pairs.model([1, 8, 9, 9]))) == (scale < 0.001)


@pytest.mark.parametrize(("axis", "joined"), [(0, 1), (1, 0)])
def test_scales_along_what_is_summed_up_stay(tools: Any, axis: int, joined: int) -> None:
    pairs = convolved(tools, w=(CHANNELS[:8], 0))
    pairs.nodes[1].attribute[0].i = axis
    pairs.closed("c")
    assert len(operators(pairs.model([1, 8, 9, 9]))) == joined


def test_sides_that_are_no_bytes_stay(tools: Any) -> None:
    pairs = Pairs(tools)
    pairs.closed(pairs.add("Add", [pairs.opened("x"), "x.f"], "sum"))
    assert operators(pairs.model([2, 3])) == ["QLinearAdd"]
    pairs.nodes[1].input[1] = "other"
    assert operators(pairs.model([2, 3])) == []
