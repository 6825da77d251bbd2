"""Long sums of what lies side by side: the same results, in vectors, and pixels shared where channels are few."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te

from tcl_core.domain import Candidate, Replay, Task
from tcl_core.own_operators.maxima import greatest
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.space.kernel_tasks import task_of

VOLUME, PICTURES = (1, 4, 12, 12, 16), (1, 6, 18, 18, 8)
"""Channels last, and in blocks."""


def of_volume(shape: tuple[int, ...] = VOLUME) -> list[Any]:
    """Squares of what is off something, summed up over all but channels."""
    data, off = te.placeholder(shape, name="data"), te.placeholder((1, 1, 1, 1, shape[-1]), name="off")
    axes = [te.reduce_axis((0, extent)) for extent in shape[1:-1]]
    difference = te.compute(shape, lambda *at: data[at] - off[0, 0, 0, 0, at[-1]], name="difference")
    squares = te.compute(shape, lambda *at: difference[at] * difference[at], name="squares")
    result = te.compute(
        off.shape,
        lambda n, d, h, w, c: te.sum(squares[n, d + axes[0], h + axes[1], w + axes[2], c], axis=axes),
        name="total",
    )
    return [data, off, result]


def of_pictures(combine: Any = te.sum, power: int = 1, *, halved: bool = True) -> list[Any]:
    """A sum, or a maximum, by channel."""
    batch, chunks, height, width, lanes = shape = PICTURES
    data = te.placeholder(shape, name="data")
    h, w = te.reduce_axis((0, height)), te.reduce_axis((0, width))
    total = te.compute(
        (batch, chunks, 1, 1, lanes),
        lambda n, c, i, j, b: combine(math.prod([data[n, c, i + h, j + w, b]] * power), axis=[h, w]),
        name="total",
    )
    return [data, te.compute(total.shape, lambda *at: total[at] * 0.5, name="half") if halved else total]


KERNELS = {
    "volume": of_volume,
    "pictures": of_pictures,
    "maxima": lambda: of_pictures(te.max),
    "greatest": lambda: of_pictures(greatest),
    "squares": lambda: of_pictures(power=2),
    "alone": lambda: of_pictures(halved=False),
}


def run(module: Any, arrays: list[Any], shape: tuple[int, ...]) -> Any:
    result = tvm.runtime.tensor(np.zeros(shape, np.float32))
    tvm.compile(module, tvm.target.Target(json.loads(CPU_TARGET)))(*map(tvm.runtime.tensor, arrays), result)
    return result.numpy()


def space_of(kind: str) -> tuple[DesignSpace, list[tuple[int, ...]]]:
    tensors = KERNELS[kind]()
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in tensors]
    return DesignSpace(task_of(kind, tensors), CPU_TARGET), shapes


@pytest.mark.parametrize("kind", KERNELS)
def test_every_candidate_computes_what_the_task_does(kind: str) -> None:
    space, shapes = space_of(kind)
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(shape).astype(np.float32) for shape in shapes[:-1]]
    expected = run(tvm.ir.load_json(space.task.module_json), arrays, shapes[-1])
    sketch = space.sketches[-1]
    for _ in range(4):
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
        replay = space.replay(Candidate(kind, sketch.index, decisions))
        assert isinstance(replay, Replay)
        found = run(tvm.ir.load_json(replay.module_json), arrays, shapes[-1])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_vectors_hold_channels_and_threads_share_pixels() -> None:
    space, _ = space_of("volume")
    (sketch,) = space.sketches
    (domain,) = sketch.domains
    assert {value[0] for value in domain.values} == {2, 4, 6, 8}  # two threads, one result a lane
    assert {value[2] for value in domain.values} <= set(range(1, 9))
    result = space.schedule(Candidate("volume", 0, ((4, 48, 3),)))
    script = result.schedule.mod.script()  # type: ignore[union-attr]
    assert "T.parallel(4)" in script
    assert set(re.findall(r"T.vectorized\((\d+)\)", script)) == {"8"}
    assert "T.unroll(3)" in script


@pytest.mark.parametrize("kind", ["pictures", "maxima", "greatest", "squares", "alone"])
def test_each_has_this_sketch_alone(kind: str) -> None:
    (sketch,) = space_of(kind)[0].sketches
    assert "rfactor" in sketch.trace_json.lower()


@pytest.mark.parametrize(
    "tensors",
    [
        pytest.param(lambda: of_volume((1, 2, 3, 4, 16)), id="short"),
        pytest.param(lambda: of_volume((1, 4, 12, 12, 3)), id="no vectors"),
    ],
)
def test_others_are_left_to_metaschedule(tensors: Any) -> None:
    task: Task = task_of("other", tensors())
    stock = DesignSpace(task, CPU_TARGET, stock=True)
    assert [each.trace_json for each in DesignSpace(task, CPU_TARGET).sketches] == [
        each.trace_json for each in stock.sketches
    ]


def test_sums_along_what_lies_side_by_side_are_rows() -> None:
    data, k = te.placeholder((16, 512), name="data"), te.reduce_axis((0, 512))
    task = task_of("rows", [data, te.compute((16,), lambda i: te.sum(data[i, k], axis=[k]), name="total")])
    assert all("total_rf_init" not in each.trace_json for each in DesignSpace(task, CPU_TARGET).sketches)
    assert len(DesignSpace(task, CPU_TARGET).sketches) == len(DesignSpace(task, CPU_TARGET, stock=True).sketches)
