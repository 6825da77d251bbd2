"""The vector functions against float64, over their whole ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import tvm
from tvm.script import tirx as T  # noqa: N812 - TVMScript's own convention

from tcl_core.cost_model import lane_math

LANES = 16


def apply(function: Callable[[Any], Any], x: torch.Tensor) -> torch.Tensor:
    @T.prim_func(s_tir=True)
    def main(x_: T.handle, y_: T.handle) -> None:
        T.func_attr({"global_symbol": "main"})
        n = T.int32()
        x = T.match_buffer(x_, (n,), align=4)
        y = T.match_buffer(y_, (n,), align=4)
        for i in T.serial(n // LANES):
            for w in T.vectorized(LANES):
                y[i * LANES + w] = function(x[i * LANES + w])

    kernel = tvm.compile(tvm.IRModule({"main": main}), tvm.target.Target({"kind": "llvm"}))["main"]
    y = torch.empty_like(x)
    kernel(x, y)
    return y


@pytest.mark.parametrize(
    ("function", "exact", "low", "high"),
    [
        (lane_math.exp, torch.exp, -87.0, 88.0),
        (lambda x: lane_math.exp(x, bounded_above=True), torch.exp, -87.0, 0.0),
        (lane_math.sigmoid, torch.sigmoid, -80.0, 80.0),
        (lane_math.softplus, lambda x: torch.log1p(torch.exp(x)), -80.0, 80.0),
    ],
    ids=["exp", "exp of negatives", "sigmoid", "softplus"],
)
def test_relative_error_below_one_in_a_million(
    function: Callable[[Any], Any], exact: Callable[[torch.Tensor], torch.Tensor], low: float, high: float
) -> None:
    x = torch.cat([torch.linspace(low, high, LANES * 4000), torch.linspace(-1, 0, LANES * 1000)])
    wanted = exact(x.double())
    error = ((apply(function, x) - wanted) / wanted).abs()
    assert float(error.max()) < 1e-6


def test_outside_the_range_exp_is_clamped_and_finite() -> None:
    x = torch.tensor([-1e30, -200.0, 200.0, 1e30] * (LANES // 4))
    y = apply(lane_math.exp, x)
    assert torch.isfinite(y).all()
    assert (y[:2] < 2e-38).all()
    assert (y[2:4] > 1e38).all()
