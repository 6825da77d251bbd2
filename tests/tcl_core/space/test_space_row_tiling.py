"""Kernels that work row by row: the same results, sums by lanes, and everything of a row in one place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, topi
from tvm.s_tir.schedule import ScheduleError

from tcl_core.domain import Candidate, Replay, Task
from tcl_core.network.kernels.channel_norms import channel_norm_kernel
from tcl_core.network.kernels.softmax import softmax_kernel
from tcl_core.network.relax_graph.norms import DeviationNorm
from tcl_core.space import recipes
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.space.kernel_tasks import task_of

ROWS, COLUMNS = 12, 64


def layer_norm(columns: int = COLUMNS) -> Task:
    data = te.placeholder((1, ROWS, columns), name="data")
    scale, offset = (te.placeholder((columns,), name=name) for name in ("scale", "offset"))
    return task_of("layer norm", [data, scale, offset, topi.nn.layer_norm(data, scale, offset, [2], 1e-5)])


def root_mean_square() -> Task:
    data, scale = te.placeholder((ROWS, COLUMNS), name="data"), te.placeholder((COLUMNS,), name="scale")
    return task_of("rms", [data, scale, topi.nn.rms_norm(data, scale, [1], 1e-5)])


def softmax() -> Task:
    module = tvm.IRModule({"main": softmax_kernel((1, 3, 4, COLUMNS), 8).with_attr("global_symbol", "main")})
    return replace(layer_norm(), key="softmax", module_json=tvm.ir.save_json(module))


def plain_softmax(columns: int) -> Task:
    data = te.placeholder((1, 3, 4, columns), name="data")
    return task_of("softmax", [data, topi.nn.fast_softmax(data)])


def channel_norm(shape: tuple[int, ...], *, in_blocks: bool) -> Task:
    kernel = channel_norm_kernel(DeviationNorm(epsilon=1e-5), shape, in_blocks=in_blocks)
    module = tvm.IRModule({"main": kernel.with_attr("global_symbol", "main")})
    return replace(layer_norm(), key="channel norm", module_json=tvm.ir.save_json(module))


PICTURE = (2, 4, 3, 5, 8)
"""[batch, chunks, height, width, lanes]."""


KERNELS: dict[str, tuple[Callable[[], Task], list[tuple[int, ...]]]] = {
    "layer norm": (layer_norm, [(1, ROWS, COLUMNS), (COLUMNS,), (COLUMNS,)]),
    "root mean square": (root_mean_square, [(ROWS, COLUMNS), (COLUMNS,)]),
    "softmax": (softmax, [(1, 3, 4, COLUMNS)]),
    "layer norm of no whole vectors": (partial(layer_norm, 100), [(1, ROWS, 100), (100,), (100,)]),
    "channel norm": (partial(channel_norm, PICTURE, in_blocks=True), [PICTURE, (32,), (32,)]),
    "channel norm of few lanes": (
        partial(channel_norm, (1, 8, 3, 5, 4), in_blocks=True),
        [(1, 8, 3, 5, 4), (32,), (32,)],
    ),
    "softmax of no whole vectors": (partial(plain_softmax, 77), [(1, 3, 4, 77)]),
    "softmax of a vector and a half": (partial(plain_softmax, 12), [(1, 3, 4, 12)]),
    "softmax of less than a vector": (partial(plain_softmax, 5), [(1, 3, 4, 5)]),
    "softmax of a vector and half of one": (partial(plain_softmax, 20), [(1, 3, 4, 20)]),
}
"""What makes them, and the shapes of their arguments."""


def run(module: Any, arguments: list[Any]) -> Any:
    result = tvm.runtime.tensor(np.zeros(arguments[0].shape, np.float32))
    tvm.compile(module, tvm.target.Target(json.loads(CPU_TARGET)))(*map(tvm.runtime.tensor, arguments), result)
    return result.numpy()


@pytest.mark.parametrize("kind", KERNELS)
def test_every_candidate_computes_what_the_task_does(kind: str) -> None:
    make, shapes = KERNELS[kind]
    task = make()
    space = DesignSpace(task, CPU_TARGET)
    generator = np.random.default_rng(0)
    arguments = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    expected = run(tvm.ir.load_json(task.module_json), arguments)
    (sketch,) = space.sketches
    for _ in range(4):
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
        replay = space.replay(Candidate(task.key, 0, decisions))
        assert isinstance(replay, Replay)
        found = run(tvm.ir.load_json(replay.module_json), arguments)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_lanes_are_whole_vectors_and_rows_an_even_share() -> None:
    (sketch,) = DesignSpace(layer_norm(), CPU_TARGET).sketches
    *sums, shared = sketch.domains
    assert len(sums) == 2
    for domain in sums:
        assert {value[1] for value in domain.values} == {8, 16, 32, 64}
    assert {value[0] for value in shared.values} == {2, 4, 6, 12}


def test_sums_of_no_whole_vectors_are_taken_by_lanes() -> None:
    space = DesignSpace(layer_norm(100), CPU_TARGET)
    replay = space.replay(Candidate("layer norm", 0, ((4, 25), (10, 10), (6, 2))))
    assert isinstance(replay, Replay)
    script = tvm.ir.load_json(replay.module_json).script()
    assert [lanes for lanes in re.findall(r"T.vectorized\((\d+)\)", script) if lanes != "1"] == ["25"] * 2 + ["10"] * 2


@pytest.mark.parametrize("kind", KERNELS)
def test_all_of_a_row_is_computed_beside_it(kind: str) -> None:
    task = KERNELS[kind][0]()
    space = DesignSpace(task, CPU_TARGET)
    (sketch,) = space.sketches
    decisions = tuple(domain.values[-1] for domain in sketch.domains)
    schedule = space.schedule(Candidate(task.key, 0, decisions)).schedule  # type: ignore[union-attr]
    outermost = set()
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        shared, *_ = schedule.get_loops(block)
        outermost.add(str(schedule.get(shared).loop_var.name))
        assert schedule.get(shared).kind == tvm.tirx.ForKind.PARALLEL
    assert len(outermost) == 1


def test_rows_come_out_of_blocks() -> None:
    """Rows of channels: the result has another shape than what is read."""
    task = channel_norm(PICTURE, in_blocks=False)
    generator = np.random.default_rng(0)
    picture = tvm.runtime.tensor(generator.standard_normal(PICTURE).astype(np.float32))
    weights = [tvm.runtime.tensor(generator.standard_normal(32).astype(np.float32)) for _ in range(2)]
    space = DesignSpace(task, CPU_TARGET)
    ((shared,),) = (sketch.domains for sketch in space.sketches)
    results = []
    for module in (task.module_json, *(_replayed(space, task, value) for value in shared.values)):
        result = tvm.runtime.tensor(np.zeros((2, 3, 5, 32), np.float32))
        tvm.compile(tvm.ir.load_json(module), tvm.target.Target(json.loads(CPU_TARGET)))(picture, *weights, result)
        results.append(result.numpy())
    assert len(results) == 1 + len(shared.values) > 2
    np.testing.assert_allclose(results[1:], np.broadcast_to(results[0], (len(results) - 1, 2, 3, 5, 32)), rtol=1e-4)


def _replayed(space: DesignSpace, task: Task, shared: tuple[int, ...]) -> str:
    replay = space.replay(Candidate(task.key, 0, (shared,)))
    assert isinstance(replay, Replay)
    return replay.module_json


def sums_of_columns() -> Task:
    """Of as many columns as the rows that they are added to have."""
    data, row = te.placeholder((3, 5, COLUMNS), name="data"), te.placeholder((3, COLUMNS), name="row")
    along = te.reduce_axis((0, 5), name="along")
    total = te.compute((3, COLUMNS), lambda i, j: te.sum(data[i, along, j], axis=along), name="total")
    return task_of("columns", [data, row, te.compute((3, COLUMNS), lambda i, j: total[i, j] * row[i, j], name="out")])


def test_a_number_that_all_rows_are_multiplied_by_is_read_beside_them() -> None:
    data, by = te.placeholder((ROWS, COLUMNS), name="data"), te.placeholder((), name="by")
    along = te.reduce_axis((0, COLUMNS), name="along")
    total = te.compute((ROWS,), lambda i: te.sum(data[i, along] * by(), axis=along), name="total")
    out = te.compute((ROWS, COLUMNS), lambda i, j: data[i, j] * total[i], name="out")
    (sketch,) = DesignSpace(task_of("scaled", [data, by, out]), CPU_TARGET).sketches
    assert len(sketch.domains) == 2  # of lanes, and of rows


def over_rows() -> Task:
    data = te.placeholder((ROWS, COLUMNS), name="data")
    return task_of("over rows", [data, topi.nn.softmax(data, axis=0)])


WIDE = json.dumps({**json.loads(CPU_TARGET), "mcpu": "x86-64-v4"})
"""Vectors of 16."""


def test_rows_that_end_in_half_a_vector_have_it_too() -> None:
    assert len(DesignSpace(plain_softmax(56), WIDE).sketches) == 1


def test_sums_of_whole_vectors_are_vectors_too() -> None:
    space = DesignSpace(layer_norm(), CPU_TARGET)
    result = space.schedule(Candidate("layer norm", 0, ((8, 8), (4, 16), (6, 2))))
    script = result.schedule.mod.script()  # type: ignore[union-attr]
    assert set(re.findall(r"T.vectorized\((\d+)\)", script)) == {"16", "8"}


@pytest.mark.parametrize("target", [CPU_TARGET, WIDE])
def test_rows_are_taken_together_only_where_they_end_together(target: str) -> None:
    """Attention in windows of 7 x 7: no candidate is drawn that TVM could not make."""
    data = te.placeholder((16, 6, 49, 49), name="data")
    task = task_of("softmax", [data, topi.nn.fast_softmax(data)])
    space = DesignSpace(task, target)
    (sketch,) = space.sketches
    *sums, shared = sketch.domains
    assert {1, 7, 49, 98} <= {value[1] for value in shared.values}
    assert not {14, 21, 28, 42} & {value[1] for value in shared.values}
    for value in shared.values:
        decisions = (*(domain.values[-1] for domain in sums), value)
        assert isinstance(space.replay(Candidate(task.key, 0, decisions)), Replay), value


def nothing_summed() -> Task:
    data = te.placeholder((ROWS, COLUMNS), name="data")
    return task_of("plain", [data, topi.exp(data)])


def means_of_rows() -> Task:
    """Results that lie in a row, each of a row of its own."""
    data = te.placeholder((1, ROWS, COLUMNS), name="data")
    total = topi.sum(data, axis=2)
    return task_of("means", [data, te.compute((1, ROWS), lambda *at: total(*at) / COLUMNS, name="mean")])


@pytest.mark.parametrize("make", [over_rows, sums_of_columns, means_of_rows, nothing_summed])
def test_other_kernels_are_left_to_other_rules(make: Callable[[], Task]) -> None:
    task = make()
    stock = DesignSpace(task, CPU_TARGET, stock=True)
    assert [each.trace_json for each in DesignSpace(task, CPU_TARGET).sketches] == [
        each.trace_json for each in stock.sketches
    ]


def test_what_tvm_cannot_schedule_so_is_left_to_metaschedule(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: object) -> None:
        raise ScheduleError("ScheduleError: the loop is not to be made a vector")

    monkeypatch.setattr(recipes, "with_row_tiling", refused)
    task = layer_norm()
    stock = DesignSpace(task, CPU_TARGET, stock=True).sketches
    assert [each.trace_json for each in DesignSpace(task, CPU_TARGET).sketches] == [each.trace_json for each in stock]
    (record,) = caplog.records
    assert "layer norm has MetaSchedule's sketches" in record.message
    assert "not to be made a vector" in record.message
    caplog.clear()
