"""Operators that the standard defines by others: the definition computes the same, and its nodes have names."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.inliner
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network import operators
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.rewrites.simplify import simplify

TARGET = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 1}'


def results(model: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {
        each.name: np.random.default_rng(0).standard_normal(each.shape).astype(np.float32)
        for each in session.get_inputs()
    }
    return list(session.run(None, given))


def swish(tools: Any) -> Any:
    nodes = [tools.node("Relu", ["x"], ["h"]), tools.node("Swish", ["h"], ["y"], name="gate")]
    return tools.model(nodes, [tools.value("x", [2, 3])], [tools.value("y", [2, 3])], opset=24)


def rotary(tools: Any) -> Any:
    """[batch, heads, tokens, size]: the tables are constants, and nothing is left of the size that is not rotated."""
    angles = np.arange(8, dtype=np.float32).reshape(1, 4, 2)
    tables = [tools.tensor("cos", np.cos(angles)), tools.tensor("sin", np.sin(angles))]
    node = tools.node("RotaryEmbedding", ["x", "cos", "sin"], ["y"], name="turn")
    shape = [1, 2, 4, 4]
    return tools.model([node], [tools.value("x", shape)], [tools.value("y", shape)], tables, opset=23)


def attention(tools: Any, *more: str, weights: tuple[Any, ...] = (), outputs: int = 1) -> Any:
    shape = [1, 2, 4, 8]
    inputs = [name for name in ("q", "k", "v", *more) if name and name != "mask"]
    results = ["y", "keys", "values"][:outputs]
    node = tools.node("Attention", ["q", "k", "v", *more], results, name="mix")
    values = [tools.value(name, shape) for name in inputs]
    return tools.model([node], values, [tools.value(name, None) for name in results], weights, opset=23)


def with_mask(tools: Any) -> Any:
    mask = np.array([[True, False, True, column % 2] for column in range(4)], bool)
    return attention(tools, "mask", weights=(tools.tensor("mask", mask),))


def with_cache(tools: Any) -> Any:
    """The mask, in the middle of the inputs, is left out."""
    return attention(tools, "", "past_keys", "past_values", outputs=3)


@pytest.mark.parametrize("make", [swish, rotary, with_mask, with_cache])
def test_the_definition_computes_the_same_and_is_imported(tools: Any, make: Any) -> None:
    config = NetworkConfig()
    loaded = load_network(tools.save(make(tools)), config)
    inlined = operators.spell_out(loaded.model)
    assert not operators.unsupported_nodes(inlined)
    for got, wanted in zip(results(inlined), results(loaded.model), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    assert import_network(loaded, TARGET, config).report.issues == ()


def test_new_nodes_are_named_after_the_one_they_stand_for(tools: Any) -> None:
    loaded = load_network(tools.save(swish(tools)), NetworkConfig())
    names = [node.name for node in operators.spell_out(loaded.model).graph.node]
    assert names[0] == "Relu_0"
    assert names[1:] == [
        f"gate.{kind}{at}" for at, kind in enumerate(("constant", "castlike", "mul", "sigmoid", "mul"))
    ]


def test_the_loaded_model_stays(tools: Any) -> None:
    model = load_network(tools.save(rotary(tools)), NetworkConfig()).model
    before = model.SerializeToString()
    assert simplify(operators.spell_out(model)).empty == ()
    assert model.SerializeToString() == before


def test_what_the_inliner_trips_over_is_refused_by_name(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def tripping(*_: Any, **__: Any) -> Any:
        raise RuntimeError("inliner.cc:418: Assertion `false` failed")

    monkeypatch.setattr(onnx.inliner, "inline_selected_functions", tripping)
    config = NetworkConfig()
    loaded = load_network(tools.save(with_mask(tools)), config)
    with pytest.raises(UserError, match=r"Node 'mix' \(Attention\) cannot be imported by TVM"):
        import_network(loaded, TARGET, config)


def test_a_function_that_hands_on_what_its_call_says(tools: Any) -> None:
    """As onnxscript writes them; without the value in the call the standard's default holds."""
    leaky = onnx.helper.make_node("LeakyRelu", ["given"], ["made"])
    leaky.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    opsets = [onnx.helper.make_opsetid("", 18)]
    calls = [tools.node("Leak", ["x"], ["h"], domain="my", slope=0.5), tools.node("Leak", ["h"], ["y"], domain="my")]
    model = tools.model(calls, [tools.value("x", [2, 3])], [tools.value("y", [2, 3])], domains=["my"])
    model.functions.append(onnx.helper.make_function("my", "Leak", ["given"], ["made"], [leaky], opsets, ["slope"]))
    tools.compared(tools.save(model))


@pytest.mark.parametrize(
    ("domain", "operator", "called"),
    [
        ("", "Relu", False),
        ("ai.onnx", "Celu", False),
        ("com.microsoft", "QuickGelu", False),
        ("com.microsoft", "Minus", True),
    ],
)
def test_a_function_with_the_name_of_an_operator_is_not_called(
    tools: Any, domain: str, operator: str, called: bool
) -> None:
    """Nor does onnxruntime call it."""
    opsets = [onnx.helper.make_opsetid("", 18)]
    body = [tools.node("Neg", ["given"], ["made"])]
    model = tools.model(
        [tools.node(operator, ["x"], ["y"], domain=domain)],
        [tools.value("x", [2, 3])],
        [tools.value("y", [2, 3])],
        domains=["com.microsoft"],
    )
    model.functions.append(onnx.helper.make_function(domain, operator, ["given"], ["made"], body, opsets))
    path = tools.save(model)
    tools.compared(path)
    assert bool(load_network(path, NetworkConfig()).model.functions) is called
