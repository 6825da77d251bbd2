from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime
import pytest
import tvm
import tvm_ffi
from library_network import ROWS, TARGET, import_model, make_record, split_model
from tvm import s_tir
from tvm.relax.frontend.onnx import from_onnx

from tcl_core.domain import Failure, Record, Stage
from tcl_core.errors import UserError
from tcl_core.library import build
from tcl_core.library.build import build_tuned, build_untuned
from tcl_core.library.contenders import arrays, onnxruntime_contender, tvm_contender
from tcl_core.onnx_weights import save_apart

NO_RECORD, NOT_APPLIED = "no record that ran", "its best record no longer applies"
IDS = {"ids": np.arange(ROWS, dtype=np.int64)}


def run(executable: Any) -> np.ndarray:
    return arrays(tvm_contender(executable, "llvm", ["ids"], IDS)())[0]


@pytest.fixture(scope="module")
def reference(imported: Any) -> np.ndarray:
    session = onnxruntime.InferenceSession(imported.model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, IDS)[0])


def test_records_are_applied_and_the_rest_is_listed(imported: Any, records: Any, reference: np.ndarray) -> None:
    built = build_tuned(imported.module, TARGET, records, imported.tasks)
    assert [task.key for task in built.tasks] == [task.key for task in imported.tasks]
    assert {task.key for task in built.tasks if not task.fallback} == set(records)
    assert {task.fallback for task in built.tasks if "matmul" not in task.name} == {NO_RECORD}
    assert {task.latency_s for task in built.tasks if not task.fallback} == {1e-5}
    np.testing.assert_allclose(run(built.executable), reference, rtol=1e-5, atol=1e-6)


def test_what_is_compiled_is_the_recorded_schedule(
    imported: Any, records: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Any] = []
    monkeypatch.setattr(build, "_compile", lambda module, _target: compiled.append(module))
    build_tuned(imported.module, TARGET, {}, imported.tasks)
    build_tuned(imported.module, TARGET, records, imported.tasks)
    assert [module.script().count("T.parallel(") for module in compiled] == [0, len(records)]


def test_without_records_all_tasks_fall_back(imported: Any, reference: np.ndarray) -> None:
    built = build_tuned(imported.module, TARGET, {}, imported.tasks)
    assert {task.fallback for task in built.tasks} == {NO_RECORD}
    np.testing.assert_allclose(run(built.executable), reference, rtol=1e-5, atol=1e-6)


def broken(record: Record) -> list[Record]:
    """Records that cannot be applied: no such block, no such instruction, another module's trace, a failure."""
    trace = json.loads(record.trace_json)
    missing = json.dumps(trace).replace('"matmul"', '"no such block"')
    unknown = json.dumps([[["NoSuchInstruction", [], [], []], *trace[0]], trace[1]])
    failure = Failure(stage=Stage.MEASURE, cause="timeout")
    return [
        dataclasses.replace(record, trace_json=missing),
        dataclasses.replace(record, trace_json=unknown),
        dataclasses.replace(record, trace_json="[[], []]", latencies_s=()),
        dataclasses.replace(record, failure=failure),
        dataclasses.replace(record, trace_json=""),
    ]


def test_a_schedule_that_writes_into_its_module_is_applied() -> None:
    """As TVM's do where the root holds an annotation and the loops of several results (`Recipe.spoils`)."""
    imported = import_model(split_model())
    (task,) = imported.tasks
    schedule = s_tir.Schedule(tvm.ir.load_json(task.module_json), debug_mask="none")
    root = schedule.get_sblock("root")
    schedule.annotate(root, "meta_schedule.vectorize", 8)
    schedule.enter_postproc()
    schedule.unannotate(root, "meta_schedule.vectorize")
    for block in schedule.get_child_blocks(root)[1:]:
        schedule.vectorize(schedule.fuse(schedule.get_loops(block)[-1]))
    trace = json.dumps(schedule.trace.as_json(), default=int)
    built = build_tuned(imported.module, TARGET, {task.key: [make_record(task, trace)]}, imported.tasks)
    assert [used.fallback for used in built.tasks] == [""]


@pytest.mark.parametrize("index", range(5))
def test_a_record_that_does_not_apply_is_a_fallback(imported: Any, records: Any, index: int) -> None:
    key, (record,) = next(iter(records.items()))
    built = build_tuned(imported.module, TARGET, {key: [broken(record)[index]]}, imported.tasks)
    (used,) = (task for task in built.tasks if task.key == key)
    assert used.fallback == (NOT_APPLIED if index < 2 else NO_RECORD)
    assert used.latency_s is None


def test_the_next_record_takes_the_place_of_one_that_does_not_apply(imported: Any, records: Any) -> None:
    key, (record,) = next(iter(records.items()))
    slower = dataclasses.replace(record, latencies_s=(2e-5,))
    built = build_tuned(imported.module, TARGET, {key: [*broken(record), slower]}, imported.tasks)
    (used,) = (task for task in built.tasks if task.key == key)
    assert (used.fallback, used.latency_s, used.passed_over) == ("", 2e-5, 2), "two of the five have a trace and times"
    assert used.without == "without its 2 best records, which no longer apply"
    none = build_tuned(imported.module, TARGET, {key: broken(record)}, imported.tasks)
    assert [task.fallback for task in none.tasks if task.key == key] == ["its 2 best records no longer apply"]


def test_stock_tvm_takes_the_first_model_it_can_import(imported: Any, reference: np.ndarray) -> None:
    odd = onnx.ModelProto()
    odd.CopyFrom(imported.model)
    odd.graph.node[1].op_type = "NoSuchOperator"
    np.testing.assert_allclose(
        run(build_untuned([lambda: odd, imported.simplified], imported.fold, TARGET)), reference, rtol=1e-5, atol=1e-6
    )
    with pytest.raises(UserError, match="Stock TVM cannot import"):
        build_untuned([lambda: odd], imported.fold, TARGET)


def test_stock_tvm_gathers_as_ever_and_warns_of_nothing(
    imported: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Any] = []
    monkeypatch.setattr(build, "_compile", lambda module, _target: compiled.append(module))
    build_untuned([imported.simplified], imported.fold, TARGET)
    assert "Warning" not in capfd.readouterr().err
    monkeypatch.setattr(build, "_quiet_take", lambda builder, call: call.op.get_attr("FLegalize")(builder, call))
    build_untuned([imported.simplified], imported.fold, TARGET)
    assert "Fast mode" in capfd.readouterr().err  # else the work around it can go
    assert tvm_ffi.structural_equal(*compiled)


def test_stock_tvm_imports_what_its_own_door_would(imported: Any) -> None:
    assert tvm_ffi.structural_equal(build._imported(imported.model), from_onnx(imported.model))


def test_onnxruntime_is_a_contender(imported: Any, reference: np.ndarray, tmp_path: Path) -> None:
    save_apart(imported.model, tmp_path / "it.onnx")
    contender = onnxruntime_contender(str(tmp_path / "it.onnx"), 2, IDS)
    np.testing.assert_array_equal(contender()[0], reference)


def test_a_target_without_code_generation_is_a_sentence(imported: Any) -> None:
    with pytest.raises(UserError, match="cannot compile the network") as caught:
        build_tuned(imported.module, json.dumps({"kind": "vulkan"}), {}, imported.tasks)
    assert caught.value.stage == "library"


def refuse_exact_sums(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """As onnxruntime 1.32 does of some transformers in pairs; what was refused."""
    session = onnxruntime.InferenceSession
    refused: list[Any] = []

    def opened(model: Any, options: Any, providers: Any) -> Any:
        with contextlib.suppress(RuntimeError):  # of options without that entry
            if options.get_session_config_entry("session.x64quantprecision") == "1":
                refused.append(model)
                raise ValueError("Attempt to replace the existing tensor")
        return session(model, options, providers=providers)

    monkeypatch.setattr(onnxruntime, "InferenceSession", opened)
    return refused


@pytest.mark.parametrize("sums", [True, False])
@pytest.mark.parametrize("operator", ["MatMulNBits", "DequantizeLinear"])
def test_an_exact_contender_rounds_no_rows_to_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operator: str, sums: bool
) -> None:
    """Of products by weights of 4 bits, and of those that onnxruntime makes of scaled weights."""
    refused = [] if sums else refuse_exact_sums(monkeypatch)
    generator = np.random.default_rng(0)
    value = generator.standard_normal((1, 64)).astype(np.float32)
    packed, scales = generator.integers(0, 256, (8, 2, 16)).astype(np.uint8), np.full(16, 0.1, np.float32)
    numbers = np.stack([packed & 15, packed >> 4], axis=-1).reshape(8, 64).astype(np.float32) - 8
    make, info, floats = onnx.helper.make_node, onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    if operator == "MatMulNBits":
        given = {"K": 64, "N": 8, "block_size": 32, "bits": 4, "accuracy_level": 4}
        nodes = [make(operator, ["x", "w", "s"], ["y"], domain="com.microsoft", **given)]
        weights = [onnx.numpy_helper.from_array(packed, "w"), onnx.numpy_helper.from_array(scales, "s")]
    else:
        nodes = [make(operator, ["q", "s"], ["w"], axis=0, block_size=32), make("MatMul", ["x", "w"], ["y"])]
        whole = onnx.helper.make_tensor("q", onnx.TensorProto.INT4, (64, 8), numbers.T.ravel().astype(int).tolist())
        weights = [whole, onnx.numpy_helper.from_array(scales.reshape(2, 8), "s")]
    graph = onnx.helper.make_graph(nodes, "g", [info("x", floats, [1, 64])], [info("y", floats, [1, 8])], weights)
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    onnx.save(model, tmp_path / "it.onnx")
    source = str(tmp_path / "it.onnx")
    lax, exact = (onnxruntime_contender(source, 1, {"x": value}, exact=exact)()[0] for exact in (False, True))
    np.testing.assert_allclose(exact, value @ numbers.T * 0.1, rtol=1e-4, atol=1e-4)
    assert np.abs(lax - exact).max() > 1e-3
    assert len(refused) == (not sums)


@pytest.mark.parametrize("where", ["graph", "branch", "function"])
def test_an_exact_contender_has_the_greatest_in_their_order(tmp_path: Path, where: str) -> None:
    """Of a file that leaves it open, of which any order is right."""
    value = np.random.default_rng(0).standard_normal((1, 64)).astype(np.float32)
    info, floats = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    node = onnx.helper.make_node("TopK", ["x", "k"], ["y", "at"], sorted=0)
    outputs, weights = [info("y", floats, [1, 8])], [onnx.numpy_helper.from_array(np.array([8]), "k")]
    opsets, inputs = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("my", 1)], [info("x", floats, [1, 64])]
    functions = []
    if where == "branch":
        inner = onnx.helper.make_graph([node], "g", [], outputs)
        node = onnx.helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
        inputs.append(info("c", onnx.TensorProto.BOOL, []))
    if where == "function":
        functions.append(onnx.helper.make_function("my", "Greatest", ["x", "k"], ["y"], [node], opsets[:1]))
        node = onnx.helper.make_node("Greatest", ["x", "k"], ["y"], domain="my")
    graph = onnx.helper.make_graph([node], "g", inputs, outputs, weights)
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=functions)
    onnx.save(model, tmp_path / "it.onnx")
    source = str(tmp_path / "it.onnx")
    given = {"x": value, **({"c": np.array(True)} if where == "branch" else {})}
    lax, exact = (onnxruntime_contender(source, 1, given, exact=exact)()[0] for exact in (False, True))
    np.testing.assert_array_equal(exact[0], np.sort(value[0])[:-9:-1])
    np.testing.assert_array_equal(np.sort(lax), np.sort(exact))
    assert not np.array_equal(lax, exact)


def test_what_a_contender_returns_is_read_in_order() -> None:
    tensor = SimpleNamespace(numpy=lambda: np.arange(3))
    found = arrays([np.float32(2.0), (tensor, np.ones((2, 2)))])
    assert [array.tolist() for array in found] == [2.0, [0, 1, 2], [[1.0, 1.0], [1.0, 1.0]]]


def test_stock_tvm_is_given_constants_that_are_computed(imported: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its pipeline compiles a kernel for each."""
    compiled: list[Any] = []
    monkeypatch.setattr(build, "_compile", lambda module, _target: compiled.append(module))

    def fold(module: Any) -> Any:
        (rows,) = (each for each in module.get_global_vars() if each.name_hint == "main")
        return tvm.IRModule({rows: module[rows].with_attr("folded", True)})

    build_untuned([imported.simplified], fold, TARGET)
    assert compiled[0]["main"].attrs["folded"]
