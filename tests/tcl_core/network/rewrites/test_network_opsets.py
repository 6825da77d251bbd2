"""Old opsets: what is brought to opset 13 computes what onnxruntime computes of the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import opset_of
from tcl_core.network.operators import spell_out
from tcl_core.network.rewrites.opsets import TARGET, raise_opset
from tests.tcl_core.network.conftest import compared

TARGET_JSON = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 1}'
SIZE = (1, 2, 7, 5)


def results(model: Any) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {
        each.name: np.random.default_rng(0).standard_normal(each.shape).astype(np.float32)
        for each in session.get_inputs()
    }
    return list(session.run(None, given))


def one_node(tools: Any, node: Any, opset: int, *constants: Any, outputs: tuple[Any, ...] = ()) -> Any:
    """A file of one node, as it is loaded."""
    given = outputs or (tools.value("y", None),)
    model = tools.model([node], [tools.value("x", SIZE)], given, constants, opset=opset)
    return load_network(tools.save(model), NetworkConfig()).model


def resized(tools: Any, operator: str, opset: int, mode: str, scales: tuple[float, ...]) -> Any:
    whole = (1.0, 1.0, *scales)
    if opset < 9:
        return one_node(tools, tools.node(operator, ["x"], ["y"], name="grow", mode=mode, scales=whole), opset)
    node = tools.node(operator, ["x", "s"], ["y"], name="grow", mode=mode)
    return one_node(tools, node, opset, tools.tensor("s", np.array(whole, np.float32)))


@pytest.mark.parametrize(
    ("operator", "opset", "mode", "scales"),
    [
        ("Upsample", 7, "nearest", (2, 3)),
        ("Upsample", 9, "nearest", (1.5, 2.7)),
        ("Upsample", 9, "linear", (2, 2)),
        ("Resize", 10, "nearest", (2, 1)),
        ("Resize", 10, "nearest", (0.4, 0.7)),
        ("Resize", 10, "nearest", (0.5, 2)),
        ("Resize", 10, "linear", (0.4, 1.7)),
    ],
)
def test_what_grows_and_shrinks_keeps_its_coordinates(
    tools: Any, operator: str, opset: int, mode: str, scales: tuple[float, ...]
) -> None:
    model = resized(tools, operator, opset, mode, scales)
    raised = raise_opset(model)
    assert opset_of(raised) == TARGET
    assert "grow" in {node.name for node in raised.graph.node if node.op_type == "Resize"}
    np.testing.assert_array_equal(results(raised)[0], results(model)[0])


def test_scales_that_are_computed_from_constants_are_found(tools: Any) -> None:
    parts = [tools.tensor("ones", np.ones(2, np.float32)), tools.tensor("fewer", np.array([0.4, 0.7], np.float32))]
    nodes = [
        tools.node("Concat", ["ones", "fewer"], ["s"], axis=0),
        tools.node("Resize", ["x", "s"], ["y"], name="shrink", mode="nearest"),
    ]
    model = tools.model(nodes, [tools.value("x", SIZE)], [tools.value("y", None)], parts, opset=10)
    loaded = load_network(tools.save(model), NetworkConfig()).model
    np.testing.assert_array_equal(results(raise_opset(loaded))[0], results(loaded)[0])


def test_scales_that_several_nodes_have_are_found_for_each(tools: Any) -> None:
    """As constants that exporters write anew for each node, and onnxruntime makes one of."""
    scales = tools.tensor("value", np.array([1, 1, 2, 2], np.float32))
    nodes = [
        tools.node("Constant", [], ["s"], value=scales),
        tools.node("Resize", ["x", "s"], ["h"], name="first", mode="nearest"),
        tools.node("Constant", [], ["t"], value=scales),
        tools.node("Resize", ["h", "t"], ["y"], name="second", mode="nearest"),
    ]
    model = tools.model(nodes, [tools.value("x", SIZE)], [tools.value("y", None)], opset=10)
    loaded = load_network(tools.save(model), NetworkConfig()).model
    raised = raise_opset(loaded)
    assert opset_of(raised) == TARGET
    np.testing.assert_array_equal(results(raised)[0], results(loaded)[0])


def test_what_no_new_operator_says_stays_as_it_is(tools: Any) -> None:
    """One axis rounds up, the other down."""
    model = resized(tools, "Resize", 10, "nearest", (0.4, 2))
    assert raise_opset(model) is model


@pytest.mark.parametrize(
    ("opset", "operator", "attributes"),
    [
        (9, "Slice", {"starts": [1, -3], "ends": [9999, -1], "axes": [2, 3]}),
        (7, "Softmax", {"axis": 1}),
        (12, "LogSoftmax", {"axis": 2}),
        (11, "Hardmax", {"axis": 1}),
        (10, "Clip", {"min": -0.5, "max": 0.5}),
        (10, "Pad", {"pads": [0, 0, 1, 1, 0, 0, 1, 2], "value": 0.5}),
        (12, "ReduceSum", {"axes": [1, 3], "keepdims": 0}),
        (12, "Unsqueeze", {"axes": [0]}),
    ],
)
def test_old_forms_compute_the_same(tools: Any, opset: int, operator: str, attributes: dict[str, Any]) -> None:
    model = one_node(tools, tools.node(operator, ["x"], ["y"], name="old", **attributes), opset)
    raised = spell_out(model)
    np.testing.assert_array_equal(results(raised)[0], results(model)[0])
    assert "old" in {node.name for node in raised.graph.node}
    assert all(node.name for node in raised.graph.node)


def test_the_largest_are_still_looked_for_and_the_file_stays(tools: Any) -> None:
    """TVM's frontend takes the attribute that opset 10 has not for one that says smallest."""
    whole = onnx.TensorProto.INT64
    node = tools.node("TopK", ["x", "k"], ["y", "at"], name="top", axis=-1)
    outputs = (tools.value("y", [1, 2, 7, 2]), tools.value("at", [1, 2, 7, 2], whole))
    model = one_node(tools, node, 10, tools.tensor("k", np.array([2])), outputs=outputs)
    before = model.SerializeToString()
    raised = spell_out(model)
    for got, wanted in zip(results(raised), results(model), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert opset_of(raised) == TARGET
    assert model.SerializeToString() == before


def test_weights_come_through(tools: Any) -> None:
    weight = np.random.default_rng(0).standard_normal((160, 160)).astype(np.float32)
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Slice", ["h"], ["y"], name="cut", starts=[0], ends=[3], axes=[1]),
    ]
    model = tools.model(
        nodes, [tools.value("x", [2, 160])], [tools.value("y", None)], [tools.tensor("w", weight)], opset=9
    )
    raised = spell_out(load_network(tools.save(model), NetworkConfig()).model)
    assert [node.name for node in raised.graph.node if node.op_type != "Constant"] == ["product", "cut"]
    assert [value.name for value in raised.graph.input] == ["x"]
    np.testing.assert_array_equal(results(raised)[0], results(model)[0])


def test_other_domains_and_new_opsets_stay_as_they_are(tools: Any) -> None:
    def model(opset: int, *domains: str) -> Any:
        node = tools.node("Odd" if domains else "Relu", ["x"], ["y"], domain="".join(domains))
        return tools.model([node], [tools.value("x", [2])], [tools.value("y", [2])], opset=opset, domains=domains)

    for stays in (model(9, "my.own"), model(TARGET)):
        assert raise_opset(stays) is stays


def test_what_the_converter_trips_over_stays_as_it_is(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def tripping(*_: Any) -> Any:
        raise RuntimeError("no adapter")

    monkeypatch.setattr(onnx.version_converter, "convert_version", tripping)
    model = one_node(tools, tools.node("Relu", ["x"], ["y"]), 9)
    assert raise_opset(model) is model


def test_a_network_of_old_operators_is_imported(tools: Any) -> None:
    nodes = [
        tools.node("Upsample", ["x", "s"], ["big"], mode="nearest"),
        tools.node("Slice", ["big"], ["cut"], starts=[1], ends=[9], axes=[2]),
        tools.node("Relu", ["cut"], ["y"]),
    ]
    scales = tools.tensor("s", np.array([1, 1, 2, 2], np.float32))
    model = tools.model(nodes, [tools.value("x", SIZE)], [tools.value("y", [1, 2, 8, 10])], [scales], opset=9)
    config = NetworkConfig()
    imported = import_network(load_network(tools.save(model), config), TARGET_JSON, config)
    assert imported.report.issues == ()
    assert imported.report.operators == (("Relu", 1), ("Slice", 1), ("Upsample", 1))


def test_constants_that_are_made_on_the_way_are_no_inputs(tools: Any) -> None:
    """In a file of IR version 3, where every initializer is one."""
    nodes = [tools.node("Slice", ["x"], ["cut"], starts=[1], ends=[9], axes=[2]), tools.node("Relu", ["cut"], ["y"])]
    model = tools.model(nodes, [tools.value("x", SIZE)], [tools.value("y", [1, 2, 6, 5])], opset=7)
    model.ir_version = 3
    config = NetworkConfig()
    imported = import_network(load_network(tools.save(model), config), TARGET_JSON, config)
    assert len(imported.module["main"].params) == 1


def test_a_normalization_of_training_goes_by_its_data(tools: Any) -> None:
    """Before opset 14 it is known by its five results."""
    numbers = {"scale": 2, "bias": 1, "mean": 5, "variance": 9}
    results = ["y", "new_mean", "new_variance", "saved_mean", "saved_variance"]
    node = tools.node("BatchNormalization", ["x", *numbers], results)
    constants = [tools.tensor(name, np.full(2, number, np.float32)) for name, number in numbers.items()]
    compared(tools.save(tools.model([node], [tools.value("x", SIZE)], [tools.value("y", SIZE)], constants, opset=9)))
