"""Measured peaks of this machine: FLOP/s and memory bandwidth, the two lines of its roofline.

A short micro-benchmark. It runs once per platform; the caller keeps the result with the platform.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.helper
import onnxruntime
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_COPY_LIMIT_BYTES = 256 << 20
_LEAST_PART_BYTES = 4 << 20
"""Of each thread: where there are many, their caches together hold more than one shared cache."""
_LEAST_COPIED_BYTES = 16 << 20
"""By each thread in a run. Handing out 128 copies takes a millisecond, in which such a machine copies 400 MB."""
_FACTORS, _PRODUCT = ("left", "right"), "product"
_OPSET, _IR_VERSION = 17, 8


@dataclass(frozen=True, kw_only=True)
class Peaks:
    """Best observed rates: float32 FLOP/s and bytes/s of a copy (bytes read plus bytes written)."""

    flops: float
    bandwidth_bytes_s: float


def measure_peaks(threads: int, *, l3_bytes: int = 0, budget_s: float = 0.4, size: int = 384) -> Peaks:
    """Measure with `threads` threads for about `budget_s` seconds in total.

    Float32 matrix products of `size` x `size` (2 size^3 FLOP) by onnxruntime, and a copy between arrays larger than the
    last cache. The best of the repeats counts: everything that disturbs a measurement makes it slower. NumPy's BLAS
    picks its kernels by the name of the processor, and AVX2 for one it does not know: 251 GFLOP/s on a Zen 5 where
    onnxruntime's reach 492.
    """
    with ThreadPoolExecutor(threads) as workers:
        flops = sum(workers.map(lambda _: _peak_flops(size, budget_s / 2), range(threads)))
        bandwidth = _bandwidth(workers, threads, l3_bytes, budget_s / 2)
    return Peaks(flops=flops, bandwidth_bytes_s=bandwidth)


def _peak_flops(size: int, budget_s: float) -> float:
    """One thread's best, while the others run theirs.

    A product takes about a millisecond, so that some fit between two interruptions. One product spread over all threads
    waits for the slowest: beside other work it showed a ninth of the machine (28 for 257 GFLOP/s, measured).
    """
    session = _product(size)
    binding = session.io_binding()
    for name in _FACTORS:
        binding.bind_cpu_input(name, np.full((size, size), 0.5, np.float32))
    binding.bind_output(_PRODUCT)
    return 2.0 * size**3 / _best_seconds(lambda: session.run_with_iobinding(binding), budget_s)


def _product(size: int) -> onnxruntime.InferenceSession:
    """A matrix product on the calling thread."""
    values = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [size, size]) for name in (*_FACTORS, _PRODUCT)
    ]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", list(_FACTORS), [_PRODUCT])], "product", values[:-1], values[-1:]
    )
    opset = onnx.helper.make_opsetid("", _OPSET)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _bandwidth(workers: ThreadPoolExecutor, threads: int, l3_bytes: int, budget_s: float) -> float:
    """All threads together, each copying an array of its own: they share the memory, so rates cannot be added."""
    part_bytes = max(min(max(2 * l3_bytes, 32 << 20), _COPY_LIMIT_BYTES) // threads, _LEAST_PART_BYTES)
    copies = max(1, _LEAST_COPIED_BYTES // part_bytes)
    sources = [np.ones(part_bytes, np.uint8) for _ in range(threads)]
    targets = [np.zeros(part_bytes, np.uint8) for _ in range(threads)]

    def copy(target: Bytes, source: Bytes) -> None:
        for _ in range(copies):
            np.copyto(target, source)

    seconds = _best_seconds(lambda: list(workers.map(copy, targets, sources)), budget_s)
    return 2.0 * part_bytes * copies * threads / seconds


def _best_seconds(work: Callable[[], object], budget_s: float) -> float:
    """Shortest of several runs after one to warm up; at least two runs, whatever the budget."""
    work()
    best, runs, until = float("inf"), 0, time.perf_counter() + budget_s
    while runs < 2 or time.perf_counter() < until:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        runs += 1
    return best
