"""Kernels on a real GPU: timed, and one that fails takes no other along."""

from __future__ import annotations

import pytest

from tcl_core.config import MeasureConfig
from tcl_core.domain import Stage
from tcl_core.hardware.target import resolve_platform
from tcl_core.measure import Measurer
from tcl_core.measure.requests import MeasureRequest
from tests.tcl_core.conftest import needs_cuda

pytestmark = [pytest.mark.slow, needs_cuda]

_KERNEL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1024,), "float32")):
    T.func_attr({{"tirx.noalias": True, "global_symbol": "main"}})
    for block in T.thread_binding(4, thread="blockIdx.x"):
        for thread in T.thread_binding(256, thread="threadIdx.x"):
            {body}
"""
_BODIES = {
    "fine": "A[block * 256 + thread] = A[block * 256 + thread] * T.float32(0.5)",
    "illegal": "A[block * 1000000000 + thread + 1000000000] = T.float32(1)",
    "endless": "while A[thread] < T.float32(100): A[thread] = A[thread] * T.float32(0.5)",
}


def test_a_kernel_that_fails_costs_itself() -> None:
    import tvm
    from tvm.script import from_source

    fates = ("fine", "illegal", "fine", "endless", "fine")
    texts = [
        tvm.ir.save_json(tvm.IRModule({"main": from_source(_KERNEL.format(body=_BODIES[fate]))})) for fate in fates
    ]
    requests = [MeasureRequest(id=number, module_json=text) for number, text in enumerate(texts)]
    config = MeasureConfig(compile_workers=1, run_timeout_s=5.0)
    with Measurer(resolve_platform("cuda", 1, measure=False), config) as measurer:
        results = {result.id: result for result in measurer.measure(requests)}
    for number, fate in enumerate(fates):
        failure = results[number].failure
        if fate == "fine":
            assert failure is None and all(1e-7 < latency_s < 1e-3 for latency_s in results[number].latencies_s)
        else:
            assert failure is not None and failure.stage is Stage.MEASURE
            assert (failure.cause == "timeout") == (fate == "endless")
