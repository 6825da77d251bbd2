"""onnxruntime's own pairs, as its quantiser writes them for numbers of 16 and of 4 bits: what it computes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest

from tcl_core.errors import UserError
from tcl_core.network.onnx_graph.nodes import opset_of
from tcl_core.network.rewrites.standard_pairs import in_standard_pairs
from tests.tcl_core.network.contributed_cases import expected, floats, found

PROTO = onnx.TensorProto
RANGES = {"UINT16": 65535, "INT16": 32767, "UINT8": 255, "INT8": 127, "UINT4": 15, "INT4": 7}


class Network:
    """A product of what is rounded by weights of whole numbers, both between pairs, and a ReLU."""

    def __init__(self, tools: Any, values: str, weights: str, opset: int, *, columns: bool = False) -> None:
        self.tools, self.nodes, self.tensors = tools, [], []
        self.kinds = {"x": values, "y": values, "w": weights}
        most = RANGES[weights]
        whole = np.random.default_rng(1).integers(0, most + 1, (6, 5))
        self.tensors.append(onnx.helper.make_tensor("w", getattr(PROTO, weights), (6, 5), whole.ravel().tolist()))
        self.pair("DequantizeLinear", "w", "w.f", np.full(5, 1 / most) if columns else 1 / most, most // 2)
        for name, behind in (("x", "x.f"), ("h", "h.f")):
            if name == "h":
                self.nodes += [tools.node("MatMul", ["x.f", "w.f"], ["p"]), tools.node("Relu", ["p"], ["h"])]
            self.pair("QuantizeLinear", name, f"{name}.q", 7 / RANGES[values], RANGES[values] // 2, values)
            self.pair("DequantizeLinear", f"{name}.q", behind, 7 / RANGES[values], RANGES[values] // 2, values)
        ends = [tools.value("x", [3, 6])], [tools.value("h.f", [3, 5])]
        self.model = tools.model(self.nodes, *ends, self.tensors, opset=opset, domains=["com.microsoft"])

    def pair(self, operator: str, value: str, result: str, scale: Any, zero: int, kind: str = "") -> None:
        scales, of_columns = np.float32(scale), np.ndim(scale) > 0
        kind = kind or self.kinds[value]
        names = [f"{result}.scale", f"{result}.zero"]
        self.tensors += [
            self.tools.tensor(names[0], scales),
            onnx.helper.make_tensor(names[1], getattr(PROTO, kind), scales.shape, [zero] * scales.size),
        ]
        axis = {"axis": 1} if of_columns else {}
        node = onnx.helper.make_node(operator, [value, *names], [result], name=result, domain="com.microsoft", **axis)
        self.nodes.append(node)


@pytest.mark.parametrize("opset", [17, 21])
@pytest.mark.parametrize(
    ("values", "weights"),
    [
        ("UINT16", "INT8"),
        ("INT16", "UINT8"),
        ("INT16", "INT16"),
        ("UINT8", "INT8"),
        ("UINT8", "INT4"),
        ("INT8", "UINT4"),
    ],
)
def test_onnxruntimes_own_pairs_are_read_whatever_they_round_to(
    tools: Any, values: str, weights: str, opset: int
) -> None:
    model = Network(tools, values, weights, opset, columns=weights == "INT8").model
    given = {"x": 3 * floats(3, 6)}
    theirs = expected(model, given)[0]
    assert np.ptp(theirs) > 1
    np.testing.assert_allclose(found(tools.save(model), given)[0], theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("values", "opset"), [("UINT8", 17), ("UINT16", 21)])
def test_a_network_is_brought_to_a_newer_opset_for_other_numbers_than_bytes_alone(
    tools: Any, values: str, opset: int
) -> None:
    model = Network(tools, values, "INT8", 17).model
    made = in_standard_pairs(model)
    assert opset_of(made) == opset
    assert {node.domain for node in made.graph.node} == {""}
    assert {node.domain for node in model.graph.node} == {"", "com.microsoft"}
    assert in_standard_pairs(made) is made


def test_beside_operators_that_a_newer_opset_does_not_have_a_pair_of_other_numbers_is_refused_by_name(
    tools: Any,
) -> None:
    model = Network(tools, "UINT16", "INT8", 17).model
    relu = next(node for node in model.graph.node if node.op_type == "Relu")
    relu.op_type, relu.domain = "QuickGelu", "com.microsoft"
    with pytest.raises(UserError, match=r"'w.f' \(com.microsoft::DequantizeLinear\)"):
        found(tools.save(model), {"x": floats(3, 6)})
