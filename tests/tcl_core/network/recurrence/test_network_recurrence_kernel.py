"""All steps in one kernel, against the same steps in NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.s_tir.meta_schedule.arg_info import ArgInfo

from tcl_core.network.recurrence.recurrence_kernel import GATES, GROUP, Cell, groups_of, recurrence_kernel
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.network.recurrent_models import GRU, LSTM

CELLS = {
    "LSTM": LSTM,
    "GRU": GRU,
    "GRU, reset behind its product": replace(GRU, reset_after=True),
    "RNN": replace(LSTM, kind="RNN", activations=("Tanh",)),
    "other functions": replace(LSTM, activations=("Relu", "Sigmoid", "Relu")),
    "backwards": replace(LSTM, backwards=True),
    "libm": replace(GRU, polynomials=False),
    "hidden values that fill no group": replace(GRU, hidden=5, reset_after=True),
    "one sequence": replace(LSTM, batch=1, hidden=2 * GROUP),
}
SPREADS = {
    f"{name}, {spread}": (cell, spread)
    for name, cell in CELLS.items()
    for spread in (0.5, 10.0)
    if spread < 1 or "Relu" not in cell.activations  # of which states grow, and errors with them
}
"""How far gates are from 0."""
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Sigmoid": lambda value: (1 + np.tanh(value / 2)) / 2,
    "Tanh": np.tanh,
    "Relu": lambda value: np.maximum(value, 0),
}
Array = Any


def reference(cell: Cell, arguments: list[Array]) -> list[Array]:
    """What the kernel gives, by the equations of ONNX's `Operators.md`; groups of hidden values side by side."""
    inputs, weight, *others = arguments
    functions = [FUNCTIONS[name] for name in cell.activations]
    before = [each.reshape(cell.batch, -1) for each in (others[1:] if cell.kind == "GRU" else others)]
    state, memory = before[0], before[1] if cell.kind == "LSTM" else None
    rows = inputs.reshape(cell.steps, cell.batch, cell.groups, GATES[cell.kind], GROUP)
    states = []
    for step in reversed(range(cell.steps)) if cell.backwards else range(cell.steps):
        added, own = by_gate(rows[step]), times(cell, state, weight)
        if cell.kind == "LSTM":
            entry, exit_, forget, news = (one + other for one, other in zip(added, own, strict=True))
            memory = functions[0](forget) * memory + functions[0](entry) * functions[1](news)
            state = functions[0](exit_) * functions[2](memory)
        elif cell.kind == "RNN":
            state = functions[0](added[0] + own[0])
        else:
            keep, reset = (functions[0](added[gate] + own[gate]) for gate in range(2))
            if cell.reset_after:
                news = functions[1](added[2] + reset * (own[2] + others[0].reshape(-1)))
            else:
                news = functions[1](added[2] + times(cell, reset * state, others[0])[0])
            state = (1 - keep) * news + keep * state
        states.append(state)
    whole = np.stack(states[::-1] if cell.backwards else states)
    return [whole] if memory is None else [whole, memory]


def times(cell: Cell, state: Array, weight: Array) -> list[Array]:
    """A state with weights [groups, gates, hidden, GROUP]; one result for each gate."""
    return [state[:, : cell.hidden] @ np.concatenate(list(weight[:, gate]), axis=1) for gate in range(weight.shape[1])]


def by_gate(values: Array) -> list[Array]:
    """[sequences, groups, gates, GROUP] as one array for each gate."""
    return [values[:, :, gate].reshape(len(values), -1) for gate in range(values.shape[2])]


def given(function: Any, results: int, spread: float) -> list[Array]:
    """Arguments at random; what the inputs add to the gates by `spread` from 0."""
    generator = np.random.default_rng(0)
    inputs, *others = ((generator.standard_normal(shape) / 2) for shape in shapes_of(function)[:-results])
    return [each.astype(np.float32) for each in (inputs * 2 * spread, *others)]


def shapes_of(function: Any) -> list[tuple[int, ...]]:
    return [tuple(int(extent) for extent in each.shape) for each in ArgInfo.from_prim_func(function)]


@pytest.mark.parametrize(("cell", "spread"), SPREADS.values(), ids=SPREADS)
def test_it_computes_the_equations(cell: Cell, spread: float) -> None:
    """Also of gates that are wide open or shut, far beyond where polynomials are right."""
    function = recurrence_kernel(cell).with_attr("global_symbol", "main")
    results = 2 if cell.kind == "LSTM" else 1
    arguments = given(function, results, spread)
    expected = reference(cell, arguments)
    made = [tvm.runtime.tensor(np.full(shape, np.nan, np.float32)) for shape in shapes_of(function)[-results:]]
    tvm.compile(tvm.IRModule({"main": function}), tvm.target.Target(json.loads(CPU_TARGET)))(
        *map(tvm.runtime.tensor, arguments), *made
    )
    for ours, theirs in zip(made, expected, strict=True):
        found = ours.numpy().reshape(theirs.shape)[..., : cell.hidden]
        np.testing.assert_allclose(found, theirs[..., : cell.hidden], rtol=1e-4, atol=1e-5)


def test_columns_of_weights_are_made_whole_groups_rows_are_not() -> None:
    cell = CELLS["hidden values that fill no group"]
    inputs, weight, *_ = shapes_of(recurrence_kernel(cell))
    assert inputs == (cell.steps * cell.batch, GATES[cell.kind] * GROUP)
    assert weight == (1, GATES[cell.kind], cell.hidden, GROUP)


def test_threads_can_share_the_groups_of_many_values() -> None:
    assert [groups_of(hidden) for hidden in (1, 16, 17, 80, 128, 144, 200, 256)] == [1, 1, 2, 5, 8, 10, 14, 16]
    for hidden in range(400, 2000, 16):
        assert groups_of(hidden) % 4 == 0
        assert 0 <= groups_of(hidden) * GROUP - hidden < 4 * GROUP
