"""Winograd's convolutions: the algebra, the whole way through a network, and where it is taken."""

from __future__ import annotations

import json
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
from tcl_core.network.kernels.winograd import TILINGS, Tiling, kernel_points, padded_tiles, worthwhile_tiling
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1}
GENERATOR = np.random.default_rng(0)
VECTOR_BITS = 256
"""Blocks of eight channels."""
PICTURE, CHANNELS = 22, 64
"""Where both tilings are worth their while, and neither divides the picture."""


def convolution(
    tools: Any, *, pads: tuple[int, ...] = (1, 1, 1, 1), batch: int = 1, size: int = 3, free: bool = False, **how: Any
) -> Path:
    """1x1 -> a convolution with bias, added to what it read where that fits, cut at 0."""
    weights = [
        tools.tensor("w0", random(CHANNELS, 8, 1, 1)),
        tools.tensor("b1", random(CHANNELS)),
    ]
    inputs = [tools.value("x", [batch, 8, PICTURE, PICTURE])]
    if free:
        inputs.append(tools.value("w1", [CHANNELS, CHANNELS, size, size]))
    else:
        weights.append(tools.tensor("w1", random(CHANNELS, CHANNELS, size, size)))
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"], kernel_shape=[1, 1]),
        tools.node("Conv", ["a", "w1", "b1"], ["b"], kernel_shape=[size, size], pads=list(pads), **how),
    ]
    fits = pads == (1, 1, 1, 1) and not how and size == 3
    nodes += [tools.node("Add", ["a", "b"], ["c"])] if fits else []
    nodes += [tools.node("Relu", ["c" if fits else "b"], ["y"])]
    stride, gap = how.get("strides", [1])[0], how.get("dilations", [1])[0]
    height, width = ((PICTURE + pads[axis] + pads[axis + 2] - gap * (size - 1) - 1) // stride + 1 for axis in range(2))
    outputs = [tools.value("y", [batch, CHANNELS, height, width])]
    return Path(tools.save(tools.model(nodes, inputs, outputs, weights)))


def random(*shape: int) -> np.ndarray:
    return (GENERATOR.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def imported(path: Path, *, winograd: bool = True, vector_bits: int = VECTOR_BITS) -> ImportedNetwork:
    config = NetworkConfig(winograd=winograd)
    return import_network(load_network(path, config), json.dumps(CPU), config, vector_bits)


def require_results_of_onnxruntime(network: ImportedNetwork, path: Path, shape: tuple[int, ...]) -> None:
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(CPU)), tvm.cpu())
    data = GENERATOR.standard_normal(shape).astype(np.float32)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": data})
    result = machine["main"](tvm.runtime.tensor(data)).numpy()
    np.testing.assert_allclose(result, expected, atol=1e-5 * np.abs(expected).max())


def anchors(network: ImportedNetwork) -> list[str]:
    return [task.anchor for task in network.tasks]


@pytest.mark.parametrize("tiling", TILINGS)
@given(data=st.data())
def test_points_give_the_convolution(tiling: Tiling, data: st.DataObject) -> None:
    numbers = st.floats(-8, 8, allow_nan=False, width=32)
    tile = np.array(data.draw(st.lists(numbers, min_size=tiling.reads, max_size=tiling.reads)))
    taps = np.array(data.draw(st.lists(numbers, min_size=3, max_size=3)))
    found = tiling.of_results() @ ((tiling.of_kernel() @ taps) * (tiling.of_data() @ tile))
    np.testing.assert_allclose(found, np.correlate(tile, taps), atol=1e-9)


def test_points_of_two_by_two_are_those_of_the_paper() -> None:
    """Lavin and Gray (arXiv 1509.09308), section 4.1, up to the signs that data and kernel share."""
    two = TILINGS[0]
    paper = [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]]
    np.testing.assert_allclose(np.abs(two.of_data()), np.abs(paper))
    np.testing.assert_allclose(np.abs(two.of_results()), [[1, 1, 1, 0], [0, 1, 1, 1]])


def test_kernels_are_taken_to_the_points_over_both_axes() -> None:
    tiling = TILINGS[1]
    kernel = random(2, 3, 3, 3, 4, 8)
    G = tiling.of_kernel()
    points = kernel_points(kernel, tiling).reshape(tiling.reads, tiling.reads, 2, 3, 4, 8)
    np.testing.assert_allclose(points[:, :, 1, 2, 3, 5], G @ kernel[1, 2, :, :, 3, 5] @ G.T, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("tiling", TILINGS, ids=lambda tiling: str(tiling.results))
@pytest.mark.parametrize(("pads", "batch"), [((1, 1, 1, 1), 1), ((0, 0, 0, 0), 1), ((2, 0, 1, 1), 2)])
def test_results_are_those_of_onnxruntime(
    tools: Any, monkeypatch: pytest.MonkeyPatch, tiling: Tiling, pads: tuple[int, ...], batch: int
) -> None:
    monkeypatch.setattr("tcl_core.network.kernels.winograd.TILINGS", (tiling,))
    path = convolution(tools, pads=pads, batch=batch)
    network = imported(path)
    tasks = [task for task in network.tasks if "winograd" in task.anchor]
    assert [task.anchor for task in tasks] == ["winograd_pack", "winograd_product", "winograd_unpack"]
    assert tasks[0].arguments[-1].shape[2] == tiling.reads**2
    assert "relu" in tasks[2].name  # bias, residual and activation are not read and written once more
    require_results_of_onnxruntime(network, path, (batch, 8, PICTURE, PICTURE))


@pytest.mark.parametrize("tiling", TILINGS, ids=lambda tiling: str(tiling.results))
@pytest.mark.parametrize(
    ("dilation", "pads", "batch"), [(2, (2, 2, 2, 2), 1), (3, (3, 1, 2, 4), 2), (4, (0, 0, 0, 0), 1)]
)
def test_results_of_windows_whose_steps_lie_apart(
    tools: Any, monkeypatch: pytest.MonkeyPatch, tiling: Tiling, dilation: int, pads: tuple[int, ...], batch: int
) -> None:
    monkeypatch.setattr("tcl_core.network.kernels.winograd.TILINGS", (tiling,))
    monkeypatch.setattr("tcl_core.network.kernels.winograd.PER_VALUE", 0)  # small pictures are taken apart all the same
    path = convolution(tools, pads=pads, batch=batch, dilations=[dilation, dilation])
    network = imported(path)
    names = [task.name for task in network.tasks if "winograd" in task.name]
    assert [name.removeprefix("fused_").split("_")[1] for name in names] == ["pack", "product", "unpack", "interleave"]
    assert "relu" in names[-1]
    require_results_of_onnxruntime(network, path, (batch, 8, PICTURE, PICTURE))


@pytest.mark.parametrize(
    ("tiles", "lanes", "rows"),
    [(49, 8, 50), (49, 16, 49), (121, 8, 124), (196, 8, 196), (9, 8, 9), (1, 4, 1)],
)
def test_a_tile_or_two_more_make_rows_that_registers_hold(tiles: int, lanes: int, rows: int) -> None:
    assert padded_tiles(tiles, lanes) == rows


def test_rows_that_no_tile_gives_are_multiplied_all_the_same(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcl_core.network.kernels.winograd.TILINGS", TILINGS[:1])
    (product,) = (task for task in imported(convolution(tools)).tasks if task.anchor == "winograd_product")
    assert product.arguments[0].shape[0] == 124 > (PICTURE // 2) ** 2


def test_convolutions_that_differ_in_weights_alone_are_one_task_each(tools: Any) -> None:
    nodes = [
        tools.node("Conv", [before, weights], [after], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        for before, weights, after in (("x", "w0", "a"), ("a", "w1", "y"))
    ]
    weights = [tools.tensor(name, random(CHANNELS, CHANNELS, 3, 3)) for name in ("w0", "w1")]
    shape = [1, CHANNELS, PICTURE, PICTURE]
    path = Path(tools.save(tools.model(nodes, [tools.value("x", shape)], [tools.value("y", shape)], weights)))
    network = imported(path)
    assert [task.weight for task in network.tasks if "winograd" in task.anchor] == [2, 2, 2]
    require_results_of_onnxruntime(network, path, tuple(shape))


@pytest.mark.parametrize(
    "how",
    [
        {"strides": [2, 2]},
        {"dilations": [1, 2]},
        {"size": 1, "pads": (0, 0, 0, 0)},
        {"free": True},
    ],
    ids=["strided", "dilated one way", "1x1", "weights unknown"],
)
def test_others_are_summed_directly(tools: Any, how: dict[str, Any]) -> None:
    found = anchors(imported(convolution(tools, **how)))
    assert not any("winograd" in anchor for anchor in found)
    assert "conv2d_NCHWc" in found


def test_a_config_without_it_and_one_without_blocks_have_none(tools: Any) -> None:
    path = convolution(tools)
    assert "winograd_product" in anchors(imported(path))
    assert "winograd_product" not in anchors(imported(path, winograd=False))
    assert "winograd_product" not in anchors(imported(path, vector_bits=0))


def test_large_tiles_for_large_pictures_none_where_weights_are_all_there_is_to_read() -> None:
    two, four = TILINGS
    assert worthwhile_tiling(64, 64, (1, 4, 56, 56, 16)) == four
    assert worthwhile_tiling(256, 256, (1, 16, 14, 14, 16)) == two
    assert worthwhile_tiling(512, 512, (1, 32, 3, 3, 16)) is None
    assert worthwhile_tiling(8, 8, (1, 1, 56, 56, 8)) is None
    assert worthwhile_tiling(256, 256, (1, 16, 28, 28, 16), 2) is not None
    assert worthwhile_tiling(64, 32, (1, 4, 32, 32, 8), 12) is None


def test_operations_are_those_of_one_branch(tools: Any) -> None:
    """36 branches would count 36 times: at most 4 x 4 and 5 x 5 terms make a value of the transforms."""
    pack, product, unpack = (task for task in imported(convolution(tools)).tasks if "winograd" in task.anchor)
    tiles, chunks, points, lanes = pack.arguments[-1].shape
    assert (tiles, chunks * lanes, points) == (36, CHANNELS, 36)
    assert product.flops == 2 * points * tiles * CHANNELS**2
    assert 0 < pack.flops < 2 * 4**2 * tiles * points * CHANNELS
    epilogue = 3 * CHANNELS * PICTURE**2
    assert epilogue < unpack.flops < 2 * 5**2 * CHANNELS * PICTURE**2 + epilogue
