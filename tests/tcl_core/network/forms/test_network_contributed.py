"""Operators of onnxruntime's own: what onnxruntime makes of them, by operators of the standard."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import LAYER_NORM, OWN, RMS_NORM
from tcl_core.network.operators import spell_out
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.network.conftest import make_model, tensor, value
from tests.tcl_core.network.contributed_cases import (
    GENERATOR,
    TARGET,
    Case,
    X,
    agree,
    expected,
    floats,
    found,
    refused,
    whole,
)

PICTURE = {X: floats(1, 3, 6, 6), "w": floats(4, 3, 3, 3)}
ROWS = {X: floats(2, 5, 24)}
SKIP = {**ROWS, "skip": floats(2, 5, 24), "scale": floats(24)}
WHOLE = {X: whole(2, 3, 24), "w": whole(24, 16, low=-128, high=128, dtype=np.int8)}
SCALES = {"xs": np.float32(0.02), "ws": GENERATOR.uniform(0.01, 0.03, 16).astype(np.float32)}
DYNAMIC = {**ROWS, "w": WHOLE["w"], "ws": SCALES["ws"]}
ZEROS = {"xz": np.uint8(120), "wz": np.int8(3)}


def packed(rows: int, columns: int, block: int, bits: int = 4) -> dict[str, Any]:
    blocks = -(-columns // block)
    return {
        X: floats(3, columns),
        "w": whole(rows, blocks, block * bits // 8),
        "scales": GENERATOR.uniform(0.01, 0.03, rows * blocks).astype(np.float32),
    }


def few_bits(given: dict[str, Any], block: int, names: Sequence[str] | None = None, bits: int = 4) -> Case:
    rows, columns = given["w"].shape[0], given[X].shape[-1]
    constants = [name for name in given if name != X]
    sizes = {"K": columns, "N": rows, "block_size": block, "bits": bits}
    return Case("MatMulNBits", given, names=names, constants=constants, **sizes)


EMBEDDED = {
    X: whole(2, 5, high=20, dtype=np.int32),
    "parts": whole(2, 5, high=2, dtype=np.int32),
    "words": floats(20, 24),
    "places": floats(8, 24),
    "kinds": floats(2, 24),
    "scale": floats(24),
    "bias": floats(24),
}
MASKED = {**EMBEDDED, "mask": (np.arange(10).reshape(2, 5) < 7).astype(np.int32)}
COUNTED = {"count": onnx.TensorProto.INT32}
CASES = [
    Case("FusedConv", PICTURE, activation="Relu", pads=[1] * 4),
    Case("FusedConv", {**PICTURE, "b": floats(4)}, activation="Clip", activation_params=[-0.5, 0.5], strides=[2, 2]),
    Case("FusedConv", PICTURE, activation="Clip", activation_params=[-0.5, 0.5], opset=10),
    Case("FusedConv", PICTURE, activation="LeakyRelu", activation_params=[0.2]),
    Case("FusedConv", PICTURE, activation="HardSigmoid", activation_params=[0.3, 0.4]),
    Case("FusedConv", {**PICTURE, "b": floats(4), "z": floats(1, 4, 4, 4)}, activation="Relu"),
    Case("FusedConv", PICTURE),
    Case("FusedGemm", {X: floats(3, 8), "w": floats(8, 5), "b": floats(5)}, activation="Relu", alpha=0.5),
    Case("FusedGemm", {X: floats(3, 8), "w": floats(5, 8)}, activation="LeakyRelu", activation_alpha=0.2, transB=1),
    Case("FusedMatMul", {X: floats(2, 3, 4), "w": floats(4, 5)}, alpha=0.25),
    Case("QuickGelu", ROWS),
    Case("QuickGelu", ROWS, alpha=1.0),
    Case("Gelu", ROWS),
    Case("BiasGelu", {**ROWS, "b": floats(24)}),
    Case("FastGelu", ROWS),
    Case("FastGelu", {**ROWS, "b": floats(24)}),
    Case("SkipLayerNormalization", {**SKIP, "bias": floats(24)}),
    Case("SkipLayerNormalization", {**SKIP, "bias": floats(24), "before": floats(24)}, epsilon=0.1),
    Case("SkipLayerNormalization", SKIP, results=("y", "", "", "sum")),
    Case("SkipLayerNormalization", {**SKIP, "skip": floats(5, 24), "bias": floats(24)}),
    Case("SkipSimplifiedLayerNormalization", SKIP, epsilon=1e-3),
    Case("SkipSimplifiedLayerNormalization", {**SKIP, "before": floats(24)}, results=("y", "", "", "sum")),
    Case("SimplifiedLayerNormalization", {**ROWS, "scale": floats(24)}, domain="", epsilon=1e-3),
    Case("SimplifiedLayerNormalization", {**ROWS, "scale": floats(24)}, domain="", opset=18, axis=2),
    Case("LayerNormalization", {**ROWS, "scale": floats(24)}, domain="", opset=12),
    Case("LayerNormalization", {**ROWS, "scale": floats(24), "bias": floats(24)}, domain="", opset=16, axis=2),
    Case("DynamicQuantizeMatMul", DYNAMIC, constants=["w", "ws"]),
    Case(
        "DynamicQuantizeMatMul",
        {**DYNAMIC, "wz": np.arange(16).astype(np.int8), "b": floats(16)},
        constants=["w", "ws", "wz", "b"],
    ),
    Case("MatMulIntegerToFloat", {**WHOLE, **SCALES}, constants=["w", "xs", "ws"]),
    Case("MatMulIntegerToFloat", {**WHOLE, **SCALES, **ZEROS}, constants=["w", "xs", "ws", "xz", "wz"]),
    Case(
        "MatMulIntegerToFloat",
        {**WHOLE, **SCALES, "b": floats(16)},
        names=[X, "w", "xs", "ws", "", "", "b"],
        constants=["w", "xs", "ws", "b"],
    ),
    few_bits(packed(6, 64, 16), 16),
    few_bits(packed(6, 50, 32), 32),
    few_bits({**packed(6, 96, 32), "zeros": whole(6 * 2)}, 32),
    few_bits({**packed(6, 96, 32), "zeros": GENERATOR.uniform(0, 15, 18).astype(np.float32)}, 32),
    few_bits({**packed(6, 64, 32), "b": floats(6)}, 32, [X, "w", "scales", "", "", "b"]),
    few_bits(packed(6, 64, 32, bits=8), 32, bits=8),
    few_bits({**packed(6, 64, 32, bits=8), "zeros": whole(6 * 2)}, 32, bits=8),
    few_bits({**packed(6, 64, 32), X: floats(3, 3, 64)}, 32),
    few_bits({**packed(16, 64, 32), X: floats(2, 1, 64), "zeros": whole(16)}, 32),
    Case("EmbedLayerNormalization", EMBEDDED, results=("y", "count"), types=COUNTED),
    Case("EmbedLayerNormalization", MASKED, results=("y", "count", "sum"), types=COUNTED),
    Case("EmbedLayerNormalization", MASKED, results=("y", "count"), types=COUNTED, opset=12),
    Case(
        "EmbedLayerNormalization",
        {**EMBEDDED, "at": whole(2, 5, high=8, dtype=np.int32)},
        names=[*EMBEDDED, "", "at"],
        results=("y", "count"),
        types=COUNTED,
        epsilon=0.1,
    ),
    Case(
        "EmbedLayerNormalization",
        {name: EMBEDDED[name] for name in (X, "words", "places", "scale", "bias")},
        names=[X, "", "words", "places", "", "scale", "bias"],
        results=("y", "count"),
        types=COUNTED,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_are_onnxruntimes(tools: Any, case: Case) -> None:
    agree(tools, case)


@pytest.mark.parametrize("scales", [(2,), (2, 32)], ids=str)
def test_an_lstm_of_whole_weights_computes_with_what_they_mean(tools: Any, scales: tuple[int, ...]) -> None:
    """What is multiplied with them onnxruntime also rounds."""
    weights = {name: whole(2, rows, 32, low=-99, high=99, dtype=np.int8) for name, rows in {"w": 6, "r": 8}.items()}
    meant = {f"{name}s": GENERATOR.uniform(0.002, 0.004, scales).astype(np.float32) for name in weights}
    # onnxruntime takes no zero points of columns.
    zeros = {f"{name}z": np.full(scales, -7 if len(scales) == 1 else 0, np.int8) for name in weights}
    given = {X: floats(5, 1, 6), **weights, "b": 0.1 * floats(2, 64), **meant, **zeros}
    names = [X, "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"]
    recurrent = {"hidden_size": 8, "direction": "bidirectional", "results": ("y", "h", "c")}
    case = Case("DynamicQuantizeLSTM", given, names=names, constants=[n for n in given if n != X], **recurrent)
    agree(tools, case, tolerance=0.02)

    def floating(name: str) -> Any:
        scale, zero = (part.reshape(2, 1, -1) for part in (given[f"{name}s"], given[f"{name}z"].astype(np.float32)))
        return ((given[name] - zero) * scale).astype(np.float32).transpose(0, 2, 1)

    exact = {X: given[X], "w": floating("w"), "r": floating("r"), "b": given["b"]}
    plain = Case("LSTM", exact, constants=["w", "r", "b"], domain="", **recurrent)
    mine = found(Path(tools.save(case.model)), case.given)
    for each, theirs in zip(mine, expected(plain.model, plain.given), strict=True):
        np.testing.assert_allclose(each, theirs, rtol=1e-4, atol=1e-4)


def test_lstms_whose_last_states_alone_are_read_have_weights_of_their_own(tools: Any) -> None:
    """Their first result has no name that new ones could begin with."""
    weights = {name: whole(1, 8, 32, low=-99, high=99, dtype=np.int8) for name in "abcd"}
    weights |= {f"{name}s": np.full(1, 0.01, np.float32) for name in "abcd"}
    weights |= {f"{name}z": np.zeros(1, np.int8) for name in "abcd"}
    domain = {"domain": "com.microsoft", "hidden_size": 8}
    nodes = [
        tools.node(
            "DynamicQuantizeLSTM", [X, w, r, *[""] * 5, f"{w}s", f"{w}z", f"{r}s", f"{r}z"], ["", last], last, **domain
        )
        for w, r, last in ("abh", "cdi")
    ]
    results, tensors = [value(name, [1, 1, 8]) for name in "hi"], [tensor(*each) for each in weights.items()]
    made = spell_out(make_model(nodes, [value(X, [3, 1, 8])], results, tensors, domains=["com.microsoft"])).graph
    names = [name for node in made.node for name in node.output if name] + [each.name for each in made.initializer]
    assert len({*names}) == len(names)
    assert [node.name for node in made.node if node.op_type == "LSTM"] == ["h.lstm", "i.lstm"]


@pytest.mark.parametrize("turned", list(product([0, 1], repeat=4)), ids=str)
def test_products_of_what_is_turned(tools: Any, turned: tuple[int, int, int, int]) -> None:
    batch, last = turned[:2], turned[2:]

    def stored(rows: int, columns: int, at: int) -> Any:
        """[2, 3, rows, columns], as the operator is given it."""
        wanted = floats(2, 3, rows, columns)
        wanted = wanted.swapaxes(2, 3) if last[at] else wanted
        return np.ascontiguousarray(wanted.transpose(2, 0, 1, 3)) if batch[at] else wanted

    given = {X: stored(4, 5, 0), "w": stored(5, 6, 1)}
    names = ("transBatchA", "transBatchB", "transA", "transB")
    agree(tools, Case("FusedMatMul", given, alpha=0.5, **dict(zip(names, turned, strict=True))))


@pytest.mark.parametrize(
    ("operator", "names", "norm"),
    [
        ("SkipLayerNormalization", ["scale", "bias"], LAYER_NORM),
        ("SkipSimplifiedLayerNormalization", ["scale"], RMS_NORM),
    ],
)
def test_a_normalisation_is_one_again(operator: str, names: list[str], norm: str) -> None:
    given = {**SKIP, "bias": floats(24)}
    kept = {name: given[name] for name in (X, "skip", *names)}
    simplified = simplify(spell_out(Case(operator, kept, constants=names).model), on_cpu=True).model
    assert [(node.domain, node.op_type) for node in simplified.graph.node] == [("", "Add"), (OWN, norm)]


def test_what_stands_behind_an_operator_that_shapes_stop_at(tools: Any) -> None:
    """To turn the second product's side its rank has to be known, which it is once the first is spelled out."""
    nodes = [
        tools.node("FusedMatMul", ["x", "x"], ["scores"], domain="com.microsoft", transB=1),
        tools.node("FusedMatMul", ["scores", "x"], ["y"], domain="com.microsoft", transA=1),
    ]
    model = make_model(nodes, [value("x", [2, 3, 4])], [value("y", [2, 3, 4])], domains=["com.microsoft"])
    given = {X: floats(2, 3, 4)}
    (mine,) = found(Path(tools.save(model)), given)
    np.testing.assert_allclose(mine, expected(model, given)[0], rtol=1e-4, atol=1e-4)


def test_what_onnxruntimes_optimiser_wrote_has_the_tasks_of_what_it_read(tools: Any, tmp_path: Path) -> None:
    weights = [tensor("v", floats(16, 3, 3, 3)), tensor("w", floats(16, 16, 1, 1)), tensor("b", floats(16))]
    weights += [tensor("low", np.float32(0)), tensor("high", np.float32(6))]
    nodes = [
        tools.node("Conv", ["x", "v", "b"], ["c"], pads=[1] * 4),
        tools.node("Clip", ["c", "low", "high"], ["d"]),
        tools.node("Conv", ["d", "w"], ["e"]),
        tools.node("Add", ["e", "d"], ["f"]),
        tools.node("Relu", ["f"], ["y"]),
    ]
    model = make_model(nodes, [value("x", [1, 3, 8, 8])], [value("y", [1, 16, 8, 8])], weights)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath, options.log_severity_level = str(tmp_path / "optimised.onnx"), 3
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    assert "FusedConv" in {node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node}
    paths = [Path(tools.save(model)), tmp_path / "optimised.onnx"]
    networks = [import_network(load_network(each, NetworkConfig()), TARGET, NetworkConfig(), 256) for each in paths]
    assert {task.key for task in networks[0].tasks} == {task.key for task in networks[1].tasks}


@pytest.mark.parametrize(
    "case",
    [
        Case("SkipLayerNormalization", SKIP, results=("y", "mean")),
        Case("FusedGemm", {X: floats(3, 8), "w": floats(8, 5)}, activation="Softplus"),
        Case("QuickGelu", {X: floats(2, 5, 24).astype(np.float64)}),
    ],
    ids=repr,
)
def test_other_forms_are_refused_by_name(tools: Any, case: Case) -> None:
    refused(tools, case)


def test_what_is_spelled_out_may_read_what_is_given_out(tools: Any) -> None:
    nodes = [tools.node("Relu", ["x"], ["h"]), tools.node("QuickGelu", ["h"], ["y"], domain="com.microsoft")]
    outputs = [value(name, [2, 8]) for name in "hy"]
    model = make_model(nodes, [value("x", [2, 8])], outputs, domains=["com.microsoft"])
    tools.compared(tools.save(model))


def test_a_network_without_any_is_left_as_it_is(tools: Any) -> None:
    model = make_model([tools.node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])
    assert spell_out(model) is model
