"""LRN: onnxruntime's results, in one kernel where channels are blocked; and which weights are a band."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import relax, te

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.response_norms import NAME, Band, as_band, spell_out_response_norm

CPU = json.dumps({"kind": "llvm", "num-cores": 1})
LANES = 8


def normed(tools: Any, channels: int, kind: int = onnx.TensorProto.FLOAT, **attributes: Any) -> Any:
    """A convolution, the norm, a convolution."""
    generator = np.random.default_rng(channels)
    weights = [
        tools.tensor("first", generator.normal(0, 0.5, (channels, 16, 1, 1)).astype(np.float32)),
        tools.tensor("last", generator.normal(0, 0.5, (16, channels, 1, 1)).astype(np.float32)),
    ]
    nodes = [
        tools.node("Conv", ["x", "first"], ["a"], name="first"),
        tools.node("LRN", ["a"], ["b"], name="norm", **{"size": 5} | attributes),
        tools.node("Conv", ["b", "last"], ["y"], name="last"),
    ]
    ends = [tools.value(name, [2, 16, 3, 5]) for name in ("x", "y")]
    return tools.save(tools.model(nodes, ends[:1], ends[1:], weights))


def kernels(module: Any) -> list[str]:
    return [variable.name_hint for variable, function in module.functions_items() if "main" not in variable.name_hint]


@pytest.mark.parametrize("bits", [0, 32 * LANES])
@pytest.mark.parametrize("channels", [24, 64, 20])
@pytest.mark.parametrize(
    "attributes",
    [
        {"alpha": 0.5},
        {"alpha": 2.0, "beta": 0.5, "size": 3, "bias": 2.0},
        {"alpha": 1.0, "size": 7},
        {"alpha": 1.0, "size": 1},
        {"alpha": 3.0, "beta": 0.6, "size": 9},
        {"alpha": 0.5, "size": 19},
    ],
    ids=str,
)
def test_it_gives_what_onnxruntime_gives(tools: Any, bits: int, channels: int, attributes: dict[str, Any]) -> None:
    path = normed(tools, channels, **attributes)
    x = np.random.default_rng(0).normal(size=(2, 16, 3, 5)).astype(np.float32)
    wanted = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    module = import_network(load_network(path, NetworkConfig()), CPU, NetworkConfig(), bits).module
    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target(json.loads(CPU))), tvm.cpu())
    np.testing.assert_allclose(machine["main"](tvm.runtime.tensor(x)).numpy(), wanted, rtol=1e-4, atol=1e-5)
    summed = bits and channels % LANES == 0 and 1 < attributes.get("size", 5) <= 2 * LANES
    assert any(NAME in name for name in kernels(module)) == bool(summed)
    if summed and attributes.get("beta", 0.75) == 0.75:
        assert sum("sqrt" in name for name in kernels(module)) == 1
        assert not any("power" in name for name in kernels(module))


def test_what_is_no_picture_of_float32_is_left(tools: Any) -> None:
    node, float32 = tools.node("LRN", ["x"], ["y"], size=3), onnx.TensorProto.FLOAT
    assert spell_out_response_norm(node, {"x": (1, 8, 4, 4)}, {"x": float32}) is not None
    assert spell_out_response_norm(node, {"x": (1, 8, 4)}, {"x": float32}) is None
    assert spell_out_response_norm(node, {"x": (1, 4096, 4, 4)}, {"x": float32}) is None
    assert spell_out_response_norm(node, {}, {"x": float32}) is None
    assert spell_out_response_norm(node, {"x": (1, 8, 4, 4)}, {"x": onnx.TensorProto.DOUBLE}) is None


def banded(channels: int, first: int, last: int, factor: float) -> np.ndarray:
    off = np.arange(channels)[None] - np.arange(channels)[:, None]
    return np.where((off >= first) & (off <= last), factor, 0).astype(np.float32)


def blocked(matrix: np.ndarray, lanes: int = LANES) -> np.ndarray:
    """[out, in] -> [O, I, 1, 1, c, o]."""
    blocks = len(matrix) // lanes
    return matrix.reshape(blocks, lanes, blocks, lanes).transpose(0, 2, 3, 1)[:, :, None, None]


@given(st.integers(1, 4), st.integers(-LANES, 3), st.integers(1, LANES), st.floats(0.125, 2, width=32))
def test_a_band_is_known_and_sums_up_what_the_product_does(blocks: int, first: int, more: int, factor: float) -> None:
    last = min(first + more, LANES)
    channels = blocks * LANES
    matrix = banded(channels, first, last, factor)
    band = as_band(blocked(matrix))
    if band is None:  # too little of it lies within the matrix, or one diagonal
        off = [each for each in range(first, last + 1) if abs(each) < channels]
        assert len(off) < 2
        return
    data = np.random.default_rng(0).normal(size=(1, blocks, 2, 1, LANES)).astype(np.float32)
    values = te.placeholder(data.shape, name="values")
    function = tvm.compile(te.create_prim_func([values, band.sums(values)]), tvm.target.Target("llvm"))
    found = tvm.runtime.tensor(np.empty_like(data))
    function(tvm.runtime.tensor(data), found)
    flat = data.transpose(0, 2, 3, 1, 4).reshape(2, channels)
    wanted = (flat @ matrix.T).reshape(1, 2, 1, blocks, LANES).transpose(0, 3, 1, 2, 4)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_what_is_almost_a_band_is_none() -> None:
    whole = banded(24, -2, 2, 0.5)
    assert as_band(blocked(whole)) == Band(first=-2, last=2, factor=0.5)
    for place, number in (((5, 5), 0), ((5, 6), 0.25), ((0, 20), 0.5), ((23, 21), 0)):
        other = whole.copy()
        other[place] = number
        assert as_band(blocked(other)) is None
    for other in (np.zeros_like(whole), np.eye(24, dtype=np.float32), np.full_like(whole, 0.5)):
        assert as_band(blocked(other)) is None
    assert as_band(blocked(whole).astype(np.float64)) is None
    assert as_band(np.repeat(blocked(whole), 3, axis=2)) is None
    assert as_band(blocked(whole)[:, :2]) is None
