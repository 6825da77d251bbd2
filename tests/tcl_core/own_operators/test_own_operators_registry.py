"""What TVM is told of its own operators."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import te, tirx
from tvm.s_tir import Schedule

import tcl_core.own_operators  # noqa: F401  # marks them

TARGET = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64-v3"})


@pytest.mark.parametrize("of", [tirx.nearbyint, tirx.rsqrt])
def test_they_are_computed_in_vectors(of: Any) -> None:
    """Of two chained minima and maxima LLVM makes none of loops, either."""
    value = te.placeholder((64, 8), "float32", name="value")
    bounded = te.compute(value.shape, lambda *at: of(tirx.max(tirx.min(value[at], 9.0), -9.0)), name="bounded")
    schedule = Schedule(te.create_prim_func([value, bounded]))
    schedule.vectorize(schedule.get_loops(schedule.get_sblock("bounded"))[-1])
    built = tvm.compile(schedule.mod, TARGET).mod.inspect_source("ll")
    assert "load <8 x float>" in built
    assert "gather" not in built
