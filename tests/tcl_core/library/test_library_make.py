from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from library_network import ROWS

from tcl_core.config import LibraryConfig
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken
from tcl_core.libraries import LibraryReport
from tcl_core.library import make, room
from tcl_core.library.bundle import is_bundle
from tcl_core.library.cpp_example import COMPILE_COMMAND
from tcl_core.linker import find_linker

QUICK = LibraryConfig(timing_rounds=2, timing_s=0.01)

needs_linker = pytest.mark.skipif(find_linker() is None, reason="no C compiler")


def make_library(imported: Any, platform: Any, records: Any, out: Path | None, **options: Any) -> LibraryReport:
    return make.make_library(
        loaded_model=imported.model,
        given=imported.model,
        imported=imported,
        platform=platform,
        records=records,
        out=out,
        config=QUICK,
        **options,
    )


@pytest.fixture(scope="module")
def report(imported: Any, platform: Any, records: Any, tmp_path_factory: pytest.TempPathFactory) -> LibraryReport:
    return make_library(imported, platform, records, tmp_path_factory.mktemp("exports") / "two products")


@needs_linker
def test_the_library_is_built_checked_timed_and_exported(report: LibraryReport) -> None:
    assert report.matches
    assert report.max_abs_error is not None and report.max_abs_error < 1e-5
    assert report.tuned_tasks == 2
    assert "take1" in report.fallback_tasks
    assert all((report.untuned, report.tuned, report.onnxruntime))
    assert {one.rival for one in report.contests} == {"untuned", "onnxruntime"}
    assert [output.name for output in report.outputs] == ["classes"]
    assert report.path is not None and is_bundle(Path(report.path))


@needs_linker
def test_a_check_alone_neither_times_nor_writes(
    imported: Any, platform: Any, records: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unexpected(*_: object) -> None:
        raise AssertionError("stock TVM takes longer to build than the check to run")

    monkeypatch.setattr(make, "build_untuned", unexpected)
    report = make_library(imported, platform, records, None, timed=False)
    assert report.matches
    assert (report.path, report.tuned, report.onnxruntime, report.contests) == (None, None, None, ())


def test_a_contender_that_cannot_be_built_is_left_out_with_the_reason(
    imported: Any, platform: Any, records: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("library", "Stock TVM cannot import the network (LSTM); untuned is left out.")

    monkeypatch.setattr(make, "build_untuned", refuse)
    report = make_library(imported, platform, records, None)
    assert report.failures == ("Stock TVM cannot import the network (LSTM); untuned is left out.",)
    assert (report.untuned, report.contest("untuned")) == (None, None)
    assert report.tuned is not None


def test_onnxruntime_runs_what_was_given_and_one_called_single_is_not_written_over(
    imported: Any, platform: Any, tmp_path: Path
) -> None:
    named = dataclasses.replace(imported.network, name="single")
    single = onnx.helper.make_model(imported.model.graph, producer_name="in single precision")
    given = onnx.helper.make_model(imported.model.graph, producer_name="with loops")
    halves = dataclasses.replace(imported, network=named, single=single)
    request = make._request(imported.model, given, halves, platform, {}, tmp_path, QUICK, True)
    assert request.single is not None
    assert (onnx.load(request.model), onnx.load(request.single)) == (given, single)


def test_the_longest_name_that_a_network_s_file_can_have_leaves_room_for_that_of_its_weights(
    imported: Any, platform: Any, tmp_path: Path
) -> None:
    given = onnx.ModelProto.FromString(imported.model.SerializeToString())
    given.graph.initializer.add().CopyFrom(onnx.numpy_helper.from_array(np.ones((1 << 14,), np.float32), "weights"))
    named = dataclasses.replace(imported.network, name="n" * 250)
    longest = dataclasses.replace(imported, network=named)
    request = make._request(imported.model, given, longest, platform, {}, tmp_path, QUICK, True)
    assert onnx.load(request.model).graph.initializer[-1].raw_data == given.graph.initializer[-1].raw_data


@needs_linker
def test_the_python_runner_computes_what_was_checked(report: LibraryReport, imported: Any, tmp_path: Path) -> None:
    assert report.path is not None
    ids = np.arange(ROWS, dtype=np.int64)
    np.save(tmp_path / "ids.npy", ids)
    saved = tmp_path / "outputs.npz"
    command = [sys.executable, str(Path(report.path) / "run.py"), "--repeat", "3"]
    done = subprocess.run(
        [*command, "--input", f"ids={tmp_path / 'ids.npy'}", "--save", str(saved)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "classes: float32 [6, 4]" in done.stdout
    assert "latency:" in done.stdout
    import onnxruntime

    session = onnxruntime.InferenceSession(imported.model.SerializeToString(), providers=["CPUExecutionProvider"])
    with np.load(saved) as outputs:
        np.testing.assert_allclose(outputs["classes"], session.run(None, {"ids": ids})[0], rtol=1e-5, atol=1e-6)


@needs_linker
def test_the_python_runner_refuses_other_inputs(report: LibraryReport, tmp_path: Path) -> None:
    assert report.path is not None
    np.save(tmp_path / "short.npy", np.zeros(2, np.int64))
    runner = str(Path(report.path) / "run.py")
    for given, expected in ((f"ids={tmp_path / 'short.npy'}", "shape [2]"), ("odd=x.npy", "the inputs are ids")):
        done = subprocess.run(
            [sys.executable, runner, "--input", given], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 1
        assert expected in done.stderr


@pytest.mark.skipif(shutil.which("g++") is None or sys.platform != "linux", reason="no g++")
@needs_linker
def test_the_cpp_example_compiles_as_its_readme_says_and_runs(report: LibraryReport) -> None:
    assert report.path is not None
    folder = Path(report.path)
    assert COMPILE_COMMAND in (folder / "README.md").read_text()
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    # Without optimisation: the example is compiled in half the time.
    command = COMPILE_COMMAND.replace("-O2", "-O0")
    subprocess.run(["bash", "-ec", command], cwd=folder, env=environment, check=True, capture_output=True)
    done = subprocess.run(["./run"], cwd=folder, capture_output=True, text=True, check=True)
    assert "output: [6, 4]" in done.stdout
    assert "latency:" in done.stdout
    (folder / "run").unlink()


def test_without_a_linker_it_is_checked_and_timed_here(
    imported: Any, platform: Any, records: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "find_linker", lambda triple: None)
    report = make_library(imported, platform, records, None)
    assert report.path is None
    assert report.matches
    assert all((report.untuned, report.tuned, report.onnxruntime))


def test_without_a_linker_an_export_is_refused_before_any_work(
    imported: Any, platform: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def none(triple: str) -> None:
        raise UserError("library", "A library cannot be exported without a C compiler; install gcc.")

    monkeypatch.setattr(make, "require_linker", none)
    with pytest.raises(UserError, match="without a C compiler"):
        make_library(imported, platform, {}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@needs_linker
def test_without_room_for_what_is_linked_nothing_is_built(
    imported: Any, platform: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _folder: SimpleNamespace(free=1 << 20))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(UserError, match=r"MiB in .* while it is linked and checked, and 1 MiB are free there"):
        make_library(imported, platform, {}, None)
    assert list(tmp_path.iterdir()) == []


@needs_linker
def test_what_cannot_run_here_is_exported_unchecked(imported: Any, platform: Any, records: Any, tmp_path: Path) -> None:
    elsewhere = dataclasses.replace(platform, runnable=False)
    report = make_library(imported, elsewhere, records, tmp_path / "out")
    assert (report.matches, report.max_abs_error, report.tuned, report.untuned) == (None, None, None, None)
    assert report.path is not None
    manifest = json.loads((Path(report.path) / "manifest.json").read_text())
    assert manifest["check"]["matches"] is None


def test_a_stop_leaves_nothing_behind(imported: Any, platform: Any, records: Any, tmp_path: Path) -> None:
    cancel = CancelToken()
    cancel.stop()
    with pytest.raises(Interrupted):
        make_library(imported, platform, records, tmp_path / "out", cancel=cancel)
    assert list(tmp_path.iterdir()) == []
