"""A GPU's peaks: what is compiled everywhere, what is measured where there is one."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tvm

from tcl_core.errors import UserError
from tcl_core.hardware import cuda_peaks
from tcl_core.hardware.cuda_peaks import copy, measure_cuda_peaks, multiply_adds
from tcl_core.hardware.target import resolve_platform
from tests.tcl_core.conftest import CUDA_TARGET, needs_cuda


def source(function: Any) -> str:
    built = tvm.tirx.build(tvm.IRModule({"main": function}), tvm.target.Target(json.loads(CUDA_TARGET)))
    text: str = built.imports[0].inspect_source()
    return text


def test_no_compiler_can_leave_a_multiply_add_out() -> None:
    text = source(multiply_adds(4))
    body = text[text.rindex("__global__") :]
    assert body.count(" * A_ptr") == cuda_peaks._UNROLLED * cuda_peaks._CHAINS, "a step, unrolled"
    assert f"< {cuda_peaks._STEPS}; " in body
    assert all(f"sums_ptr[{chain}])" in body for chain in range(1, cuda_peaks._CHAINS)), "each chain is read at the end"


def test_a_copy_moves_vectors() -> None:
    assert source(copy(1 << 16)).count("float4*") == 2


def test_a_device_that_cannot_be_used_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object) -> float:
        raise RuntimeError("CUDA: no kernel image is available.\nat somewhere")

    monkeypatch.setattr(cuda_peaks, "_seconds", broken)
    with pytest.raises(UserError, match=r"cannot be used \(CUDA: no kernel image is available\); see") as refused:
        measure_cuda_peaks(CUDA_TARGET, 132)
    assert refused.value.stage == "target"


@needs_cuda
def test_a_gpu_is_faster_than_any_processor() -> None:
    features = resolve_platform("cuda", None).features
    assert 1e12 < features.peak_flops < 1e15
    assert 1e11 < features.bandwidth_bytes_s < 1e14
