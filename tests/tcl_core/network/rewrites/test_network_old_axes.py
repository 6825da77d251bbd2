"""Axes that old files count from behind: the sizes behind them are known, and the results are onnxruntime's."""

from __future__ import annotations

from typing import Any

import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.load import load_network
from tests.tcl_core.network.conftest import compared

SIZE = (2, 3, 4)


def test_what_is_joined_and_cut_along_them_has_sizes(tools: Any) -> None:
    """One after the other: of what comes behind a node nothing is known until its own axis is."""
    nodes = [
        tools.node("Concat", ["x", "x"], ["wide"], axis=-1),
        tools.node("Relu", ["wide"], ["h"]),
        tools.node("Slice", ["h"], ["part"], axes=[0, -1], starts=[0, 1], ends=[1, -1]),
        tools.node("Concat", ["part", "part"], ["y"], axis=-2),
    ]
    model = tools.model(nodes, [tools.value("x", SIZE)], [tools.value("y", None)], opset=9)
    path = tools.save(model)
    assert [spec.shape for spec in load_network(path, NetworkConfig()).network.outputs] == [(1, 6, 6)]
    compared(path)


@pytest.mark.parametrize("axis", [-4, 5])
def test_an_axis_that_there_is_not_is_refused(tools: Any, axis: int) -> None:
    model = tools.model(
        [tools.node("Concat", ["x", "x"], ["y"], axis=axis)],
        [tools.value("x", SIZE)],
        [tools.value("y", None)],
        opset=9,
    )
    with pytest.raises(UserError):
        load_network(tools.save(model), NetworkConfig())
