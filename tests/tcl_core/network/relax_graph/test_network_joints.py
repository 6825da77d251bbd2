"""Concatenations of concatenations: apart where much would be one kernel, the same results, and as they were else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

CPU = {"kind": "llvm", "num-cores": 1}
SHAPE = (1, 8, 6)


def boxes(tools: Any, grids: int, *, nested: bool = True) -> Path:
    """Of each of some grids three parts, joined, and all of these joined; or half of each part alone."""
    nodes, joined = [], []
    for grid in range(grids):
        x = f"x{grid}"
        nodes += [
            tools.node("Sigmoid", [x], [f"{x}.s"]),
            tools.node("Split", [f"{x}.s", "sizes"], [f"{x}.{part}" for part in "abc"], axis=2),
            tools.node("Mul", [f"{x}.a", "two"], [f"{x}.d"]),
            tools.node("Mul", [f"{x}.b", f"{x}.b"], [f"{x}.e"]),
            tools.node("Concat", [f"{x}.d", f"{x}.e", f"{x}.c"], [f"{x}.y"], axis=2),
        ]
        joined.append(f"{x}.y" if nested else f"{x}.d")
    nodes.append(tools.node("Concat", joined, ["y"], axis=1))
    weights = [tools.tensor("sizes", np.array([2, 2, 2], np.int64)), tools.tensor("two", np.float32(2))]
    inputs = [tools.value(f"x{grid}", SHAPE) for grid in range(grids)]
    return Path(tools.save(tools.model(nodes, inputs, [tools.value("y", None)], weights)))


def test_what_joins_many_is_a_kernel_of_its_own(tools: Any) -> None:
    network = tools.compared(boxes(tools, 5))
    assert sum(task.weight for task in network.tasks if task.name.rstrip("0123456789") == "concatenate") == 1
    assert sum(task.weight for task in network.tasks if task.name.startswith("fused_")) == 5


@pytest.mark.parametrize(("grids", "nested"), [(2, True), (5, False)])
def test_few_and_single_ones_are_fused(tools: Any, grids: int, nested: bool) -> None:
    (task,) = tools.compared(boxes(tools, grids, nested=nested)).tasks
    assert "concatenate" in task.name
    assert task.name.startswith("fused_")
