from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest

from tcl_core.network import operators


@pytest.mark.parametrize(
    ("domain", "operator", "expected"),
    [
        ("", "Conv", True),
        ("ai.onnx", "MatMul", True),
        ("", "If", True),
        ("", "LSTM", False),
        ("", "Attention", False),
        ("com.microsoft", "Attention", False),
        ("com.microsoft", "Conv", False),
        ("com.microsoft", "Gelu", True),
        ("my.own", "Relu", False),
    ],
)
def test_domains_are_told_apart(domain: str, operator: str, expected: bool) -> None:
    assert operators.supported(domain, operator) is expected


def test_operators_are_counted(tools: Any) -> None:
    model = tools.model(
        [
            tools.node("Relu", ["x"], ["a"]),
            tools.node("Relu", ["a"], ["b"]),
            tools.node("Odd", ["b"], ["y"], domain="my.own"),
        ],
        [tools.value("x", [2])],
        [tools.value("y", [2])],
        domains=["my.own"],
    )
    assert operators.count_operators(model) == (("Relu", 2), ("my.own::Odd", 1))


def test_local_functions_are_inlined(tools: Any) -> None:
    model = tools.model(
        [tools.node("Twice", ["x"], ["y"], domain="local")],
        [tools.value("x", [2])],
        [tools.value("y", [2])],
        domains=["local"],
    )
    body = [tools.node("Add", ["a", "a"], ["b"])]
    function = onnx.helper.make_function("local", "Twice", ["a"], ["b"], body, [onnx.helper.make_opsetid("", 18)])
    model.functions.append(function)
    assert [node.op_type for node in operators.spell_out(model).graph.node] == ["Add"]


def test_a_function_that_calls_itself_stays_and_is_named(tools: Any) -> None:
    values = [tools.value("x", [2])], [tools.value("y", [2])]
    model = tools.model([tools.node("Ever", ["x"], ["y"], domain="local", name="call")], *values, domains=["local"])
    body = [tools.node("Ever", ["a"], ["b"], domain="local")]
    opsets = [onnx.helper.make_opsetid("local", 1)]
    model.functions.append(onnx.helper.make_function("local", "Ever", ["a"], ["b"], body, opsets))
    assert [issue.node for issue in operators.unsupported_issues(operators.spell_out(model))] == ["call"]


def test_operators_that_the_standard_defines_by_others_are_expanded(tools: Any) -> None:
    shape = [1, 2, 8, 4]
    model = tools.model(
        [tools.node("Attention", ["q", "k", "v"], ["y"])],
        [tools.value(name, shape) for name in "qkv"],
        [tools.value("y", shape)],
        opset=23,
    )
    expanded = operators.spell_out(model)
    assert not operators.unsupported_nodes(expanded)
    assert "MatMul" in {node.op_type for node in expanded.graph.node}


def test_branches_are_looked_into(tools: Any) -> None:
    def branch(operator: str) -> Any:
        node = tools.node(operator, ["x"], ["z"], name=f"inner_{operator}")
        return onnx.helper.make_graph([node], "branch", [], [tools.value("z", [2])])

    model = tools.model(
        [tools.node("If", ["c"], ["y"], then_branch=branch("Relu"), else_branch=branch("Det"))],
        [tools.value("c", [], onnx.TensorProto.BOOL), tools.value("x", [2])],
        [tools.value("y", [2])],
    )
    assert [issue.node for issue in operators.unsupported_issues(model)] == ["inner_Det"]


@pytest.mark.parametrize("read", [("y",), ("y", "mean", "variance")])
def test_running_means_of_a_normalization_in_training_are_refused_by_name(tools: Any, read: tuple[str, ...]) -> None:
    names = ("s", "b", "m", "v")
    node = tools.node(
        "BatchNormalization", ["x", *names], ["y", "mean", "variance"], name="norm", training_mode=1, momentum=0.9
    )
    ends = [tools.value("x", [2, 3, 4])], [tools.value(name, [2, 3, 4] if name == "y" else [3]) for name in read]
    model = tools.model([node], *ends, [tools.tensor(name, np.ones(3, np.float32)) for name in names])
    issues = operators.unsupported_issues(model)
    assert [(issue.node, issue.mend) for issue in issues] == [("norm", "export the network for inference")][
        : len(read) - 1
    ]


@pytest.mark.parametrize(
    ("rate", "training", "mend"),
    [
        (0.5, True, "export the network for inference"),
        (0.5, None, "fix the input that tells whether to train (--value training=0)"),
        (0.5, False, ""),
        (0.0, True, ""),
    ],
)
def test_what_drops_at_random_is_refused(tools: Any, rate: float, training: bool | None, mend: str) -> None:
    """And so is what a run tells to drop: TVM's frontend never does."""
    inputs, weights = [tools.value("x", [2])], [tools.tensor("rate", np.float32(rate))]
    if training is None:
        inputs.append(tools.value("training", [], onnx.TensorProto.BOOL))
    else:
        weights.append(tools.tensor("training", np.array(training)))
    node = tools.node("Dropout", ["x", "rate", "training"], ["y"], name="drop")
    model = tools.model([node], inputs, [tools.value("y", [2])], weights)
    assert [issue.mend for issue in operators.unsupported_issues(model)] == [mend][: bool(mend)]
