"""Resizes by quotients of sizes: as many rows as onnxruntime makes, which shape inference takes for one fewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.load import load_network
from tcl_core.network.rewrites.rounded_scales import resize_by_sizes

SIZES = [(23, 37), (142, 154), (75, 94), (260, 127)]
"""Before and after, whose quotient in float32 is a little less than it is."""


def resized(tools: Any, sizes: tuple[int, int], opset: int, *behind: Any, scales: Any = None, **given: Any) -> Any:
    """Of columns; rows stay."""
    scales = np.float32([1, 1, 1, np.float32(sizes[1]) / np.float32(sizes[0])] if scales is None else scales)
    result = "r" if behind else "y"
    node = {
        7: lambda: tools.node("Upsample", ["x"], [result], scales=scales.tolist(), name="resize", **given),
        9: lambda: tools.node("Upsample", ["x", "scales"], [result], name="resize", **given),
        10: lambda: tools.node("Resize", ["x", "scales"], [result], name="resize", **given),
    }.get(opset, lambda: tools.node("Resize", ["x", "", "scales"], [result], name="resize", **given))()
    weights = [] if opset == 7 else [tools.tensor("scales", scales)]
    values = [tools.value("x", [1, 2, 3, sizes[0]])], [tools.value("y", None)]
    return tools.model([node, *behind], *values, weights, opset=opset)


def told(path: Path) -> tuple[int, ...]:
    return load_network(path, NetworkConfig()).network.outputs[0].shape


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("sizes", "opset"),
    [(sizes, opset) for sizes in SIZES for opset in (7, 9, 10, 13, 18) if opset > 9 or sizes[0] < sizes[1]],
)
def test_there_are_as_many_as_onnxruntime_makes(tools: Any, sizes: tuple[int, int], opset: int, mode: str) -> None:
    """An `Upsample`, which older opsets have, cannot shrink."""
    path = tools.save(resized(tools, sizes, opset, mode=mode))
    assert told(path) == (1, 2, 3, sizes[1])
    tools.compared(path)


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
def test_what_comes_behind_goes_by_that_size(tools: Any, coordinates: str) -> None:
    behind = tools.node("AveragePool", ["r"], ["y"], auto_pad="SAME_LOWER", kernel_shape=[1, 2], strides=[1, 2])
    given = {"mode": "linear", "coordinate_transformation_mode": coordinates}
    tools.compared(tools.save(resized(tools, SIZES[0], 18, behind, **given)))


def test_one_resize_stands_behind_another(tools: Any) -> None:
    scales = np.float32([1, 1, 1, np.float32(67) / np.float32(37)])
    again = tools.node("Resize", ["r", "", "more"], ["y"], name="again")
    model = resized(tools, SIZES[0], 18, again)
    model.graph.initializer.append(tools.tensor("more", scales))
    path = tools.save(model)
    session = onnxruntime.InferenceSession(str(path))
    (found,) = session.run(None, {"x": np.zeros((1, 2, 3, 23), np.float32)})
    assert told(path) == found.shape


@pytest.mark.parametrize("columns", [2.0, 1.5, 37 / 23 + 1e-3])
def test_a_scale_that_inference_reads_rightly_stays(tools: Any, columns: float) -> None:
    model = resized(tools, (23, 0), 18, scales=[1, 1, 1, columns])
    before = onnx.ModelProto()
    before.CopyFrom(model)
    assert resize_by_sizes(model) is model and model == before


def test_scales_that_no_sizes_give_stay(tools: Any) -> None:
    """Of 3 rows 1.5 times as many are 4, whose quotient is another scale, and coordinates go by scales."""
    model = resized(tools, SIZES[0], 18, scales=[1, 1, 1.5, np.float32(37) / np.float32(23)])
    assert not resize_by_sizes(model).graph.node[0].input[3:]
