from __future__ import annotations

import math
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from comparisons import QUICK, compile_c, make_request
from library_network import TARGET

from tcl_core.config import LibraryConfig, NetworkConfig
from tcl_core.domain import Failure, Stage
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken
from tcl_core.library import child
from tcl_core.library.build import build_tuned
from tcl_core.library.child import CompareRequest, CompareResult, compare, compare_in_child, save_inputs
from tcl_core.linker import Linker, find_linker
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network


@pytest.fixture(scope="module")
def linker() -> Linker:
    found = find_linker()
    if found is None:
        pytest.skip("no C compiler")
    return found


def test_a_library_is_checked_and_timed(tmp_path: Path, imported: Any, records: Any, linker: Linker) -> None:
    path = tmp_path / "tuned.so"
    built = build_tuned(imported.module, TARGET, records, imported.tasks)
    built.executable.export_library(str(path), fcompile=linker)
    result = compare_in_child(make_request(tmp_path, imported, tuned=str(path)))
    assert result.failures == ()
    assert [(check.name, check.matches) for check in result.checks] == [("classes", True)]
    assert {name for name, _ in result.timings} == {"tuned", "onnxruntime"}
    assert result.timing("untuned") is None
    assert [(one.rival, one.rounds) for one in result.contests] == [("onnxruntime", 2)]
    untimed = compare_in_child(make_request(tmp_path, imported, tuned=str(path), timed=False))
    assert (untimed.checks, untimed.timings, untimed.contests) == (result.checks, (), ())


def test_a_crash_is_data(tmp_path: Path, imported: Any, linker: Linker) -> None:
    source = "#include <signal.h>\n__attribute__((constructor)) static void die(void) { raise(SIGKILL); }"
    request = make_request(tmp_path, imported, tuned=compile_c(linker, tmp_path, source))
    result = compare_in_child(request)
    assert result.checks == ()
    assert [failure.cause for failure in result.failures] == ["crash (SIGKILL)"]
    assert result.broken


def test_a_process_that_ends_in_the_midst_of_a_result_leaves_those_before() -> None:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    sender.send(CompareResult(started="tuned"))
    os.write(sender.fileno(), (1000).to_bytes(4, "big") + b"its first bytes")
    sender.close()
    with receiver:
        assert list(child._updates(receiver, None, math.inf, 1.0)) == [CompareResult(started="tuned")]


def test_a_hang_is_cut_off(tmp_path: Path, imported: Any, linker: Linker) -> None:
    source = "#include <unistd.h>\n__attribute__((constructor)) static void hang(void) { for (;;) sleep(1); }"
    request = make_request(tmp_path, imported, tuned=compile_c(linker, tmp_path, source))
    result = compare_in_child(request, timeout_s=4.0)
    assert [failure.cause for failure in result.failures] == ["timeout"]


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("for (;;) sleep(1)", "a run takes longer than 2 s"),
        ("raise(SIGSEGV)", "crash (SIGSEGV)"),
        ("_exit(0)", "exit status 0"),
    ],
)
def test_untuned_tvm_is_left_out_where_it_takes_too_long_or_crashes(
    tmp_path: Path, imported: Any, records: Any, linker: Linker, deed: str, reason: str
) -> None:
    path = tmp_path / "tuned.so"
    build_tuned(imported.module, TARGET, records, imported.tasks).executable.export_library(str(path), fcompile=linker)
    source = (
        f"#include <signal.h>\n#include <unistd.h>\n__attribute__((constructor)) static void go(void) {{ {deed}; }}"
    )
    untuned = compile_c(linker, tmp_path, source)
    result = compare_in_child(make_request(tmp_path, imported, tuned=str(path), untuned=untuned, untuned_s=2.0))
    assert [check.matches for check in result.checks] == [True]
    assert [one.rival for one in result.contests] == ["onnxruntime"]
    assert [(failure.cause, failure.message) for failure in result.failures] == [("untuned did not run", reason)]
    assert not result.broken


def test_what_hangs_when_the_process_ends_is_not_waited_for(tmp_path: Path, imported: Any, linker: Linker) -> None:
    source = "#include <unistd.h>\n__attribute__((destructor)) static void hang(void) { for (;;) sleep(1); }"
    result = compare_in_child(make_request(tmp_path, imported, tuned=compile_c(linker, tmp_path, source), timed=False))
    assert [failure.cause for failure in result.failures] == ["tuned did not run"]  # it has no function to run


def test_a_stop_ends_the_process(tmp_path: Path, imported: Any) -> None:
    cancel = CancelToken()
    request = make_request(tmp_path, imported, config=LibraryConfig(timing_rounds=1, timing_s=1000.0))
    timer = threading.Timer(0.5, cancel.stop)
    timer.start()
    try:
        with pytest.raises(Interrupted):
            compare_in_child(request, cancel)
    finally:
        timer.join()


def test_what_does_not_run_is_left_out_with_its_reason(tmp_path: Path, imported: Any, records: Any) -> None:
    """In this process, as without a linker: onnxruntime gets a file that is none."""
    request = make_request(tmp_path, imported)
    Path(request.model).write_bytes(b"nothing")
    built = build_tuned(imported.module, TARGET, records, imported.tasks)
    results: list[Any] = []
    compare(request, results.append, {"tuned": built.executable})
    assert results[-1].checks == ()
    assert [failure.cause for failure in results[-1].failures] == ["onnxruntime did not run"]
    assert results[-1].timing("tuned") is not None
    assert not results[-1].broken


@pytest.mark.parametrize("timed", [False, True])
def test_a_library_that_raises_is_broken_and_says_why(tmp_path: Path, imported: Any, timed: bool) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"nothing")
    result = compare_in_child(make_request(tmp_path, imported, tuned=str(broken), timed=timed))
    assert [failure.cause for failure in result.failures] == ["tuned did not run"]
    assert result.failures[0].message and result.broken


@pytest.mark.parametrize(
    ("cause", "started", "broken"),
    [
        ("crash (SIGSEGV)", "tuned", True),
        ("crash (SIGSEGV)", "onnxruntime", False),
        ("crash (SIGSEGV)", "untuned", False),
        ("crash (SIGSEGV)", None, False),
        ("tuned did not run", None, True),
        ("untuned did not run", None, False),
        ("timeout", "tuned", False),
    ],
)
def test_who_broke(cause: str, started: str | None, broken: bool) -> None:
    failure = Failure(stage=Stage.LIBRARY, cause=cause)
    assert CompareResult(failures=(failure,), started=started).broken == broken


def checks_of(built: Any, model: Path, x: Any, **more: Any) -> Any:
    """Of what was built, with one input, against a model."""
    request = CompareRequest(
        model=str(model),
        inputs=save_inputs(model.with_name("inputs.npz"), {"x": x}),
        names=("x",),
        outputs=("y",),
        tuned=None,
        untuned=None,
        kind="llvm",
        threads=1,
        config=QUICK,
        timed=False,
        **more,
    )
    results: list[CompareResult] = []
    compare(request, results.append, {"tuned": built.executable})
    return results[-1].checks


@pytest.mark.parametrize("wrong", [False, True])
def test_sums_that_onnxruntime_cuts_off_are_checked_against_its_exact_ones(tmp_path: Path, wrong: bool) -> None:
    """Two products of 255 and 127 are more than 16 bits hold; with VNNI nothing is cut off in the first place."""
    node = onnx.helper.make_node
    nodes = [
        node("MatMulInteger", ["x", "w"], ["sums"]),
        node("Cast", ["sums"], ["floats"], to=onnx.TensorProto.FLOAT),
        node("Mul", ["floats", "scale"], ["y"]),
    ]
    weights = {"w": np.full((64, 16), 127, np.int8), "scale": np.float32(2 if wrong else 1)}
    tensors = [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    value = onnx.helper.make_tensor_value_info
    x, y = value("x", onnx.TensorProto.UINT8, [4, 64]), value("y", onnx.TensorProto.FLOAT, [4, 16])
    model = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "bytes", [x], [y], tensors),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=10,
    )
    path = tmp_path / "net.onnx"
    onnx.save(model, str(path))
    network = import_network(load_network(path, NetworkConfig()), TARGET, NetworkConfig())
    built = build_tuned(network.module, TARGET, {}, network.tasks)
    model.graph.initializer[1].CopyFrom(onnx.numpy_helper.from_array(np.asarray(np.float32(1)), "scale"))
    onnx.save(model, str(path))
    checks = checks_of(built, path, np.full((4, 64), 255, np.uint8))
    assert [check.matches for check in checks] == [not wrong]


def halved(kind: int, by: float) -> Any:
    """Sums of many products by half weights, of which onnxruntime rounds what one layer gives the next."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    generator = np.random.default_rng(1)
    first, second = (generator.normal(0, 1, shape).astype(np.float32) for shape in ((64, 256), (256, 16)))
    tensors = []
    for name, array in (("first", first), ("second", second * by)):
        tensors.append(onnx.helper.make_tensor(name, kind, array.shape, array.reshape(-1).tolist()))
    nodes = [
        node("Cast", ["x"], ["a"], to=kind),
        node("MatMul", ["a", "first"], ["b"]),
        node("Tanh", ["b"], ["c"]),
        node("MatMul", ["c", "second"], ["d"]),
        node("Cast", ["d"], ["y"], to=onnx.TensorProto.FLOAT),
    ]
    x, y = value("x", onnx.TensorProto.FLOAT, [4, 64]), value("y", onnx.TensorProto.FLOAT, [4, 16])
    graph = onnx.helper.make_graph(nodes, "halves", [x], [y], tensors)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=10)


def test_inputs_are_kept_in_their_order_whatever_their_names(tmp_path: Path) -> None:
    given = {"file": np.arange(3), "arr_0": np.ones(2, bool), "a/b:0": np.float32(4)}
    with np.load(save_inputs(tmp_path / "inputs.npz", given)) as saved:
        for array, wanted in zip((saved[f"arr_{at}"] for at in range(3)), given.values(), strict=True):
            np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16])
def test_half_floats_are_checked_in_single_precision(tmp_path: Path, kind: int, wrong: bool) -> None:
    """Of bfloat16 onnxruntime has no product in the first place."""
    paths = [tmp_path / "net.onnx", tmp_path / "single.onnx", tmp_path / "other.onnx"]
    model = halved(kind, 1)
    onnx.save(model, str(paths[0]))
    onnx.save(halved(kind, 1.5 if wrong else 1), str(paths[2]))
    network = import_network(load_network(paths[2], NetworkConfig()), TARGET, NetworkConfig())
    built = build_tuned(network.module, TARGET, {}, network.tasks)
    onnx.save(import_network(load_network(paths[0], NetworkConfig()), TARGET, NetworkConfig()).single, str(paths[1]))
    x = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
    checks = checks_of(built, paths[0], x, single=str(paths[1]))
    assert [check.matches for check in checks] == [not wrong]
    assert wrong or checks[0].max_abs_error < 1e-3
