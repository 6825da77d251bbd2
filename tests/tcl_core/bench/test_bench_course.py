"""What is raced on, and that what nobody tuned is timed as it was imported."""

from __future__ import annotations

import math
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tcl_core.bench import race
from tcl_core.bench.course import LEAST_TRIALS, ROUND, Course, lay_out
from tcl_core.bench.lap import Lap
from tcl_core.bench.race import WARM, XGB, Track


@pytest.fixture(scope="module")
def own_way(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return lay_out(None, tmp_path_factory.mktemp("course"), same_tasks=False)


def test_the_peers_import_the_network_their_own_way(own_way: Course) -> None:
    (plain,) = own_way.peers_tasks
    assert plain.anchor == "conv2d_nchw"
    assert {"winograd_product"} <= {task.name for task in own_way.tasks}
    assert own_way.trials == LEAST_TRIALS
    told = f"{len(own_way.tasks)} tasks as ours imports it, 1 as the peers do, {LEAST_TRIALS} trials each"
    assert own_way.subject.endswith(told)


def test_or_get_our_tasks_and_a_round_for_each(own_way: Course, tmp_path: Path) -> None:
    same = lay_out(None, tmp_path, same_tasks=True)
    assert {task.key for task in same.peers_tasks} == {task.key for task in own_way.tasks}
    assert same.trials == max(LEAST_TRIALS, ROUND * len(own_way.tasks))
    assert f"the same {len(own_way.tasks)} tasks of our import for all" in same.subject


@pytest.fixture
def small(tmp_path: Path) -> Path:
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, 16]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "x"], ["y"])], "small", info[:1], info[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), tmp_path / "s.onnx")
    return tmp_path / "s.onnx"


def test_what_a_contender_did_not_tune_is_timed_as_it_was_imported(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_found(*_: object) -> Lap:
        return Lap(seconds=2.0, trials=0, modules=(), history=())

    monkeypatch.setattr(race, "tune_ours", nothing_found)
    monkeypatch.setattr(race, "run_stock", nothing_found)
    told: list[str] = []
    with Track(told.append, [str(small)], same_tasks=False) as track:
        found = track.race((WARM, XGB), seed=0)
    assert found.tasks == track.course.tasks
    assert all(math.isfinite(seconds) and seconds > 0.0 for seconds in found.network_s.values())
    assert f"{XGB}: 0 trials in 2.0 s" in told
    digest = track.course.opened.imported.network.digest
    assert track.course.subject.startswith(f"all of s ({digest[:8]}): ")
