"""Norms of channels between blocked convolutions: one kernel, wherever they were spelled out, and the same results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tests.tcl_core.network.norm_graphs import Graph

CHANNELS, EDGE = 32, 4
GENERATOR = np.random.default_rng(0)
CONSTANTS = {
    "kernel": (GENERATOR.standard_normal((CHANNELS, CHANNELS, 1, 1)) / 6).astype(np.float32),
    "product": (GENERATOR.standard_normal((CHANNELS, CHANNELS)) / 6).astype(np.float32),
    "scale": GENERATOR.uniform(0.5, 1.5, CHANNELS).astype(np.float32),
    "aligned": GENERATOR.uniform(0.5, 1.5, (CHANNELS, 1, 1)).astype(np.float32),
    "bias": GENERATOR.standard_normal(CHANNELS).astype(np.float32),
    "epsilon": np.float32(1e-3),
    "pixels": np.array([1, CHANNELS, EDGE * EDGE]),
    "picture": np.array([1, CHANNELS, EDGE, EDGE]),
}
Form = Callable[[Graph, str], str]


def graph() -> Graph:
    return Graph((1, CHANNELS, EDGE, EDGE), CONSTANTS, 17)


def saved(tools: Any, new: Graph, *results: str) -> Path:
    return Path(tools.save(new.model(*results)))


def layer_norm(new: Graph, rows: str) -> str:
    return new("LayerNormalization", rows, "scale", "bias", axis=-1)


def permuted(new: Graph, name: str) -> str:
    rows = layer_norm(new, new("Transpose", name, perm=[0, 2, 3, 1]))
    return new("Transpose", rows, perm=[0, 3, 1, 2])


def flat(new: Graph, name: str) -> str:
    """As Restormer has it: pixels in a row."""
    rows = layer_norm(new, new("Transpose", new("Reshape", name, "pixels"), perm=[0, 2, 1]))
    return new("Reshape", new("Transpose", rows, perm=[0, 2, 1]), "picture")


def spelled(new: Graph, name: str) -> str:
    off = new("Sub", name, new.mean(name, 1))
    deviation = new("Sqrt", new("Add", new.mean(new("Mul", off, off), 1), "epsilon"))
    return new("Mul", new("Div", off, deviation), "aligned")


def by_root(new: Graph, name: str) -> str:
    deviation = new("Sqrt", new("Add", new.mean(new("Mul", name, name), 1), "epsilon"))
    return new("Mul", new("Div", name, deviation), "aligned")


def length(new: Graph, name: str) -> str:
    total = new("ReduceL2", name, axes=[1], keepdims=1)
    return new("Div", name, new("Max", total, "epsilon"))


def names(network: Any) -> list[str]:
    return [task.name for task in network.tasks]


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize("form", [permuted, flat, spelled, by_root, length], ids=lambda form: form.__name__)
def test_between_blocked_convolutions_it_is_one_kernel(tools: Any, form: Form, bits: int) -> None:
    new = graph()
    result = new("Conv", form(new, new("Conv", "x", "kernel")), "kernel")
    network = tools.compared(saved(tools, new, result), bits)
    kernels = [name for name in names(network) if "conv" not in name]
    assert kernels.count("channel_norm") == 1
    # The ends of the network are plain.
    assert {name for name in kernels if name != "channel_norm"} <= {"layout_transform", "layout_transform1"}


@pytest.mark.parametrize("rank", [3, 4])
def test_rows_that_a_product_reads_come_out_of_the_blocks(tools: Any, rank: int) -> None:
    new = graph()
    made = new("Conv", "x", "kernel")
    rows = new(
        "Transpose",
        new("Reshape", made, "pixels") if rank == 3 else made,
        perm=[0, 2, 1] if rank == 3 else [0, 2, 3, 1],
    )
    network = tools.compared(saved(tools, new, new("MatMul", layer_norm(new, rows), "product")))
    assert names(network).count("channel_norm") == 1
    assert not any("transpose" in name for name in names(network))


def test_rows_that_two_read_are_made_beside_the_picture(tools: Any) -> None:
    new = graph()
    rows = layer_norm(new, new("Transpose", new("Conv", "x", "kernel"), perm=[0, 2, 3, 1]))
    product = new("MatMul", rows, "product")
    network = tools.compared(
        saved(tools, new, product, new("Conv", new("Transpose", rows, perm=[0, 3, 1, 2]), "kernel"))
    )
    assert sum(name.startswith("channel_norm") for name in names(network)) == 2


def other_order(new: Graph, name: str) -> str:
    rows = layer_norm(new, new("Transpose", name, perm=[0, 3, 2, 1]))
    return new("Transpose", rows, perm=[0, 3, 2, 1])


def back_turned(new: Graph, name: str) -> str:
    rows = layer_norm(new, new("Transpose", name, perm=[0, 2, 3, 1]))
    return new("Transpose", rows, perm=[0, 3, 2, 1])


def along_two(new: Graph, name: str) -> str:
    """Layer norms of all pixels in a row of the picture."""
    new_scale, new_bias = (new.constant(np.ones((EDGE, CHANNELS), np.float32)) for _ in range(2))
    rows = new("LayerNormalization", new("Transpose", name, perm=[0, 2, 3, 1]), new_scale, new_bias, axis=-2)
    return new("Transpose", rows, perm=[0, 3, 1, 2])


@pytest.mark.parametrize(
    ("form", "found"),
    [(other_order, 0), (back_turned, 1), (along_two, 0)],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_other_orders_of_axes_are_no_such_norm(tools: Any, form: Form, found: int) -> None:
    """Turned otherwise on the way back, rows come out of the blocks and go back by themselves."""
    new = graph()
    result = new("Conv", form(new, new("Conv", "x", "kernel")), "kernel")
    assert names(tools.compared(saved(tools, new, result))).count("channel_norm") == found


def test_what_comes_out_of_no_blocks_is_normalised_as_it_is(tools: Any) -> None:
    new = graph()
    network = tools.compared(saved(tools, new, new("Conv", permuted(new, "x"), "kernel")))
    assert "channel_norm" not in names(network)


def test_bytes_are_rounded_behind_sums_in_the_order_of_the_rows(tools: Any) -> None:
    new = graph()
    zero, step = new.constant(np.array(0, np.int8)), new.constant(np.float32(0.05))
    normalised = permuted(new, new("Conv", "x", "kernel"))
    pair = new("DequantizeLinear", new("QuantizeLinear", normalised, step, zero), step, zero)
    path = saved(tools, new, new("Conv", pair, "kernel"))
    config = NetworkConfig()
    found = names(import_network(load_network(path, config), '{"kind": "llvm", "num-cores": 1}', config, 512))
    assert "channel_norm" not in found
    assert any("layer_norm" in name for name in found)
