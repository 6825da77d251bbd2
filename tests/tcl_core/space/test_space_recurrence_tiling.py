"""Steps one after another: every candidate computes them, and threads share the groups of one or nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.s_tir.meta_schedule.arg_info import ArgInfo

from tcl_core.domain import Candidate, DecisionDomain, DecisionKind, Replay, Task
from tcl_core.network.recurrence.recurrence_kernel import Cell, recurrence_kernel
from tcl_core.space.design_space import DesignSpace
from tcl_core.space.recurrence_tiling import Recurrence, Tile, find_recurrence, narrowed, tiles_of
from tcl_core.space.register_tiles import Registers
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.network import recurrent_models
from tests.tcl_core.space.kernel_tasks import task_of

LSTM, GRU = (replace(cell, steps=3, batch=6, hidden=20) for cell in (recurrent_models.LSTM, recurrent_models.GRU))
CELLS = {
    "LSTM": LSTM,
    "one sequence": replace(LSTM, batch=1),
    "GRU": GRU,
    "GRU, reset behind its product": replace(GRU, reset_after=True),
    "RNN": replace(LSTM, kind="RNN", activations=("Tanh",), backwards=True),
}
AVX2, AVX512 = Registers(number=16, bits=256), Registers(number=32, bits=512)
SSE = Registers(number=16, bits=128)


def kernel(cell: Cell) -> Any:
    return tvm.IRModule({"main": recurrence_kernel(cell).with_attr("global_symbol", "main")})


def task(cell: Cell) -> Task:
    value = te.placeholder((1,), name="value")
    return replace(task_of(cell.kind, [value]), module_json=tvm.ir.save_json(kernel(cell)))


def run(module: Any, results: int) -> list[Any]:
    generator = np.random.default_rng(0)
    shapes = [tuple(int(extent) for extent in each.shape) for each in ArgInfo.from_prim_func(module["main"])]
    arguments = [
        tvm.runtime.tensor((generator.standard_normal(shape) / 2).astype(np.float32)) for shape in shapes[:-results]
    ]
    made = [tvm.runtime.tensor(np.full(shape, np.nan, np.float32)) for shape in shapes[-results:]]
    tvm.compile(module, tvm.target.Target(json.loads(CPU_TARGET)))(*arguments, *made)
    return [each.numpy() for each in made]


@pytest.mark.parametrize("stock", [False, True], ids=["ours", "MetaSchedule's"])
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_every_candidate_computes_what_the_task_does(cell: Cell, stock: bool) -> None:
    space = DesignSpace(task(cell), CPU_TARGET, stock=stock)
    generator = np.random.default_rng(0)
    results = 2 if cell.kind == "LSTM" else 1
    expected = run(kernel(cell), results)
    replays = []
    for sketch in space.sketches[:2]:
        for _ in range(2):
            decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
            replays.append(space.replay(Candidate(cell.kind, sketch.index, decisions)))
            assert stock or isinstance(replays[-1], Replay)
    for replay in (each for each in replays if isinstance(each, Replay)):
        for found, wanted in zip(run(tvm.ir.load_json(replay.module_json), results), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_threads_share_groups_evenly_or_not_at_all() -> None:
    for sketch in DesignSpace(task(LSTM), CPU_TARGET).sketches:
        groups, sums = sketch.domains
        assert {value[0] for value in groups.values} <= {1, 2}
        assert {value[-1] for value in sums.values} == {1, 2, 4}
    (sketch, *_) = DesignSpace(task(replace(LSTM, hidden=64)), CPU_TARGET).sketches
    assert {value[0] for value in sketch.domains[0].values} == {1, 2}


@pytest.mark.parametrize(("threads", "shares"), [(1, {1}), (4, {1, 4}), (5, {1, 4}), (8, {1, 6}), (64, {1, 12})])
def test_so_many_threads_share_them_as_come_out_even(threads: int, shares: set[int]) -> None:
    values = tuple((share, 12 // share) for share in (1, 2, 3, 4, 6, 12))
    groups, sums = (DecisionDomain(instruction=at, kind=DecisionKind.TILE, values=values) for at in range(2))
    narrow, whole = narrowed([groups, sums], threads)
    assert {value[0] for value in narrow.values} == shares
    assert whole == sums


@pytest.mark.parametrize(
    ("sequences", "groups", "gates", "registers", "best"),
    [
        (1, 4, 4, AVX2, Tile(sequences=1, groups=1, apart=False)),
        (1, 4, 4, AVX512, Tile(sequences=1, groups=4, apart=False)),
        (8, 16, 4, AVX2, Tile(sequences=4, groups=1, apart=True)),
        (6, 2, 4, AVX512, Tile(sequences=6, groups=1, apart=False)),
        (1, 8, 1, AVX2, Tile(sequences=1, groups=4, apart=False)),
        (1, 1, 4, SSE, Tile(sequences=1, groups=1, apart=True)),
    ],
)
def test_tiles_fill_registers(sequences: int, groups: int, gates: int, registers: Registers, best: Tile) -> None:
    recurrence = Recurrence(
        phases=(),
        copies=(),
        sequences=sequences,
        groups=groups,
        gates=gates,
        lanes=registers.bits // 32,
        vectors=512 // registers.bits,
    )
    tiles = tiles_of(recurrence, registers)
    assert tiles[0] == best
    assert 1 <= len(tiles) <= 4
    for tile in tiles:
        assert tile.sequences * tile.side_by_side(recurrence) <= registers.number


def test_the_products_run_in_vectors_and_the_steps_do_not_run_in_threads() -> None:
    space = DesignSpace(task(replace(LSTM, hidden=64)), CPU_TARGET)
    sketch = space.sketches[0]
    shared = next(value for value in sketch.domains[0].values if value[0] == 2)
    replay = space.replay(Candidate("LSTM", 0, (shared, (32, 2))))
    assert isinstance(replay, Replay)
    source = tvm.ir.load_json(replay.module_json).script()
    steps = source.index('T.sblock("steps")')
    assert "T.parallel" not in source[:steps]
    assert "T.parallel(2)" in source[steps:]
    assert "T.vectorized(8)" in source[source.index('T.sblock("product_update")') - 400 :]


def test_other_kernels_have_no_steps() -> None:
    assert find_recurrence(kernel(GRU), AVX2) is not None
    value = te.placeholder((4, 16), name="value")
    doubled = te.compute(value.shape, lambda *at: value[at] * 2, name="doubled")
    assert find_recurrence(tvm.IRModule({"main": te.create_prim_func([value, doubled])}), AVX2) is None
