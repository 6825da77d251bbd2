"""The sweep over single nodes: it sees what differs, what is refused and what ends its process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import check_node_tests
import numpy as np
import onnx
import onnx.helper
import pytest
from check_node_tests import AGREES, DIFFERS, FAILED, LEFT_OUT, REFUSED, check, checked

from tcl_core.domain import Platform
from tcl_core.hardware.target import resolve_platform

ROOT = Path(__file__).resolve().parents[2]


def case(operator: str, given: Any, expected: Any, name: str = "test_it", **attributes: Any) -> Any:
    names = [f"x{at}" for at in range(len(given))]
    values = [
        onnx.helper.make_tensor_value_info(
            each, onnx.helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype), np.asarray(array).shape
        )
        for each, array in zip([*names, "y"], [*given, expected], strict=True)
    ]
    node = onnx.helper.make_node(operator, names, ["y"], **attributes)
    graph = onnx.helper.make_graph([node], "test", values[:-1], values[-1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    return SimpleNamespace(name=name, model=model, data_sets=[(given, [expected])])


@pytest.fixture
def platform() -> Platform:
    return resolve_platform("cpu", 1, measure=False)


HALVES = np.array([-1.5, 0.5], np.float32)


def test_results_are_held_against_onnxruntime(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    relu = case("Relu", [HALVES], np.zeros(2, np.float32))
    assert check(relu, platform, constants=False).outcome == AGREES
    monkeypatch.setattr(check_node_tests, "_run", lambda *_: ([HALVES], ["y"]))
    found = check(relu, platform, constants=False)
    assert (found.outcome, found.why) == (DIFFERS, "y: 1 of 2")
    monkeypatch.setattr(check_node_tests, "_run", lambda *_: ([np.array([0.0, 0.5])], ["y"]))
    assert check(relu, platform, constants=False).why == "float64 for float32"


def test_inputs_behind_the_first_may_become_constants(platform: Platform) -> None:
    total = case("ReduceSum", [HALVES[None], np.array([1])], np.array([[-1]], np.float32))
    refused = check(total, platform, constants=False)
    assert refused.outcome == REFUSED and "ReduceSum" in refused.why
    assert check(total, platform, constants=True).outcome == AGREES


def test_what_is_no_tensor_is_left_out(platform: Platform) -> None:
    text = case("Identity", [HALVES], HALVES)
    text.data_sets = [([np.array(["a"], object)], [HALVES])]
    assert check(text, platform, constants=False).outcome == LEFT_OUT


def test_a_test_that_fails_fails_alone(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(one: Any, *_: Any, **__: Any) -> check_node_tests.Found:
        if one.name == "ends":
            os._exit(3)
        if one.name == "raises":
            raise KeyError(one.name)
        if one.name == "hangs":
            time.sleep(600)
        return check_node_tests.Found(outcome=AGREES)

    monkeypatch.setattr(check_node_tests, "check", answer)
    monkeypatch.setattr(check_node_tests, "_LIMIT_S", 1.0)
    tests = [SimpleNamespace(name=name) for name in ("ends", "raises", "hangs", "agrees")]
    found = dict(checked(tests, platform, constants=False))
    assert [found[name].outcome for name in ("ends", "raises", "hangs", "agrees")] == [FAILED, FAILED, FAILED, AGREES]
    assert found["raises"].why == "KeyError: 'raises'"


def test_it_runs_from_the_checkout() -> None:
    line = [sys.executable, "packaging/check_node_tests.py", "--only", "test_isinf"]
    done = subprocess.run(line, check=False, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "agrees: 4\n"), done.stderr
