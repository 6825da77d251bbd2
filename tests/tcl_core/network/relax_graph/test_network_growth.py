"""Chains that would be written out too often: ended in time, with the same results, and whole where they are short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm import te, topi

from tcl_core.network.relax_graph.growth import reads_of

SHAPE = (3, 40)


def chain(tools: Any, steps: int, *, parts: bool = False) -> Path:
    """So many times the tanh of a value read twice, once shifted; or of the parts of a split."""
    nodes, value = [], "x"
    for step in range(steps):
        a, b, c, y = (f"{name}{step}" for name in "abcy")
        if parts:
            nodes += [
                tools.node("Split", [value], [a, b], axis=0, num_outputs=2),
                tools.node("Sub", [a, b], [c]),
                tools.node("Concat", [c, c], [f"{c}2"], axis=0),
                tools.node("Tanh", [f"{c}2"], [y]),
            ]
        else:
            nodes += [
                tools.node("Slice", [value, "one", "end", "last"], [a]),
                tools.node("Slice", [value, "zero", "minus", "last"], [b]),
                tools.node("Sub", [a, b], [c]),
                tools.node("Tanh", [c], [y]),
            ]
        value = y
    numbers = {"zero": 0, "one": 1, "end": 1 << 30, "minus": -1, "last": -1}
    weights = [tools.tensor(name, np.array([number], np.int64)) for name, number in numbers.items()]
    shape = (4, 40) if parts else SHAPE
    return Path(
        tools.save(tools.model(nodes, [tools.value("x", shape)], [tools.value(value, None)], [] if parts else weights))
    )


@pytest.mark.parametrize("parts", [False, True])
def test_a_long_chain_ends_in_time(tools: Any, parts: bool) -> None:
    network = tools.compared(chain(tools, 5, parts=parts))
    assert 2 <= sum(task.weight for task in network.tasks) <= 10


def test_a_short_chain_is_one_kernel(tools: Any) -> None:
    assert sum(task.weight for task in tools.compared(chain(tools, 2)).tasks) == 1


@pytest.mark.parametrize(
    ("compute", "reads"),
    [
        (lambda x: topi.add(x, te.compute(x.shape, lambda *at: x(*at) * x(*at))), 3),
        (lambda x: topi.sum(x, axis=1), 1),
        (topi.nn.relu, 1),
        (lambda x: topi.concatenate([x, x]), 2),
    ],
)
def test_what_is_computed_on_the_way_is_written_out(compute: Any, reads: int) -> None:
    x = te.placeholder((4, 8), name="x")
    assert reads_of(te.create_prim_func([x, compute(x)]), 1) == [reads]


def test_a_polynomial_reads_its_argument_often() -> None:
    x = te.placeholder((4, 8), name="x")
    assert reads_of(te.create_prim_func([x, topi.fast_tanh(x)]), 1)[0] > 10
