"""Recurrent nodes step by step: onnxruntime's own results, and steps that are all alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.operators import unsupported_issues, unsupported_nodes
from tcl_core.network.recurrent import MOST_STEPS, obstacle
from tcl_core.network.simplify import simplify

STEPS, BATCH, INPUTS, HIDDEN = 5, 2, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
GENERATOR = np.random.default_rng(0)


def recurrent(
    kind: str,
    *,
    direction: str = "forward",
    bias: bool = True,
    states: bool = False,
    lengths: list[int] | None = None,
    outputs: tuple[bool, bool, bool] = (True, True, True),
    steps: int = STEPS,
    opset: int = 18,
    **attributes: Any,
) -> Any:
    """A model of one recurrent node, all its results given out."""
    directions = 2 if direction == "bidirectional" else 1
    width = GATES[kind] * HIDDEN
    weights = {
        "W": GENERATOR.standard_normal((directions, width, INPUTS)),
        "R": GENERATOR.standard_normal((directions, width, HIDDEN)),
        "B": GENERATOR.standard_normal((directions, 2 * width)),
    }
    weights = {name: array.astype(np.float32) for name, array in weights.items() if name != "B" or bias}
    given = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    names = ["x", "W", "R", "B" if bias else "", ""]
    if lengths is not None:
        names[4] = "lengths"
        given.append(onnx.numpy_helper.from_array(np.array(lengths, np.int32), "lengths"))
    shapes = {"x": (steps, BATCH, INPUTS)}
    if states:
        for name in ("h0", "c0")[: 2 if kind == "LSTM" else 1]:
            names.append(name)
            shapes[name] = (directions, BATCH, HIDDEN)
    all_results = ("y", "yh", "yc")[: 3 if kind == "LSTM" else 2]
    results = [name if wanted else "" for name, wanted in zip(all_results, outputs, strict=False)]
    attributes |= {"hidden_size": HIDDEN, "direction": direction}
    node = onnx.helper.make_node(kind, names, results, name="cell", **attributes)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "recurrent",
        [value(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [value(name, onnx.TensorProto.FLOAT, None) for name in results if name],
        given,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)


def run(model: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(1)
    feeds = {value.name: generator.standard_normal(value.shape).astype(np.float32) for value in session.get_inputs()}
    return list(session.run(None, feeds))


def operators(model: Any) -> set[str]:
    return {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"bias": False},
        {"direction": "reverse"},
        {"direction": "bidirectional", "states": True},
        {"states": True, "opset": 9},
        {"lengths": [STEPS, STEPS]},
        {"steps": 40},
        {"outputs": (False, True, False)},
        {"steps": 1, "direction": "bidirectional"},
    ],
    ids=str,
)
def test_it_gives_onnxruntimes_results(kind: str, form: dict[str, Any]) -> None:
    model = recurrent(kind, **form)
    unrolled = simplify(model).model
    assert kind not in operators(unrolled)
    for ours, theirs in zip(run(unrolled), run(model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("GRU", {"linear_before_reset": 1}),
        ("GRU", {"linear_before_reset": 1, "bias": False, "direction": "bidirectional"}),
        ("RNN", {"activations": ["Relu"]}),
        ("LSTM", {"activations": ["Sigmoid", "Relu", "Tanh"]}),
    ],
)
def test_gates_of_other_kinds(kind: str, attributes: dict[str, Any]) -> None:
    model = recurrent(kind, **attributes)
    unrolled = simplify(model).model
    assert kind not in operators(unrolled)
    for ours, theirs in zip(run(unrolled), run(model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "form", "reason"),
    [
        ("LSTM", {"clip": 1.0}, "clipped gates"),
        ("LSTM", {"input_forget": 1}, "coupled gates"),
        ("RNN", {"activations": ["Softsign"]}, "activations other than Sigmoid, Tanh and Relu"),
        ("GRU", {"lengths": [STEPS, 2]}, "sequences of different lengths"),
        ("RNN", {"steps": MOST_STEPS + 1}, f"{MOST_STEPS + 1} steps, {MOST_STEPS} at most"),
        ("GRU", {"steps": 300, "direction": "bidirectional"}, "300 steps in both directions, 256 at most"),
    ],
)
def test_what_is_not_known_stays_and_the_reason_is_said(kind: str, form: dict[str, Any], reason: str) -> None:
    unrolled = simplify(recurrent(kind, **form)).model
    assert [node.op_type for node in unsupported_nodes(unrolled)] == [kind]
    assert [issue.operator for issue in unsupported_issues(unrolled)] == [f"{kind} with {reason}"]


def test_reasons_of_what_onnxruntime_does_not_run_either() -> None:
    model = recurrent("LSTM")
    (node,) = model.graph.node
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    sizes = {"x": (STEPS, BATCH, INPUTS)}
    assert obstacle(node, constants, sizes) == ""
    assert obstacle(node, constants, {"x": (-1, BATCH, INPUTS)}) == "an input whose size is not known"
    assert obstacle(node, {}, sizes) == "weights that are computed"
    node.attribute.append(onnx.helper.make_attribute("layout", 1))
    assert obstacle(node, constants, sizes) == "layout 1"


def test_a_refusal_says_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "long.onnx"
    onnx.save(recurrent("RNN", steps=600, outputs=(False, True, False)), path)
    with pytest.raises(UserError, match=r"Node 'cell' \(RNN with 600 steps, 512 at most\) cannot be imported"):
        import_network(load_network(path, NetworkConfig()), '{"kind": "llvm"}', NetworkConfig())


def test_what_nobody_reads_is_not_made() -> None:
    last_only = simplify(recurrent("LSTM", outputs=(False, True, False))).model
    assert "Concat" not in operators(last_only)
    assert "Concat" in operators(simplify(recurrent("LSTM", outputs=(True, False, False))).model)


def test_all_steps_are_the_same_tasks(tmp_path: Path) -> None:
    counts = []
    for steps in (6, 12):
        path = tmp_path / f"{steps}.onnx"
        onnx.save(recurrent("LSTM", steps=steps, outputs=(False, True, False)), path)
        imported = import_network(
            load_network(path, NetworkConfig()), '{"kind": "llvm", "num-cores": 2}', NetworkConfig(), 256
        )
        counts.append(len(imported.tasks))
        assert max(task.weight for task in imported.tasks) >= steps - 1
    assert counts[0] == counts[1]
