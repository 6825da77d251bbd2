"""The command line as a person uses it: a run, its continuation, Ctrl+C, `kill -9` at random points, an export."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import psutil
import pytest
from process_ends import all_gone

from tcl_core.domain import Record
from tcl_core.store import Workspace

ROOT = Path(__file__).parents[2]


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "main.py"), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of one task, for what does not depend on the network."""
    helper = onnx.helper
    weight = onnx.numpy_helper.from_array(np.random.default_rng(0).standard_normal((64, 96), np.float32), "weight")
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [128, 64])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [128, 96])
    nodes = [helper.make_node("MatMul", ["x", "weight"], ["product"]), helper.make_node("Relu", ["product"], ["y"])]
    graph = helper.make_graph(nodes, "small", [x], [y], [weight])
    path = tmp_path_factory.mktemp("network") / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(path))
    return path


def tune(network: Path, workspace: Path, *arguments: str) -> subprocess.Popen[str]:
    return start("tune", str(network), "--workspace", str(workspace), "--cost-model", "random", *arguments)


def candidates_until(process: subprocess.Popen[str], count: int) -> int:
    """Read the run's lines until so many candidates were reported; each is committed before it is printed."""
    assert process.stderr is not None
    seen = 0
    for line in process.stderr:
        seen += line.startswith("[")
        if seen == count:
            return seen
    raise AssertionError("the run ended early")


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate()
    return process.returncode, out, err


def records(workspace: Path) -> tuple[Record, ...]:
    with Workspace.open(workspace, create=False, read_only=True) as opened:
        return opened.records()


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A workspace after one short run of the sample with the Mamba model, and what the run said."""
    workspace = tmp_path_factory.mktemp("tuned") / "w"
    status, out, err = finish(start("tune", "--workspace", str(workspace), "--trials", "96", "--json"))
    assert status == 0, err
    return workspace, json.loads(out)


def test_a_run_tells_what_the_contract_names(tuned: tuple[Path, dict[str, Any]]) -> None:
    workspace, result = tuned
    assert result["network"] == "sample"
    assert result["trials"] == 96 == len(records(workspace))
    assert set(result["seconds_by_stage"]) == {"search", "compile", "measure", "learn"}
    assert set(result["latency_ms"]) == {"untuned", "tuned", "onnxruntime"}
    assert result["candidates_scored"] > 1000
    assert result["matches"] is True
    assert all(latency_ms > 0 for latency_ms in result["latency_ms"].values())  # which is least, `bench` measures
    assert (Path(result["library"]) / "manifest.json").is_file()
    assert {"platform", "target", "tasks", "failed", "seconds", "max_abs_error", "workspace"} <= set(result)


def test_predictions_and_reasons_are_kept(tuned: tuple[Path, dict[str, Any]]) -> None:
    scored = [record.rationale for record in records(tuned[0]) if record.rationale.score is not None]
    assert scored
    assert any(rationale.diversity is not None and rationale.uncertainty is not None for rationale in scored)


def test_the_same_workspace_continues(tuned: tuple[Path, dict[str, Any]]) -> None:
    workspace, _ = tuned
    before = {record.candidate for record in records(workspace)}
    checkpoints = list((workspace / "checkpoints").glob("*.safetensors"))
    assert checkpoints
    status, out, err = finish(start("tune", "--workspace", str(workspace), "--trials", "6", "--json"))
    assert status == 0, err
    result = json.loads(out)
    assert result["resumed_records"] == len(before)
    assert len({record.candidate for record in records(workspace)}) == len(before) + 6


def test_an_export_runs(tuned: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    workspace, _ = tuned
    out = tmp_path / "bundle"
    status, text, err = finish(start("export", "--workspace", str(workspace), "--out", str(out), "--json"))
    assert status == 0, err
    assert json.loads(text)["matches"] is True
    done = subprocess.run([sys.executable, "run.py"], cwd=out, capture_output=True, text=True, check=True)
    assert "latency" in done.stdout


def test_a_library_is_verified_and_its_run_reported(tuned: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    workspace, _ = tuned
    status, text, err = finish(start("verify", "--workspace", str(workspace), "--times", "--json"))
    assert status == 0, err
    told = json.loads(text)
    assert told["matches"] is True and told["library"] is None
    assert all(output["beyond_tolerance"] == 0 for output in told["outputs"])
    for rival in ("untuned", "onnxruntime"):
        contest = told["against"][rival]
        (low, high), verdict = contest["interval"], contest["verdict"]
        assert contest["rounds"] >= 6 and low <= contest["speed_up"] <= high
        # Which of them is the machine's to say: it has other work while tests run side by side.
        assert verdict == ("faster" if low > 1 else "slower" if high < 1 else "tie")
    out = tmp_path / "run.html"
    status, text, err = finish(start("report", "--workspace", str(workspace), "--run", "1", "--out", str(out)))
    assert status == 0, err
    page = out.read_text(encoding="utf-8")
    assert "Same results as onnxruntime" in page and "<svg" in page


def test_killed_at_random_points_nothing_committed_is_lost(small: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    generator = random.Random(5)
    known = 0
    for _ in range(3):
        process = tune(small, workspace, "--trials", "5000")
        seen = candidates_until(process, generator.randint(1, 12))
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert all_gone(children)
        found = len(records(workspace))
        assert found >= known + seen
        known = found
    status, out, err = finish(tune(small, workspace, "--trials", "2", "--json"))
    assert status == 0, err
    assert json.loads(out)["resumed_records"] == known


def test_a_killed_worker_costs_at_most_its_candidate(small: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    process = tune(small, workspace, "--trials", "24", "--json")
    candidates_until(process, 2)
    forked = [child for child in psutil.Process(process.pid).children(recursive=True) if not child.children()]
    victims = [child for child in forked if "resource_tracker" not in " ".join(child.cmdline())]
    assert victims
    victims[-1].kill()
    status, out, err = finish(process)
    assert status == 0, err
    result = json.loads(out)
    assert result["trials"] == 24
    assert result["failed"] <= 2


def test_ctrl_c_saves_and_a_second_one_ends_at_once(small: Path, tmp_path: Path) -> None:
    process = tune(small, tmp_path / "once", "--trials", "5000")
    seen = candidates_until(process, 2)
    process.send_signal(signal.SIGINT)
    status, _, err = finish(process)
    assert status == 130, err
    assert "Everything measured is saved; the same command goes on from there." in err
    assert len(records(tmp_path / "once")) >= seen

    process = tune(small, tmp_path / "twice", "--trials", "5000")
    seen = candidates_until(process, 2)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    status, _, _ = finish(process)
    assert status == 130
    assert all_gone(children)
    assert len(records(tmp_path / "twice")) >= seen


def test_a_workspace_in_use_is_refused(small: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    process = tune(small, workspace, "--trials", "5000")
    candidates_until(process, 1)
    status, out, err = finish(tune(small, workspace, "--trials", "2"))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (status, out) == (2, "")
    assert str(process.pid) in err
