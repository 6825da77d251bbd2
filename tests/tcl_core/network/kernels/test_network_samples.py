"""Pictures sampled at the points of a grid, channels last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import te, tirx

from tcl_core.network.kernels.samples import _sampled


def sampled(tools: Any, channels: int, **attributes: Any) -> list[str]:
    """Names of the tasks of a network whose results are onnxruntime's; a third of its points lie outside."""
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (2, 5, 7, 2)).astype(np.float32)
    nodes = [
        tools.node("Add", ["grid", "moved"], ["at"]),
        tools.node("GridSample", ["x", "at"], ["y"], **attributes),
    ]
    inputs = [tools.value("x", (2, channels, 6, 9)), tools.value("grid", (1, 1, 1, 2))]
    model = tools.model(nodes, inputs, [tools.value("y", None)], [tools.tensor("moved", points)])
    return [task.name for task in tools.compared(tools.save(model)).tasks]


@pytest.mark.parametrize("channels", [8, 20])
@pytest.mark.parametrize("padding_mode", ["zeros", "border"])
@pytest.mark.parametrize("align_corners", [0, 1])
def test_every_point_is_looked_up_once(tools: Any, channels: int, padding_mode: str, align_corners: int) -> None:
    names = sampled(tools, channels, padding_mode=padding_mode, align_corners=align_corners)
    assert "sampled" in names
    assert not [name for name in names if "grid_sample" in name]


@pytest.mark.parametrize(
    ("channels", "attributes"),
    [(3, {}), (16, {"mode": "nearest"}), (16, {"mode": "bicubic"}), (16, {"padding_mode": "reflection"})],
)
def test_others_stay(tools: Any, channels: int, attributes: dict[str, Any]) -> None:
    names = sampled(tools, channels, **attributes)
    assert "sampled" not in names
    assert [name for name in names if "grid_sample" in name]


def test_far_points_read_nothing_outside_the_picture() -> None:
    """What TVM makes of the kernel still clamps both indices of all four neighbours: it read wherever a point lay."""
    picture, grid = te.placeholder((1, 6, 9, 16)), te.placeholder((1, 5, 7, 2))
    kernel = te.create_prim_func([picture, grid, _sampled(picture, grid, at_border=False, corners=False)])
    module = tirx.transform.StmtSimplify()(tvm.IRModule({"main": kernel}))
    read: list[str] = []

    def note(load: Any, visitor: Any) -> None:
        if list(load.source.shape) == list(picture.shape):
            read.extend(str(index) for index in list(load.indices)[1:3])
        visitor.default_visit(load)

    tvm_ffi.structural_visit(module["main"].body, (tvm.ir.TensorLoad, note))
    assert len(read) == 8
    assert all("T.max(" in index and "T.min(" in index for index in read)
