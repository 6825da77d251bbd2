"""Kernels that read a single number without axes, or give one: they have sketches, and what these compute is right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm

from tcl_core.config import NetworkConfig
from tcl_core.domain import Replay, Task
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET

NETWORKS = {
    "a product of vectors": "(float[256] a, float[256] b) => (float y) { y = MatMul(a, b) }",
    "a sum of squares": "(float[16, 256] x) => (float y) { y = ReduceSumSquare <keepdims = 0> (x) }",
    "a norm": "(float[64] x) => (float y) { y = ReduceL2 <keepdims = 0> (x) }",
    "a sum of products": "(float[128] a, float[128] b) => (float y) { m = Mul(a, b) y = ReduceSum <keepdims = 0> (m) }",
    "an Einstein sum": '(float[8, 32] a, float[8, 32] b) => (float y) { y = Einsum <equation = "ij,ij->"> (a, b) }',
    "sums by a number": """(float[1, 64, 64] x, float s) => (float[1, 1, 64] y) <int64[1] i = {1}>
        { m = Mul(x, s) y = ReduceSum(m, i) }""",
    "short sums by a number": """(float[8, 64] x, float s) => (float[1, 64] y) <int64[1] i = {0}>
        { m = Mul(x, s) y = ReduceSum(m, i) }""",
    "sums of rows by a number": """(float[8, 64] x, float s) => (float[8, 1] y) <int64[1] i = {1}>
        { m = Mul(x, s) y = ReduceSum(m, i) }""",
    "sums less a number": """(float[1, 64, 64] x, float s) => (float[1, 64] y) <int64[1] i = {1}>
        { d = Sub(x, s) y = ReduceSum <keepdims = 0> (d, i) }""",
    "maxima less a number": """(float[1, 64, 64] x, float s) => (float[1, 64] y)
        { d = Sub(x, s) y = ReduceMax <keepdims = 0, axes = [1]> (d) }""",
}


def tasks_of(text: str, folder: Path) -> tuple[Task, ...]:
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> net {text}'), folder / "net.onnx")
    config = NetworkConfig()
    return import_network(load_network(folder / "net.onnx", config), CPU_TARGET, config).tasks


def result_of(module_json: str, arguments: list[np.ndarray]) -> np.ndarray:
    given = [tvm.runtime.tensor(each) for each in arguments]
    tvm.compile(tvm.ir.load_json(module_json), tvm.target.Target(json.loads(CPU_TARGET)))(*given)
    result: np.ndarray = given[-1].numpy()
    return result


@pytest.mark.parametrize("text", NETWORKS.values(), ids=NETWORKS)
def test_a_candidate_of_each_sketch_computes_what_the_kernel_does(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    generator = np.random.default_rng(0)
    for task in tasks_of(text, tmp_path):
        space = DesignSpace(task, CPU_TARGET)
        assert space.sketches
        arguments = [generator.random(each.shape, np.float32) for each in task.arguments]
        expected = result_of(task.module_json, arguments)
        for sketch in space.sketches:
            choices = DecisionSpace(sketch)
            (candidate,) = choices.candidates(choices.random(1, generator))
            replay = space.replay(candidate)
            assert isinstance(replay, Replay)
            np.testing.assert_allclose(result_of(replay.module_json, arguments), expected, rtol=1e-5)
    assert not caplog.records or "ReduceMax" in text  # those TVM does not take apart by lanes
