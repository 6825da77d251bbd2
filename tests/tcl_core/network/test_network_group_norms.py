"""Group normalisations are folded around, and come out as themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.operators import spell_out
from tcl_core.network.simplify import simplify

TARGET = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 1}'
SIZE = [2, 6, 4, 3]


def normalised(tools: Any, elem_type: int = onnx.TensorProto.FLOAT) -> Any:
    """Identity, a group normalisation of 6 channels in 3 groups, ReLU; scale and bias differ by channel."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(elem_type)
    weights = [tools.tensor("scale", np.arange(1, 7).astype(dtype)), tools.tensor("bias", np.arange(6).astype(dtype))]
    nodes = [
        tools.node("Identity", ["x"], ["same"]),
        tools.node("GroupNormalization", ["same", "scale", "bias"], ["h"], name="norm", num_groups=3, epsilon=0.1),
        tools.node("Relu", ["h"], ["y"]),
    ]
    values = [tools.value(name, SIZE, elem_type) for name in ("x", "y")]
    model = tools.model(nodes, values[:1], values[1:], weights, opset=21)
    return load_network(tools.save(model), NetworkConfig())


def result(model: Any) -> Any:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    return session.run(None, {"x": given})[0]


def test_a_group_norm_is_simplified_and_stays_one_node(tools: Any) -> None:
    loaded = normalised(tools)
    inlined = spell_out(loaded.model)
    assert "InstanceNormalization" in {node.op_type for node in inlined.graph.node}
    simplified = simplify(inlined).model
    assert [(node.op_type, node.name) for node in simplified.graph.node] == [
        ("GroupNormalization", "norm"),
        ("Relu", "Relu_2"),
    ]
    for model in (inlined, simplified):
        np.testing.assert_allclose(result(model), result(loaded.model), rtol=1e-5, atol=1e-5)


def test_it_is_one_task_without_an_issue(tools: Any) -> None:
    imported = import_network(normalised(tools), TARGET, NetworkConfig())
    assert imported.report.issues == ()
    assert [task.weight for task in imported.tasks] == [1]


@pytest.mark.parametrize("elem_type", [onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE])
def test_of_other_types_it_stays_as_it_is(tools: Any, elem_type: int) -> None:
    model = normalised(tools, elem_type).model
    assert spell_out(model).graph.node == model.graph.node
