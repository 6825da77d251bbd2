"""What the owner of the workers and a worker say to each other: frozen, picklable, one answer to every job."""

from __future__ import annotations

from dataclasses import dataclass

from tcl_core.config import MeasureConfig
from tcl_core.domain import Failure
from tcl_core.measure.arguments import Signature


@dataclass(frozen=True, kw_only=True)
class WorkerSetup:
    """What every worker of a pool is told at its birth.

    Attributes:
        target_json: TVM target as JSON text.
        kind: "llvm" or "cuda"; decides the device that kernels run on.
        threads: size of TVM's thread pool.
        device: address of the machine over the network that kernels run on; "" for this one.
    """

    target_json: str
    kind: str
    threads: int
    config: MeasureConfig
    device: str = ""


@dataclass(frozen=True)
class NurseryReady:
    """TVM is loaded."""


@dataclass(frozen=True)
class WorkerReady:
    """A worker is waiting for its first job."""


@dataclass(frozen=True, kw_only=True)
class CompileJob:
    """Compile to machine code and keep."""

    id: int
    module_json: str


@dataclass(frozen=True, kw_only=True)
class LinkedKernel:
    """A candidate as a shared library for a device over the network. `signature` is what its arguments must look like.

    It weighs 20 - 100 KB.
    """

    library: bytes
    signature: Signature


@dataclass(frozen=True, kw_only=True)
class TimeJob:
    """Time what was compiled as `id`, then drop it unless it is to be kept for another visit.

    `best_s` is the task's best latency so far. `kernel` is what to time where another worker compiled it, and
    that is never kept.
    """

    id: int
    best_s: float | None
    keep: bool = False
    kernel: LinkedKernel | None = None


@dataclass(frozen=True)
class ForgetJob:
    """Drop everything compiled. The only job without an answer."""


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """Answer to `CompileJob`. With a `kernel` the worker keeps nothing."""

    id: int
    compile_s: float
    kernel: LinkedKernel | None = None


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Answer to `TimeJob`."""

    id: int
    latencies_s: tuple[float, ...]
    cut_off: bool
    run_s: float


@dataclass(frozen=True, kw_only=True)
class Failed:
    """Answer to either job: it failed after `seconds`.

    `fit`: whether the worker can take the next job. A CUDA kernel that fails takes its context with it, and every later
    call in that process reports the same error (CUDA Runtime API, `cudaErrorIllegalAddress`).
    `lost`: whether its worker went with the nursery, which says nothing of the job.
    `gone`: why the device over the network cannot be worked with, which says nothing of the job either.
    """

    id: int
    failure: Failure
    seconds: float
    fit: bool = True
    lost: bool = False
    gone: str = ""


Job = CompileJob | TimeJob | ForgetJob
Answer = Compiled | Timed | Failed
