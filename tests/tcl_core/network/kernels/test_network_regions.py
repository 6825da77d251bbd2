"""Convolutions region by region: the same results, nothing read twice or left out, and only where it pays."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.kernels.regions import Axis, worthwhile_regions
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1}
GENERATOR = np.random.default_rng(0)
SIZE, CHANNELS = 18, 64


def random(*shape: int) -> np.ndarray:
    return (GENERATOR.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


axes = st.builds(
    Axis,
    size=st.integers(1, 12),
    results=st.integers(1, 12),
    width=st.integers(1, 4),
    dilation=st.integers(1, 9),
    front=st.integers(0, 9),
)


@given(axes)
def test_bands_hold_each_result_once_with_the_steps_that_meet_the_picture(axis: Axis) -> None:
    def met(result: int) -> list[int]:
        return [s for s in range(axis.width) if 0 <= result + s * axis.dilation - axis.front < axis.size]

    bands = axis.bands()
    if not bands:
        assert not all(met(result) for result in range(axis.results))
        return
    assert [at for band in bands for at in range(band.start, band.stop)] == list(range(axis.results))
    for band in bands:
        assert all(met(result) == list(range(band.first, band.last)) for result in range(band.start, band.stop))
        before, behind = axis.cut(band)
        assert max(before, behind) <= 0
        assert axis.size + before + behind == band.results + (band.steps - 1) * axis.dilation
    assert all(one.stop == other.start for one, other in pairwise(bands))


def dilated(tools: Any, dilation: int, *, batch: int = 1, free: bool = False, weights: Any = None) -> Path:
    """1x1 -> a dilated 3x3 convolution with bias, cut at 0."""
    kernel = random(CHANNELS, CHANNELS, 3, 3) if weights is None else weights
    constants = [tools.tensor("w0", random(CHANNELS, 8, 1, 1)), tools.tensor("b1", random(CHANNELS))]
    inputs = [tools.value("x", [batch, 8, SIZE, SIZE])]
    if free:
        inputs.append(tools.value("w1", list(kernel.shape)))
    else:
        constants.append(tools.tensor("w1", kernel))
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"]),
        tools.node("Conv", ["a", "w1", "b1"], ["b"], pads=[dilation] * 4, dilations=[dilation] * 2),
        tools.node("Relu", ["b"], ["y"]),
    ]
    outputs = [tools.value("y", [batch, CHANNELS, SIZE, SIZE])]
    return Path(tools.save(tools.model(nodes, inputs, outputs, constants)))


def imported(path: Path) -> ImportedNetwork:
    return import_network(load_network(path, NetworkConfig()), json.dumps(CPU), NetworkConfig(winograd=False), 256)


@pytest.mark.parametrize(("dilation", "batch"), [(12, 1), (12, 2), (17, 1)])
def test_results_are_those_of_onnxruntime(tools: Any, dilation: int, batch: int) -> None:
    path = dilated(tools, dilation, batch=batch)
    network = imported(path)
    (joined,) = (task for task in network.tasks if "regions_together" in task.name)
    assert "relu" in joined.name  # bias and activation are not read and written once more
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(CPU)), tvm.cpu())
    data = GENERATOR.standard_normal((batch, 8, SIZE, SIZE)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": data})
    found = machine["main"](tvm.runtime.tensor(data)).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_fewer_products_are_computed(tools: Any) -> None:
    def products(network: ImportedNetwork) -> float:
        return sum(task.flops * task.weight for task in network.tasks)

    assert products(imported(dilated(tools, 12))) < 0.45 * products(imported(dilated(tools, 1)))


@pytest.mark.parametrize("how", [{"dilation": 1}, {"dilation": 2}, {"dilation": 12, "free": True}])
def test_where_it_does_not_pay_or_weights_are_not_known_it_is_one(tools: Any, how: dict[str, Any]) -> None:
    assert not [task for task in imported(dilated(tools, **how)).tasks if "regions" in task.name]


def test_weights_that_are_no_numbers_meet_the_padding(tools: Any) -> None:
    kernel = random(CHANNELS, CHANNELS, 3, 3)
    kernel[0, 0, 0, 0] = np.inf
    assert not [task for task in imported(dilated(tools, 12, weights=kernel)).tasks if "regions" in task.name]


@pytest.mark.parametrize(("size", "channels", "worth"), [(28, 256, True), (7, 512, False)])
def test_regions_are_for_windows_that_are_wide_not_for_pictures_that_are_small(
    size: int, channels: int, worth: bool
) -> None:
    dilation = 12 if worth else 1
    axis = Axis(size=size, results=size, width=3, dilation=dilation, front=dilation)
    regions = worthwhile_regions(np.ones((channels // 8, channels // 8, 3, 3, 8, 8), np.float32), axis, axis, 1)
    assert bool(regions) is worth
