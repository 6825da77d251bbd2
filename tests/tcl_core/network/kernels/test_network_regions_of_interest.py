"""Regions of pictures by boxes are onnxruntime's, at half pixels and whole ones, by means and by maxima."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.tcl_core.network.contributed_cases import expected, found

BOXES = np.array(
    [
        [0, 0, 10, 8],  # the whole picture
        [1.3, 2.6, 7.9, 6.2],
        [-4, -3, 5, 4],  # beyond its corner
        [30, 30, 40, 40],  # outside
        [2, 2, 2.2, 2.3],  # less than a pixel
        [6, 5, 3, 2],  # from its end to its beginning
    ],
    np.float32,
)
SIZE, PART = (2, 3, 9, 11), (3, 2)


def aligned(tools: Any, *, opset: int = 16, **attributes: Any) -> Any:
    names = ["x", "boxes", "at"]
    node = tools.node("RoiAlign", names, ["y"], output_height=PART[0], output_width=PART[1], **attributes)
    at = tools.tensor("at", np.arange(len(BOXES)) % SIZE[0])
    inputs = [tools.value("x", SIZE), tools.value("boxes", BOXES.shape)]
    return tools.model([node], inputs, [tools.value("y", [len(BOXES), SIZE[1], *PART])], [at], opset=opset)


def agree(tools: Any, model: Any, scale: float = 1.0) -> None:
    given = {"x": np.random.default_rng(0).standard_normal(SIZE).astype(np.float32), "boxes": BOXES / np.float32(scale)}
    (ours,), (theirs,) = found(tools.save(model), given), expected(model, given)
    assert np.ptp(theirs) > 1
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


FORMS = list(itertools.product(("half_pixel", "output_half_pixel"), ("avg", "max"), (0, 1, 2)))


@pytest.mark.parametrize(("pixels", "mode", "points"), FORMS)
def test_results_are_onnxruntimes(tools: Any, pixels: str, mode: str, points: int) -> None:
    """With 0 points there are as many as a box has pixels: none of one that is turned around."""
    agree(tools, aligned(tools, coordinate_transformation_mode=pixels, mode=mode, sampling_ratio=points))


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_boxes_may_be_of_a_larger_picture(tools: Any, mode: str) -> None:
    agree(tools, aligned(tools, mode=mode, sampling_ratio=2, spatial_scale=0.25), 0.25)


@pytest.mark.parametrize("opset", [10, 16, 21])
def test_where_nothing_is_said_the_opset_tells_the_pixels(tools: Any, opset: int) -> None:
    agree(tools, aligned(tools, opset=opset, sampling_ratio=2))
