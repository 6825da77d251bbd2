"""Half floats made single ones: what comes out is what onnxruntime gives, to the precision of a half."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.rewrites.halves import has_halves, in_single_precision
from tcl_core.onnx_branches import all_nodes

CPU = json.dumps({"kind": "llvm", "num-cores": 1})
CUDA = json.dumps({"kind": "cuda", "arch": "sm_80"})
T = onnx.TensorProto
NUMPY = {T.FLOAT: np.float32, T.FLOAT16: np.float16, T.BFLOAT16: ml_dtypes.bfloat16, T.DOUBLE: np.float64}
node = onnx.helper.make_node
value = onnx.helper.make_tensor_value_info


def tensor(name: str, array: Any, kind: int = T.FLOAT16) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(array).astype(NUMPY[kind]), name)


def made(nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: list[Any] = (), **more: Any) -> Any:
    opsets = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("com.microsoft", 1)]
    graph = onnx.helper.make_graph(nodes, "halves", inputs, outputs, list(weights))
    model = onnx.helper.make_model(graph, opset_imports=opsets + more.pop("opsets", []), ir_version=10, **more)
    onnx.checker.check_model(model)
    return model


def perceptron(kind: int = T.FLOAT16, ends: int | None = None, wide: int = 160) -> Any:
    """Two layers, the first one's weights no longer small; with `ends` of another type, cast by the network itself."""
    generator = np.random.default_rng(3)
    weights = [
        tensor("first", generator.normal(0, 0.1, (24, wide)), kind),
        tensor("second", generator.normal(0, 0.1, (wide, 8)), kind),
    ]
    nodes = [node("MatMul", ["a", "first"], ["b"]), node("Relu", ["b"], ["c"]), node("MatMul", ["c", "second"], ["d"])]
    ends = ends or kind
    if ends == kind:
        nodes[0].input[0], nodes[-1].output[0] = "x", "y"
    else:
        nodes = [node("Cast", ["x"], ["a"], to=kind), *nodes, node("Cast", ["d"], ["y"], to=ends)]
    return made(nodes, [value("x", ends, [4, 24])], [value("y", ends, [4, 8])], weights)


def run(model: Any, inputs: dict[str, Any]) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, inputs))


def types_inside(model: Any) -> set[int]:
    """Of its constants, and those that its casts name, but for the casts at its ends."""
    found = {each.data_type for each in model.graph.initializer}
    outputs = {each.name for each in model.graph.output}
    for each in all_nodes(model.graph):
        for attribute in each.attribute:
            if attribute.HasField("t"):
                found.add(attribute.t.data_type)
            elif each.op_type == "Cast" and each.output[0] not in outputs:
                found.add(attribute.i)
    return found


@pytest.mark.parametrize("ends", [None, T.FLOAT])
@pytest.mark.parametrize("wide", [8, 800])
def test_a_network_is_single_between_its_ends(ends: int | None, wide: int) -> None:
    model = perceptron(ends=ends, wide=wide)
    single = in_single_precision(model)

    assert types_inside(single) == {T.FLOAT}
    assert list(single.graph.input) == list(model.graph.input)
    assert list(single.graph.output) == list(model.graph.output)
    x = np.random.default_rng(0).normal(size=(4, 24)).astype(NUMPY[ends or T.FLOAT16])
    ours, theirs = run(single, {"x": x}), run(model, {"x": x})
    assert ours[0].dtype == theirs[0].dtype
    np.testing.assert_allclose(ours[0], theirs[0], rtol=4e-3, atol=4e-3)


def test_what_has_none_stays_the_very_same() -> None:
    for kind in (T.FLOAT, T.DOUBLE):
        model = perceptron(kind)
        assert not has_halves(model)
        assert in_single_precision(model) is model


def test_constants_casts_and_fillings_name_no_halves() -> None:
    nodes = [
        node("Constant", [], ["two"], value=tensor("", [2.0])),
        node("ConstantOfShape", ["shape"], ["ones"], value=tensor("", [1.0])),
        node("Cast", ["n"], ["h"], to=T.FLOAT16),
        node("Mul", ["h", "two"], ["twice"]),
        node("Add", ["twice", "ones"], ["y"]),
    ]
    shape = onnx.numpy_helper.from_array(np.array([3], np.int64), "shape")
    model = made(nodes, [value("n", T.INT64, [3])], [value("y", T.FLOAT16, [3])], [shape])
    single = in_single_precision(model)
    assert types_inside(single) == {T.FLOAT, T.INT64}
    (result,) = run(single, {"n": np.array([1, 5, 7])})
    assert result.dtype == np.float16
    assert result.tolist() == [3, 11, 15]


def test_branches_are_single_too() -> None:
    def branch(name: str, factor: float) -> Any:
        inner = [node("Mul", ["x", f"{name}_by"], [f"{name}_y"])]
        return onnx.helper.make_graph(
            inner, name, [], [value(f"{name}_y", T.FLOAT16, [3])], [tensor(f"{name}_by", [factor])]
        )

    chosen = node("If", ["which"], ["y"], then_branch=branch("a", 2), else_branch=branch("b", 3))
    model = made([chosen], [value("which", T.BOOL, []), value("x", T.FLOAT16, [3])], [value("y", T.FLOAT16, [3])])
    single = in_single_precision(model)
    x = np.array([1, 2, 3], np.float16)
    for which in (True, False):
        assert run(single, {"which": np.array(which), "x": x})[0].tolist() == (x * (2 if which else 3)).tolist()
    assert all(each.data_type == T.FLOAT for each in single.graph.node[1].attribute[0].g.initializer)


def test_functions_are_put_in_place() -> None:
    twice = onnx.helper.make_function(
        "own", "Twice", ["a"], ["b"],
        [node("Constant", [], ["two"], value=tensor("", [2.0])), node("Mul", ["a", "two"], ["b"])],
        [onnx.helper.make_opsetid("", 20)],
    )  # fmt: skip
    call = node("Twice", ["x"], ["y"], domain="own")
    model = made(
        [call], [value("x", T.FLOAT, [3])], [value("y", T.FLOAT, [3])],
        functions=[twice], opsets=[onnx.helper.make_opsetid("own", 1)],
    )  # fmt: skip
    assert has_halves(model)
    single = in_single_precision(model)
    assert types_inside(single) == {T.FLOAT}
    assert run(single, {"x": np.ones(3, np.float32)})[0].tolist() == [2, 2, 2]


def test_inputs_and_constants_that_go_out_as_they_are() -> None:
    nodes = [node("Neg", ["x"], ["y"]), node("Neg", ["y"], ["z"])]
    outputs = [value(name, T.FLOAT16, [3]) for name in ("x", "y", "z", "w")]
    model = made(nodes, [value("x", T.FLOAT16, [3])], outputs, [tensor("w", [1, 2, 4])])
    x = np.array([1, -2, 0.5], np.float16)
    results = run(in_single_precision(model), {"x": x})
    assert [each.tolist() for each in results] == [x.tolist(), (-x).tolist(), x.tolist(), [1, 2, 4]]


@pytest.mark.parametrize("kind", [T.FLOAT16, T.BFLOAT16])
def test_a_processor_gets_the_tasks_of_the_single_network(tmp_path: Path, kind: int) -> None:
    onnx.save(perceptron(kind, ends=T.FLOAT), str(tmp_path / "half.onnx"))
    onnx.save(perceptron(T.FLOAT), str(tmp_path / "single.onnx"))
    config = NetworkConfig()
    half, single = (
        import_network(load_network(tmp_path / f"{name}.onnx", config), CPU, config, 256) for name in ("half", "single")
    )
    assert {task.key for task in half.tasks} == {task.key for task in single.tasks}
    assert half.single is not None
    assert single.single is None
    assert [issue.line.partition(",")[0] for issue in half.report.issues] == ["its half floats are computed in float32"]
    assert not single.report.issues


def test_a_gpu_keeps_its_halves(tmp_path: Path) -> None:
    onnx.save(perceptron(), str(tmp_path / "half.onnx"))
    config = NetworkConfig()
    imported = import_network(load_network(tmp_path / "half.onnx", config), CUDA, config)
    assert imported.single is None
    assert not imported.report.issues
    assert "float16" in imported.tasks[0].module_json


def test_products_of_few_bits_by_half_scales_stay_of_few_bits(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    weights = [
        onnx.numpy_helper.from_array(generator.integers(0, 256, (64, 2, 16), np.uint8), "w"),
        tensor("s", generator.uniform(0.01, 0.02, 128)),
    ]
    sizes = {"K": 64, "N": 64, "bits": 4, "block_size": 32}
    product = node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **sizes)
    model = made([product], [value("x", T.FLOAT16, [1, 64])], [value("y", T.FLOAT16, [1, 64])], weights)
    onnx.save(model, str(tmp_path / "bits.onnx"))
    config = NetworkConfig()
    imported = import_network(load_network(tmp_path / "bits.onnx", config), CPU, config, 256)
    assert any("uint8" in task.module_json or "int32" in task.module_json for task in imported.tasks)
    x = generator.normal(size=(1, 64)).astype(np.float16)
    np.testing.assert_allclose(run(imported.single, {"x": x})[0], run(model, {"x": x})[0], rtol=4e-3, atol=4e-3)


def test_operators_of_onnxruntime_are_read_of_halves_too(tmp_path: Path) -> None:
    gelu = node("QuickGelu", ["x"], ["y"], domain="com.microsoft")
    model = made([gelu], [value("x", T.FLOAT16, [2, 40])], [value("y", T.FLOAT16, [2, 40])])
    onnx.save(model, str(tmp_path / "gelu.onnx"))
    config = NetworkConfig()
    imported = import_network(load_network(tmp_path / "gelu.onnx", config), CPU, config, 256)
    machine = relax.VirtualMachine(tvm.compile(imported.module, tvm.target.Target(json.loads(CPU))), tvm.cpu())
    x = np.random.default_rng(0).normal(size=(2, 40)).astype(np.float16)
    result = machine["main"](tvm.runtime.tensor(x)).numpy()
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, x / (1 + np.exp(-1.702 * x.astype(np.float32))), rtol=2e-3, atol=2e-3)
