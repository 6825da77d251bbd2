"""TVM takes maxima of ours apart as it does its own, also where a process ends."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tvm
from tvm import s_tir, te

from tcl_core.own_operators.maxima import greatest


def maxima(*, shared: bool) -> tvm.IRModule:
    """Of each of three rows, all at once or half by half."""
    rows, along = te.placeholder((3, 8), "float32", name="rows"), te.reduce_axis((0, 8))
    result = te.compute((3,), lambda i: greatest(rows[i, along], axis=[along]), name="most")
    schedule = s_tir.Schedule(tvm.IRModule({"main": te.create_prim_func([rows, result])}))
    if shared:
        *_, summed = schedule.get_loops(schedule.get_sblock("most"))
        halves, _ = schedule.split(summed, factors=[2, None])
        schedule.rfactor(halves, factor_axis=0)
    return schedule.mod


@pytest.mark.parametrize("shared", [False, True])
def test_of_nothing_but_minus_infinity_it_is_that(*, shared: bool) -> None:
    rows = np.full((3, 8), -np.inf, np.float32)
    rows[1, 5], rows[2, :4] = -3e38, [1, 4, 3, np.inf]
    found = tvm.runtime.tensor(np.zeros(3, np.float32))
    tvm.compile(maxima(shared=shared), tvm.target.Target("llvm"))(tvm.runtime.tensor(rows), found)
    np.testing.assert_array_equal(found.numpy(), rows.max(axis=1))


def test_a_process_that_knows_it_ends_well() -> None:
    """TVM frees what it was told of reductions when there is no interpreter any more."""
    ended = subprocess.run([sys.executable, "-c", "import tcl_core.own_operators"], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
