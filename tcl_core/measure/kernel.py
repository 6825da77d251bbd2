"""One scheduled module built to machine code in this process, and the clock that times it.

Nothing is exported and no linker runs: LLVM's JIT keeps the code in memory, so no compiler is needed on the machine.
"""

from __future__ import annotations

import json
import math
import time
from typing import Any

from tcl_core.cuda_compiler import use_quick_compiler
from tcl_core.measure.arguments import Arguments, Signature
from tcl_core.measure.preload import (
    ArgInfo,
    RemoveWeightLayoutRewriteBlock,
    Target,
    build,
    from_json_graph_str,
    pipeline_to_time,
    tvm,
)
from tcl_core.tvm_threads import apart_from_pool

ENTRY = "main"

_UNCHECKED = tvm.transform.PassContext(config={"tirx.disable_assert": True})
"""Without what checks the arguments of each call, which here are always right: 18 of the 100 ms that a 3x3 convolution
takes to compile, and of the 32 of a small kernel. A library is built with it."""

_PYTHON_CLOCK_S = 0.0005
"""From this length on a run is timed from Python: the call costs 0.2 us, and TVM's time evaluator would add a warm-up
run of its own each time."""


_GPU_REPEAT_S = 0.0005
"""So long a GPU is kept busy by one reading of the clock. Between two launches it waits, which a run on its own pays
and a thousand in a row do not: kernels of 4 us were read as 8 (H200), and 52 of 73 such candidates cut off."""


def built(module_json: str, target: Any) -> tuple[Any, Signature]:
    """The runtime module of `module_json`, and what its arguments must look like.

    The same passes as MetaSchedule's default build, without its import of the tensor intrinsics, which only schedules
    need (0.3 s at best, for nothing here).
    """
    # Written a moment ago by this very TVM: `tvm.ir.load_json` would look for older versions, 7 ms for 1.
    module = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(from_json_graph_str(module_json))
    infos = ArgInfo.from_entry_func(module, remove_preproc=False)
    signature = tuple((str(info.dtype), tuple(int(extent) for extent in info.shape)) for info in infos)
    with _UNCHECKED, target:
        return build(module, target=target, pipeline=pipeline_to_time(module_json)), signature


class Compiler:
    """Builds modules for one target and says which device they run on.

    On a GPU its context is made here (0.2 s on an H200): who cannot have one is no worker, and no candidate's failure.
    """

    def __init__(self, target_json: str, kind: str) -> None:
        self._target = Target(json.loads(target_json))
        self.device = tvm.cuda(0) if kind == "cuda" else tvm.cpu(0)
        self._busy_s = _GPU_REPEAT_S if kind == "cuda" else 0.0
        if kind == "cuda":
            use_quick_compiler()
            self.device.sync()

    def arguments(self, seed: int) -> Arguments:
        """What its kernels are run on."""
        return Arguments(self.device, seed)

    def compile(self, module_json: str) -> Kernel:
        """Build `module_json` (`tvm.ir.save_json` text, entry "main") down to machine code."""
        runtime_module, signature = built(module_json, self._target)
        # LLVM's JIT generates code when a symbol is first looked up (up to 1.9 s for unrolled loops): here, so that
        # neither a timing nor its time limit includes it.
        entry = runtime_module[ENTRY]
        return Kernel(runtime_module, entry, signature, self.device, self._busy_s)


class Kernel:
    """A built module that can be run. `signature` is what its arguments must look like."""

    def __init__(self, runtime_module: Any, entry: Any, signature: Signature, device: Any, busy_s: float = 0.0) -> None:
        self._runtime_module = runtime_module
        self._entry = entry
        self._device = device
        self._busy_s = busy_s
        self.signature = signature

    def timer(self, arguments: Arguments) -> KernelTimer:
        """A `timing.Timer` of this kernel."""
        return KernelTimer(self._runtime_module, self._entry, arguments.of(self.signature), self._device, self._busy_s)


class KernelTimer:
    """The clock of one kernel: see `timing.Timer`. Runs are as many as keep the device busy for `busy_s`, at least."""

    def __init__(self, runtime_module: Any, entry: Any, tensors: list[Any], device: Any, busy_s: float = 0.0) -> None:
        self._runtime_module = runtime_module
        self._entry = entry
        self._tensors = tensors
        self._device = device
        self._busy_s = busy_s
        self._last_s = 0.0

    @apart_from_pool()
    def first(self) -> float:
        return self._run_from_python(1)

    @apart_from_pool()
    def run(self, number: int) -> float:
        if self._last_s >= _PYTHON_CLOCK_S:
            return self._run_from_python(number)
        number = max(number, math.ceil(self._busy_s / self._last_s)) if self._last_s else number
        evaluator = self._runtime_module.time_evaluator(ENTRY, self._device, number=number, repeat=1)
        self._last_s = float(evaluator(*self._tensors).results[0])
        return self._last_s

    def _run_from_python(self, number: int) -> float:
        self._device.sync()
        start = time.perf_counter()
        for _ in range(number):
            self._entry(*self._tensors)
        self._device.sync()
        self._last_s = (time.perf_counter() - start) / number
        return self._last_s

    def close(self) -> None:
        """Nothing: the tensors are another kernel's, too."""
