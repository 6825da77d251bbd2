"""Adaptive mean pools that do not divide their picture, as PyTorch's exporter writes them, are one kernel each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import ADAPTIVE_POOL
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.network.norm_graphs import Graph

CHANNELS = 16


def windows(extent: int, results: int) -> list[tuple[int, int]]:
    """Begin and end of each, as PyTorch defines them."""
    return [(at * extent // results, -(-(at + 1) * extent // results)) for at in range(results)]


class Export(Graph):
    """A pool of "x", [1, channels, height, width], as PyTorch 2.14 decomposes it; places may be spoiled before that."""

    def __init__(self, height: int, width: int, rows: int, columns: int, *, spoil: str = "") -> None:
        super().__init__((1, CHANNELS, height, width), {}, opset=18)
        self._of = [windows(height, rows), windows(width, columns)]
        self._spoil = spoil
        self._lengths = [np.array([end - begin for begin, end in bounds]) for bounds in self._of]
        gathered = self._gathered((height, width))
        self.result = (
            self._summed(gathered) if any(len(set(each)) > 1 for each in self._lengths) else self._mean(gathered)
        )

    def _gathered(self, size: tuple[int, int]) -> str:
        places = []
        for bounds, lengths, extent in zip(self._of, self._lengths, size, strict=True):
            begins = np.array([begin for begin, _ in bounds])[:, None]
            places.append(np.minimum(begins + np.arange(lengths.max()), extent - 1))
        if self._spoil == "window":
            places[0][0, 0] += 1
        grid = np.stack(np.broadcast_arrays(places[0][:, :, None, None], places[1][None, None]), axis=-1)
        turned = self("Transpose", "x", perm=[2, 3, 0, 1])
        picked = self("GatherND", turned, self.constant(grid.astype(np.int64)))
        return self("Transpose", picked, perm=[4, 5, 0, 1, 2, 3])

    def _mean(self, gathered: str) -> str:
        return self("ReduceMean", gathered, self.constant(np.array([-1, -3])), keepdims=0)

    def _summed(self, gathered: str) -> str:
        rows, columns = self._lengths
        unequal = [(lengths, behind) for lengths, behind in ((rows, 2), (columns, 0)) if len(set(lengths)) > 1]
        for lengths, behind in unequal:
            mask = np.arange(lengths.max()) >= lengths[:, None]
            filler = np.float32(1 if self._spoil == "filler" else 0)
            gathered = self(
                "Where", self.constant(mask.reshape(*mask.shape, *[1] * behind)), self.constant(filler), gathered
            )
        parts = []
        for row in range(rows.max()):
            of_row = self("Gather", gathered, self.constant(np.array(row)), axis=3)
            parts += [self("Gather", of_row, self.constant(np.array(at)), axis=4) for at in range(columns.max())]
        if self._spoil == "selection":
            parts[-1] = parts[0]
        total = parts[0]
        for part in parts[1:]:
            total = self("Add", total, part)
        by_row = rows[:, None] if len(set(rows)) > 1 else rows[0]
        counts = np.asarray(by_row * (columns if len(set(columns)) > 1 else columns[0]), np.float32)
        return self("Div", total, self.constant(counts + 1 if self._spoil == "count" else counts))

    def saved(self, tools: Any) -> Path:
        """Between two convolutions."""
        random = np.random.default_rng(0)
        weights = {name: (random.standard_normal((CHANNELS, CHANNELS, 1, 1)) / 4).astype(np.float32) for name in "ab"}
        tensors = [tools.tensor(name, array) for name, array in {**weights, **self._constants}.items()]
        for node in self.nodes:
            node.input[:] = ["h" if each == "x" else each for each in node.input]
        nodes = [tools.node("Conv", ["x", "a"], ["h"]), *self.nodes, tools.node("Conv", [self.result, "b"], ["y"])]
        model = tools.model(nodes, [tools.value("x", self._shape)], [tools.value("y", None)], tensors, opset=self.opset)
        return Path(tools.save(model))


SIZES = [
    (8, 8, 3, 3),
    (7, 11, 2, 3),
    (10, 14, 4, 5),
    (14, 10, 5, 4),
    (1, 14, 1, 5),
    (9, 9, 6, 6),
    (8, 9, 3, 3),
    (5, 6, 4, 6),
    (6, 7, 6, 1),
]
"""Windows that differ both ways or one way, of pictures and signals; that are equal and overlap."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [512, 0])
def test_they_are_one_kernel_in_the_layout_around(tools: Any, size: tuple[int, int, int, int], bits: int) -> None:
    network = tools.compared(Export(*size).saved(tools), bits)
    (pool,) = (task for task in network.tasks if "adaptive" in task.name)
    assert pool.name.startswith("adaptive_avg_pool2d")
    assert not any(word in task.name for task in network.tasks for word in ("gather", "take", "where"))
    shapes = {argument.shape for argument in pool.arguments}
    *_, height, width = size
    assert ((1, 1, height, width, 16) if bits else (1, CHANNELS, height, width)) in shapes


def operators(path: Path, *, on_cpu: bool = True) -> set[str]:
    simplified = simplify(load_network(path, NetworkConfig()).model, on_cpu=on_cpu)
    return {node.op_type for node in simplified.model.graph.node}


@pytest.mark.parametrize("spoil", ["window", "filler", "selection", "count"])
def test_what_is_no_such_pool_stays(tools: Any, spoil: str) -> None:
    path = Export(8, 8, 3, 3, spoil=spoil).saved(tools)
    found = operators(path)
    assert ADAPTIVE_POOL not in found and "GatherND" in found
    tools.compared(path)


def test_a_mean_of_other_windows_stays(tools: Any) -> None:
    assert ADAPTIVE_POOL not in operators(Export(9, 9, 6, 6, spoil="window").saved(tools))


def test_for_a_gpu_they_stay_gathers(tools: Any) -> None:
    found = operators(Export(8, 8, 3, 3).saved(tools), on_cpu=False)
    assert ADAPTIVE_POOL not in found and "GatherND" in found
