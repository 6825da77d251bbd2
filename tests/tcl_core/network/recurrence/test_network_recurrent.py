"""Recurrent nodes step by step: onnxruntime's own results, and steps that are all alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.operators import unsupported_issues, unsupported_nodes
from tcl_core.network.recurrence.recurrent import MOST_STEPS, obstacle
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.conftest import CUDA_TARGET
from tests.tcl_core.network.recurrent_models import BATCH, FORMS, GATES, INPUTS, KINDS, STEPS, recurrent, run


def operators(model: Any) -> set[str]:
    return {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_it_gives_onnxruntimes_results(kind: str, form: dict[str, Any]) -> None:
    model = recurrent(kind, **form)
    unrolled = simplify(model).model
    assert kind not in operators(unrolled)
    for ours, theirs in zip(run(unrolled), run(model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "attributes"), KINDS)
def test_gates_of_other_kinds(kind: str, attributes: dict[str, Any]) -> None:
    model = recurrent(kind, **attributes)
    unrolled = simplify(model).model
    assert kind not in operators(unrolled)
    for ours, theirs in zip(run(unrolled), run(model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


MEMORY = "the last memory of sequences of different lengths"


@pytest.mark.parametrize(
    ("kind", "form", "reason"),
    [
        ("LSTM", {"clip": 1.0}, "clipped gates"),
        ("LSTM", {"input_forget": 1}, "coupled gates"),
        ("RNN", {"activations": ["Softsign"]}, "activations other than Sigmoid, Tanh and Relu"),
        (
            "LSTM",
            {"lengths": [STEPS, 2], "activations": ["Relu", "Tanh", "Tanh"]},
            f"{MEMORY} by gates other than Sigmoid",
        ),
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
    node.input[4] = "told"
    assert obstacle(node, constants, sizes) == f"{MEMORY} by gates other than Sigmoid"
    node.attribute.append(onnx.helper.make_attribute("layout", 1))
    assert obstacle(node, constants, sizes) == "layout 1"


def test_a_refusal_says_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "long.onnx"
    onnx.save(recurrent("RNN", steps=600, outputs=(False, True, False)), path)
    with pytest.raises(UserError, match=r"Node 'cell' \(RNN with 600 steps, 512 at most\) cannot be imported"):
        import_network(load_network(path, NetworkConfig()), CUDA_TARGET, NetworkConfig())


def test_what_nobody_reads_is_not_made() -> None:
    last_only = simplify(recurrent("LSTM", outputs=(False, True, False))).model
    assert "Concat" not in operators(last_only)
    assert "Concat" in operators(simplify(recurrent("LSTM", outputs=(True, False, False))).model)


def test_all_steps_are_the_same_tasks(tmp_path: Path) -> None:
    counts = []
    for steps in (6, 12):
        path = tmp_path / f"{steps}.onnx"
        onnx.save(recurrent("LSTM", steps=steps, outputs=(False, True, False)), path)
        imported = import_network(load_network(path, NetworkConfig()), CUDA_TARGET, NetworkConfig())
        counts.append(len(imported.tasks))
        assert max(task.weight for task in imported.tasks) >= steps - 1
    assert counts[0] == counts[1]
