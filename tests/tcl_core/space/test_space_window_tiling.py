"""The sketch of depthwise convolutions and pooling: right for every window, the only one, and for no other kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tvm
from scipy.special import expit
from tvm import te, topi

from tcl_core.domain import Candidate, DecisionKind, Replay, Task
from tcl_core.network.kernels import convolutions
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.space.kernel_tasks import task_of

CHUNKS, LANE_COUNT = 3, 8


@dataclass(frozen=True, kw_only=True)
class Window:
    """Of a depthwise convolution over a picture of `rows` x `rows`."""

    rows: int
    size: int = 3
    stride: int = 1
    padding: int = 1
    dilation: int = 1


def depthwise(window: Window, behind: Callable[[Any], Any] | None) -> Task:
    data = te.placeholder((1, CHUNKS, window.rows, window.rows, LANE_COUNT), name="data")
    kernel = te.placeholder((CHUNKS, 1, window.size, window.size, 1, LANE_COUNT), name="kernel")
    steps = [window.stride] * 2, [window.padding] * 4, [window.dilation] * 2
    result = convolutions.depthwise(data, kernel, *steps)
    last = result if behind is None else behind(result)
    return task_of("depthwise", [data, kernel, last])


def expected(window: Window, data: Any, kernel: Any) -> Any:
    edge = (window.padding, window.padding)
    padded = np.pad(data, ((0, 0), (0, 0), edge, edge, (0, 0)))
    reach = (window.size - 1) * window.dilation + 1
    windows = np.lib.stride_tricks.sliding_window_view(padded, (reach, reach), (2, 3))
    seen = windows[:, :, :: window.stride, :: window.stride, :, :: window.dilation, :: window.dilation]
    return np.einsum("nchwbrs,crsb->nchwb", seen, kernel[:, 0, :, :, 0])


def clipped(value: Any) -> Any:
    return topi.clip(value * 2.0 + 1.0, 0.0, 6.0)


def gated(value: Any) -> Any:
    """A SiLU: results are read twice."""
    return value * topi.sigmoid(value)


CASES = {
    "plain": (Window(rows=8), None),
    "activated": (Window(rows=8), clipped),
    "strided": (Window(rows=9, stride=2), clipped),
    "unpadded": (Window(rows=8, padding=0), clipped),
    "wide": (Window(rows=10, size=5, padding=2), clipped),
    "dilated": (Window(rows=10, padding=2, dilation=2), None),
    "read twice": (Window(rows=8), gated),
}


EXPECTED_BEHIND = {None: lambda x: x, clipped: lambda x: np.clip(x * 2 + 1, 0, 6), gated: lambda x: x * expit(x)}


@pytest.mark.parametrize("name", CASES)
def test_every_candidate_computes_the_same(name: str) -> None:
    window, behind = CASES[name]
    space = DesignSpace(depthwise(window, behind), CPU_TARGET)
    (sketch,) = space.sketches
    generator = np.random.default_rng(0)
    data = generator.standard_normal((1, CHUNKS, window.rows, window.rows, LANE_COUNT)).astype(np.float32)
    kernel = generator.standard_normal((CHUNKS, 1, window.size, window.size, 1, LANE_COUNT)).astype(np.float32)
    wanted = expected(window, data, kernel)
    wanted = {None: lambda x: x, clipped: lambda x: np.clip(x * 2 + 1, 0, 6), gated: lambda x: x * expit(x)}[behind](
        wanted
    )
    for _ in range(4):
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
        replay = space.replay(Candidate("depthwise", 0, decisions))
        assert isinstance(replay, Replay)
        assert replay.candidate.decisions == decisions
        module = tvm.ir.load_json(replay.module_json)
        result = tvm.runtime.tensor(np.zeros(wanted.shape, np.float32))
        target = tvm.target.Target(json.loads(CPU_TARGET))
        tvm.compile(module, target)(tvm.runtime.tensor(data), tvm.runtime.tensor(kernel), result)
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-4, atol=1e-4)


def pooling(kind: str, layout: str = f"NCHW{LANE_COUNT}c") -> Task:
    """3 x 3 with steps of 2, behind which the results are doubled."""
    shape = (1, CHUNKS, 15, 15, LANE_COUNT) if layout.endswith("c") else (1, CHUNKS, 15, 15)
    data = te.placeholder(shape, name="data")
    pooled = topi.nn.pool2d(data, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], kind, layout=layout, count_include_pad=False)
    return task_of("pooling", [data, pooled * 2.0])


@pytest.mark.parametrize(("kind", "outside", "combine"), [("max", -np.inf, np.nanmax), ("avg", np.nan, np.nanmean)])
def test_pooling_slides_a_window_too(kind: str, outside: float, combine: Callable[..., Any]) -> None:
    space = DesignSpace(pooling(kind), CPU_TARGET)
    (sketch,) = space.sketches
    assert len(sketch.domains) == 3
    generator = np.random.default_rng(0)
    data = generator.standard_normal((1, CHUNKS, 15, 15, LANE_COUNT)).astype(np.float32)
    edge = (1, 1)
    padded = np.pad(data, ((0, 0), (0, 0), edge, edge, (0, 0)), constant_values=outside)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    wanted = 2 * combine(windows, axis=(-2, -1))
    for _ in range(3):
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
        replay = space.replay(Candidate("pooling", 0, decisions))
        assert isinstance(replay, Replay)
        result = tvm.runtime.tensor(np.zeros(wanted.shape, np.float32))
        target = tvm.target.Target(json.loads(CPU_TARGET))
        tvm.compile(tvm.ir.load_json(replay.module_json), target)(tvm.runtime.tensor(data), result)
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_pooling_in_a_plain_layout_is_left_to_metaschedule() -> None:
    plain = pooling("max", "NCHW")
    own, stock = (DesignSpace(plain, CPU_TARGET, stock=each).sketches for each in (False, True))
    assert [sketch.trace_json for sketch in own] == [sketch.trace_json for sketch in stock]


def test_rows_and_columns_are_tiled_and_nothing_else() -> None:
    (sketch,) = DesignSpace(depthwise(Window(rows=14), clipped), CPU_TARGET).sketches
    rows, columns, unrolled = sketch.domains
    assert rows.values == ((2, 7), (7, 2), (14, 1)), "two threads share the rows"
    assert columns.values == ((1, 14), (2, 7), (7, 2), (14, 1))
    assert unrolled.kind is DecisionKind.CATEGORY


def test_a_vector_holds_the_lanes_of_one_pixel() -> None:
    space = DesignSpace(depthwise(Window(rows=14), clipped), CPU_TARGET)
    replay = space.replay(Candidate("depthwise", 0, ((2, 7), (2, 7), (0,))))
    assert isinstance(replay, Replay)
    script = tvm.ir.load_json(replay.module_json).script()
    assert "T.vectorized(8)" in script
    assert "pad" not in script, "the padding is no tensor of its own"


def test_the_stock_space_is_metaschedules() -> None:
    sketches = DesignSpace(depthwise(Window(rows=14), clipped), CPU_TARGET, stock=True).sketches
    assert len(sketches) == 3
    assert all(len(sketch.domains) > 3 for sketch in sketches)


def test_a_kernel_that_goes_on_otherwise_is_left_to_metaschedule() -> None:
    """Results that are moved, or summed up."""
    for behind in (lambda value: topi.transpose(value, (0, 1, 4, 2, 3)), lambda value: topi.sum(value, axis=(2, 3))):
        sketches = DesignSpace(depthwise(Window(rows=10), behind), CPU_TARGET).sketches
        assert sketches and all(len(sketch.domains) > 3 for sketch in sketches)
