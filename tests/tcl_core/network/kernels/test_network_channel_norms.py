"""Norms over a blocked picture's channels: the results of NumPy's, in blocks and as rows of channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm

from tcl_core.network.kernels.channel_norms import channel_norm_kernel
from tcl_core.network.relax_graph.norms import DeviationNorm

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 1})
NORMS = {
    "layer": DeviationNorm(epsilon=1e-3),
    "root mean square": DeviationNorm(centred=False, about_mean=False, epsilon=1e-3),
    "not centred": DeviationNorm(centred=False, epsilon=1e-3),
    "about zero": DeviationNorm(about_mean=False, epsilon=1e-3),
    "of a sample": DeviationNorm(factor=48 / 47, outside=1e-2),
    "of a least length": DeviationNorm(centred=False, about_mean=False, factor=48, least=5),
}


def by_numpy(norm: DeviationNorm, rows: Any, scale: Any, bias: Any) -> Any:
    """Of rows of channels, in float64."""
    rows = rows.astype(np.float64)
    off = rows - rows.mean(-1, keepdims=True)
    squares = np.square(off if norm.about_mean else rows).mean(-1, keepdims=True)
    deviation = np.maximum(np.sqrt(norm.factor * squares + norm.epsilon) + norm.outside, norm.least)
    return (off if norm.centred else rows) / deviation * scale + bias


@pytest.mark.parametrize("in_blocks", [True, False])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5, 16), (1, 6, 2, 3, 8), (2, 1, 3, 3, 48)])
@pytest.mark.parametrize("kind", NORMS)
def test_it_is_the_norm(kind: str, shape: tuple[int, ...], in_blocks: bool) -> None:
    batch, chunks, height, width, lanes = shape
    generator = np.random.default_rng(0)
    value = (generator.standard_normal(shape) + 0.5).astype(np.float32)
    scale, bias = generator.standard_normal((2, chunks * lanes)).astype(np.float32)
    kernel = channel_norm_kernel(NORMS[kind], shape, in_blocks=in_blocks)
    rows = value.transpose(0, 2, 3, 1, 4).reshape(batch, height, width, chunks * lanes)
    expected = by_numpy(NORMS[kind], rows, scale, bias)
    if in_blocks:
        expected = expected.reshape(batch, height, width, chunks, lanes).transpose(0, 3, 1, 2, 4)
    result = tvm.runtime.tensor(np.full(expected.shape, np.nan, np.float32))
    run = tvm.compile(tvm.IRModule({"main": kernel.with_attr("global_symbol", "main")}), TARGET)
    run["main"](*map(tvm.runtime.tensor, (value, scale, bias)), result)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_a_kernel_joins_a_module_that_has_a_main_function() -> None:
    for in_blocks in (True, False):
        assert "global_symbol" not in channel_norm_kernel(NORMS["layer"], (1, 2, 3, 3, 16), in_blocks=in_blocks).attrs
