"""Operators of onnxruntime's own: what onnxruntime makes of them, by operators of the standard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
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
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.nodes import LAYER_NORM, OWN, RMS_NORM
from tcl_core.network.operators import spell_out
from tcl_core.network.simplify import simplify
from tests.tcl_core.network.conftest import make_model, tensor, value

TARGET = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 1}'
GENERATOR = np.random.default_rng(0)
X = "x"


def floats(*shape: int) -> Any:
    return GENERATOR.standard_normal(shape).astype(np.float32)


def whole(*shape: int, low: int = 0, high: int = 256, dtype: Any = np.uint8) -> Any:
    return GENERATOR.integers(low, high, shape).astype(dtype)


class Case:
    """One node between inputs and results.

    Attributes:
        given: arrays by input name; all but those in `constants` are inputs of the network.
    """

    def __init__(
        self,
        operator: str,
        given: Mapping[str, Any],
        *,
        names: Sequence[str] | None = None,
        constants: Sequence[str] = (),
        results: Sequence[str] = ("y",),
        domain: str = "com.microsoft",
        opset: int = 17,
        **attributes: Any,
    ) -> None:
        node = onnx.helper.make_node(
            operator, list(given if names is None else names), list(results), name="it", domain=domain, **attributes
        )
        self.given = {name: array for name, array in given.items() if name not in constants}
        kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in given.items()}
        inputs = [value(name, array.shape, kinds[name]) for name, array in self.given.items()]
        outputs = [value(name, None) for name in results if name]
        weights = [tensor(name, given[name]) for name in constants]
        self.model = make_model([node], inputs, outputs, weights, opset=opset, domains=["com.microsoft"])
        self.label = f"{operator}-{'-'.join(map(str, [*given, *attributes.values(), *results]))}"

    def __repr__(self) -> str:
        return self.label


def expected(model: Any, given: Mapping[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(given)))


def found(path: Path, given: Mapping[str, Any]) -> list[Any]:
    network = import_network(load_network(path, NetworkConfig()), TARGET, NetworkConfig(), 256)
    assert network.report.issues == ()
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(TARGET)), tvm.cpu())
    results = machine["main"](*(tvm.runtime.tensor(given[each.name]) for each in network.network.inputs))
    return [each.numpy() for each in ([results] if isinstance(results, tvm.runtime.Tensor) else results)]


def agree(tools: Any, case: Case, tolerance: float = 1e-4) -> None:
    theirs = expected(case.model, case.given)
    for array, name in zip(theirs, case.model.graph.output, strict=True):  # the loader settles shapes by running, too
        name.type.tensor_type.shape.CopyFrom(value("", array.shape).type.tensor_type.shape)
    for mine, each in zip(found(Path(tools.save(case.model)), case.given), theirs, strict=True):
        np.testing.assert_allclose(mine, each, rtol=tolerance, atol=tolerance)


PICTURE = {X: floats(1, 3, 6, 6), "w": floats(4, 3, 3, 3)}
ROWS = {X: floats(2, 5, 24)}
SKIP = {**ROWS, "skip": floats(2, 5, 24), "scale": floats(24)}
WHOLE = {X: whole(2, 3, 24), "w": whole(24, 16, low=-128, high=128, dtype=np.int8)}
SCALES = {"xs": np.float32(0.02), "ws": GENERATOR.uniform(0.01, 0.03, 16).astype(np.float32)}
DYNAMIC = {**ROWS, "w": WHOLE["w"], "ws": SCALES["ws"]}
ZEROS = {"xz": np.uint8(120), "wz": np.int8(3)}
HEADS = {X: floats(2, 5, 24), "k": floats(2, 7, 24), "v": floats(2, 7, 24)}
PAST = {"pk": floats(2, 4, 3, 6), "pv": floats(2, 4, 3, 6)}
PRESENT = ("y", "present_key", "present_value")


def packed(rows: int, columns: int, block: int, bits: int = 4) -> dict[str, Any]:
    blocks = -(-columns // block)
    return {
        X: floats(3, columns),
        "w": whole(rows, blocks, block * bits // 8),
        "scales": GENERATOR.uniform(0.01, 0.03, rows * blocks).astype(np.float32),
    }


def few_bits(given: dict[str, Any], block: int, names: Sequence[str] | None = None, bits: int = 4) -> Case:
    rows, columns = given["w"].shape[0], given[X].shape[1]
    constants = [name for name in given if name != X]
    sizes = {"K": columns, "N": rows, "block_size": block, "bits": bits}
    return Case("MatMulNBits", given, names=names, constants=constants, **sizes)


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
    Case("MultiHeadAttention", HEADS, num_heads=4),
    Case("MultiHeadAttention", {**HEADS, "b": floats(72)}, num_heads=4, scale=0.3),
    Case("MultiHeadAttention", {**HEADS, "v": floats(2, 7, 32), "b": floats(80)}, num_heads=4),
    Case(
        "MultiHeadAttention",
        {**HEADS, "kept": (np.arange(14).reshape(2, 7) % 3 > 0).astype(np.int32), "term": floats(1, 4, 5, 7)},
        names=[X, "k", "v", "", "kept", "term"],
        num_heads=4,
    ),
    Case(
        "MultiHeadAttention",
        {**HEADS, **PAST},
        names=[X, "k", "v", "", "", "", "pk", "pv"],
        results=PRESENT,
        num_heads=4,
    ),
    Case(
        "MultiHeadAttention", {X: floats(2, 5, 24), "k": floats(2, 4, 7, 6), "v": floats(2, 4, 7, 6)}, num_heads=4
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_are_onnxruntimes(tools: Any, case: Case) -> None:
    agree(tools, case)


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
        Case("MultiHeadAttention", HEADS, num_heads=4, unidirectional=1),
        Case("FusedGemm", {X: floats(3, 8), "w": floats(8, 5)}, activation="Softplus"),
        Case("QuickGelu", {X: floats(2, 5, 24).astype(np.float16)}),
    ],
    ids=repr,
)
def test_other_forms_are_refused_by_name(tools: Any, case: Case) -> None:
    for output in case.model.graph.output:
        output.type.tensor_type.shape.CopyFrom(value("", [2, 5, 24]).type.tensor_type.shape)
    with pytest.raises(UserError, match=rf"Node 'it' \({case.model.graph.node[0].domain}::"):
        found(Path(tools.save(case.model)), case.given)


def test_a_network_without_any_is_left_as_it_is(tools: Any) -> None:
    model = make_model([tools.node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])
    assert spell_out(model) is model
