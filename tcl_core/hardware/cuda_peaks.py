"""Measured peaks of a CUDA device: float32 FLOP/s without tensor cores, and the bandwidth of its memory.

Both kernels are TensorIR that TVM's CUDA backend compiles: nothing has to be installed that tuning for CUDA does not
need anyway. What is measured is what schedules can reach, which give float32 no tensor cores.
"""

from __future__ import annotations

import json
from typing import Any

from tvm.script import tirx as T  # noqa: N812 - TVMScript's own convention

from tcl_core.cuda_compiler import use_quick_compiler
from tcl_core.errors import UserError, first_line
from tcl_core.hardware.peaks import Peaks

_THREADS = 256
_BLOCKS_EACH = 64
"""Blocks of `_THREADS` per multiprocessor, which holds eight at a time: the idle end of the last wave weighs little."""

_CHAINS, _STEPS, _UNROLLED = 8, 256, 16
"""Eight chains, because a multiply-add waits four cycles for the one before it; 16 steps to an iteration, beside which
the loop's own instructions are few."""

_LANES = 4
_COPIED = 64 << 20
"""Floats, 256 MB: several times the L2 cache of today's devices (50 MB on an H100)."""

_REPEATS = 10


def measure_cuda_peaks(target_json: str, multiprocessors: int) -> Peaks:
    """The best of some short runs on the first CUDA device; about a second, most of it compiling.

    Raises:
        UserError: stage "target": nothing here compiles for CUDA, or the device does not run what was compiled.
    """
    use_quick_compiler()
    blocks = multiprocessors * _BLOCKS_EACH
    try:
        computing_s = _seconds(multiply_adds(blocks), target_json, (blocks * _THREADS,))
        copying_s = _seconds(copy(_COPIED), target_json, (_COPIED, _COPIED))
    except Exception as error:
        # The compiler and the driver fail in ways of their own; whichever it is, nothing can be tuned for this device.
        raise UserError(
            "target", f"The CUDA device cannot be used ({first_line(error)}); see `main.py doctor`."
        ) from error
    flops = 2.0 * blocks * _THREADS * _CHAINS * _STEPS * _UNROLLED
    return Peaks(flops=flops / computing_s, bandwidth_bytes_s=2.0 * 4 * _COPIED / copying_s)


def _seconds(function: Any, target_json: str, lengths: tuple[int, ...]) -> float:
    import tvm

    device, target = tvm.cuda(0), tvm.target.Target(json.loads(target_json))
    with target:  # what compiles asks the scope for the architecture
        built = tvm.tirx.build(tvm.IRModule({"main": function}), target=target)
    arrays = [tvm.runtime.empty((length,), "float32", device) for length in lengths]
    evaluator = built.time_evaluator("main", device, number=1, repeat=_REPEATS)
    return float(min(evaluator(*arrays).results))


def multiply_adds(blocks: int) -> Any:
    """Kernel (A), a float to each thread: chains of multiply-adds that begin with it and end in it."""
    length = blocks * _THREADS

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(A: T.Buffer((length,), "float32")) -> None:  # type: ignore[valid-type]
        T.func_attr({"global_symbol": "main", "tirx.noalias": True})
        for block in T.thread_binding(blocks, thread="blockIdx.x"):
            for thread in T.thread_binding(_THREADS, thread="threadIdx.x"):
                with T.sblock("chains"):
                    at = T.axis.spatial(length, block * _THREADS + thread)
                    sums = T.sblock_alloc_buffer((_CHAINS,), "float32", scope="local")
                    for chain in T.unroll(_CHAINS):
                        sums[chain] = A[at] + T.Cast("float32", chain)
                    for _ in T.serial(_STEPS):
                        for _unrolled in T.unroll(_UNROLLED):
                            for chain in T.unroll(_CHAINS):
                                sums[chain] = sums[chain] * A[at] + A[at]
                    for chain in T.unroll(_CHAINS - 1):
                        sums[0] = sums[0] + sums[chain + 1]
                    A[at] = sums[0]

    return main


def copy(length: int) -> Any:
    """Kernel (A, B): B becomes A, each thread's share in one vector."""
    block_length = _THREADS * _LANES

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(A: T.Buffer((length,), "float32"), B: T.Buffer((length,), "float32")) -> None:  # type: ignore[valid-type]
        T.func_attr({"global_symbol": "main", "tirx.noalias": True})
        for block in T.thread_binding(length // block_length, thread="blockIdx.x"):
            for thread in T.thread_binding(_THREADS, thread="threadIdx.x"):
                for lane in T.vectorized(_LANES):
                    with T.sblock("copy"):
                        at = T.axis.spatial(length, block * block_length + thread * _LANES + lane)
                        B[at] = A[at]

    return main
