"""What onnxruntime folds, and what of it is folded on."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.load import load_network
from tcl_core.network.rewrites.folding import fold_constants


def operators(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


def run(model: Any, **feed: Any) -> Any:
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def test_what_onnxruntime_leaves_as_it_is_stays_as_it_was(tools: Any) -> None:
    """It would write defaults down, of which TVM has others (epsilon is 1e-5 in more digits), in another order."""
    weights = [tools.tensor(name, np.full(4, each, np.float32)) for name, each in (("scale", 2), ("bias", 1))]
    nodes = [
        tools.node("Relu", ["x"], ["one"], name="one"),
        tools.node("LayerNormalization", ["x", "scale", "bias"], ["two"], name="two"),
        tools.node("Add", ["one", "two"], ["y"], name="sum"),
    ]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", [2, 4])], weights)
    assert fold_constants(model).model.graph.node == model.graph.node


def test_large_weights_are_folded_as_small_ones_are(tools: Any) -> None:
    """Into others, and a normalisation into a convolution; what nothing changes keeps its bytes."""
    generator = np.random.default_rng(0)

    def drawn(name: str, *shape: int) -> Any:
        return tools.tensor(name, generator.random(shape, np.float32) + 0.1)

    norm = [drawn(name, 64) for name in ("gamma", "beta", "mean", "variance")]
    weights = [drawn("kernel", 64, 64, 3, 3), *norm, drawn("columns", 300, 64), drawn("head", 300, 128)]
    nodes = [
        tools.node("Conv", ["x", "kernel"], ["c"], name="c"),
        tools.node("BatchNormalization", ["c", *(each.name for each in norm)], ["n"], name="n"),
        tools.node("GlobalAveragePool", ["n"], ["m"], name="m"),
        tools.node("Flatten", ["m"], ["f"], name="f"),
        tools.node("Transpose", ["columns"], ["rows"], name="rows"),
        tools.node("MatMul", ["f", "rows"], ["g"], name="g"),
        tools.node("MatMul", ["g", "head"], ["y"], name="y"),
    ]
    model = tools.model(nodes, [tools.value("x", [1, 64, 8, 8])], [tools.value("y", [1, 128])], weights)
    folded = fold_constants(model).model
    assert sorted(operators(folded)) == ["Conv", "Flatten", "GlobalAveragePool", "MatMul", "MatMul"]
    kept = {tensor.name: tensor.raw_data for tensor in folded.graph.initializer}
    assert kept["head"] == weights[-1].raw_data
    feed = generator.standard_normal((1, 64, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(run(folded, x=feed)[0], run(model, x=feed)[0], rtol=1e-4)


@pytest.mark.parametrize("kind", ["FLOAT16", "BFLOAT16", "INT8", "INT4", "FLOAT8E4M3FN"])
def test_large_weights_are_folded_of_whatever_type_and_may_be_of_no_use(tools: Any, kind: str) -> None:
    whole = np.random.default_rng(0).integers(-8, 8, (256, 128))
    held = onnx.helper.make_tensor("w", getattr(onnx.TensorProto, kind), whole.shape, whole.ravel().tolist())
    packed = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(held), "w")
    assert packed.raw_data
    cast = kind.endswith("FLOAT16")
    nodes = [
        tools.node("Cast", ["w"], ["f"], to=onnx.TensorProto.FLOAT)
        if cast
        else tools.node("DequantizeLinear", ["w", "s"], ["f"]),
        tools.node("MatMul", ["x", "f"], ["y"]),
    ]
    unused = tools.tensor("unused", np.ones((256, 256), np.float32))
    weights = [packed, tools.tensor("s", np.array(0.5, np.float32)), unused]
    graph = onnx.helper.make_graph(nodes, "g", [tools.value("x", [1, 256])], [tools.value("y", [1, 128])], weights)
    folded = fold_constants(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    )
    assert operators(folded.model) == (["MatMul"] if cast else ["DequantizeLinear", "MatMul"])
    ones = np.ones((1, 256), np.float32)
    np.testing.assert_allclose(run(folded.model, x=ones)[0][0], whole.sum(0) * (1 if cast else 0.5), rtol=1e-5)


def test_where_a_mask_is_set_is_known_before_a_run(tools: Any) -> None:
    """And so is what is made of that: onnxruntime folds no `NonZero`, and all behind it had no size."""
    mask = np.arange(12).reshape(3, 4) % 3 > 0
    nodes = [
        tools.node("NonZero", ["mask"], ["places"]),
        tools.node("Transpose", ["places"], ["rows"]),
        tools.node("GatherND", ["x", "rows"], ["chosen"]),
        tools.node("Shape", ["chosen"], ["size"]),
        tools.node("ConstantOfShape", ["size"], ["ones"], value=tools.tensor("one", np.ones(1, np.int64))),
        tools.node("NonZero", ["ones"], ["numbers"]),
        tools.node("Cast", ["numbers"], ["floats"], to=onnx.TensorProto.FLOAT),
        tools.node("Mul", ["chosen", "floats"], ["y"]),
    ]
    model = tools.model(nodes, [tools.value("x", [3, 4])], [tools.value("y", [1, None])], [tools.tensor("mask", mask)])
    loaded = load_network(tools.save(model), NetworkConfig())
    assert [spec.shape for spec in loaded.network.outputs] == [(1, 8)]
    folded = fold_constants(loaded.model).model
    assert operators(folded) == ["GatherND", "Mul"]
    data = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    np.testing.assert_array_equal(run(folded, x=data)[0], run(model, x=data)[0])


def test_a_mask_that_is_nowhere_set_stays(tools: Any) -> None:
    """It chooses nothing, and a tensor without elements is told by its node."""
    nodes = [tools.node("NonZero", ["mask"], ["places"]), tools.node("Identity", ["places"], ["y"])]
    given = [tools.tensor("mask", np.zeros(3, bool))]
    model = tools.model(
        [*nodes, tools.node("Relu", ["x"], ["z"])],
        [tools.value("x", [2])],
        [tools.value("y", None, onnx.TensorProto.INT64), tools.value("z", [2])],
        given,
    )
    assert "NonZero" in operators(fold_constants(model).model)


def test_a_full_temporary_folder_is_refused(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not folded, a network has other tasks, and it was onnxruntime that was told to be at fault."""

    def fail(model: Any, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    model = tools.model([tools.node("Relu", ["x"], ["y"])], [tools.value("x", [2])], [tools.value("y", [2])])
    monkeypatch.setattr("tcl_core.network.rewrites.folding.save_apart", fail)
    assert "No space" in fold_constants(model).problem  # but there is
    usage = SimpleNamespace(free=1 << 19)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"1 MiB in '.*' while it is simplified, and 0 MiB are free there; .*TMPDIR"):
        fold_constants(model)
