"""Check and time in a process of its own: what runs is generated code, and its crash must be data, not ours.

A fresh process also starts with the number of threads it is to be measured with: TVM and OpenMP read it once.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from tcl_core.child_processes import obey_parent
from tcl_core.config import LibraryConfig
from tcl_core.device_sessions import PATIENCE_S, DeviceLost
from tcl_core.devices import parse_address
from tcl_core.domain import Failure, Stage
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken
from tcl_core.libraries import Contest, OutputCheck, Timing
from tcl_core.library.compare import check_outputs, contest, time_side_by_side, timing_of
from tcl_core.library.contenders import Contender, arrays, onnxruntime_contender
from tcl_core.library.venue import ONNXRUNTIME, TUNED, UNTUNED, Here, OnDevice, Venue
from tcl_core.tvm_threads import SPIN_COUNT, apart_from_pool

_POLL_S = 0.1
_EXIT_S = 10.0
_CRASH, _TIMEOUT = "crash", "timeout"


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """What to compare. Paths, because the parts may be large.

    Attributes:
        model: path of the network as it was opened.
        single: of the same in single precision, where it holds half floats and the library computes in single ones.
        inputs: an ``.npz`` file with one array per input name.
        names: input names in the order of the function's parameters.
        outputs: output names in order.
        tuned, untuned: exported libraries; None to leave one out.
        kind: "llvm" or "cuda".
        timed: whether to time them after the check.
        untuned_s: what the first run of untuned TVM may take, in seconds: of a large network minutes, and nobody waits
            for these.
        device: address of the machine over the network that runs the libraries, which onnxruntime does not run on: it
            says what the results are, and is not timed. "" for this machine.
    """

    model: str
    inputs: str
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    tuned: str | None
    untuned: str | None
    kind: str
    threads: int
    config: LibraryConfig
    timed: bool = True
    single: str | None = None
    untuned_s: float = 20.0
    device: str = ""


@dataclass(frozen=True, kw_only=True)
class CompareResult:
    """What came of it, as far as it got.

    Attributes:
        checks: of each output; () when the tuned library or onnxruntime did not run.
        timings: pairs of contender ("untuned", "tuned", "onnxruntime") and timing, of those that ran.
        contests: the tuned library against each other contender that ran.
        failures: why something is missing.
        started: the contender that was run for the first time and has not come back; None where none is.
    """

    checks: tuple[OutputCheck, ...] = ()
    timings: tuple[tuple[str, Timing], ...] = ()
    contests: tuple[Contest, ...] = ()
    failures: tuple[Failure, ...] = ()
    started: str | None = None

    @property
    def broken(self) -> bool:
        """Whether the tuned library broke when it was run first: it raised, or took the process with it."""
        causes = [failure.cause for failure in self.failures]
        crashed = self.started == "tuned" and any(cause.startswith(_CRASH) for cause in causes)
        return crashed or _not_run("tuned") in causes

    def timing(self, name: str) -> Timing | None:
        """Timing of one contender; None when it did not run."""
        return dict(self.timings).get(name)


def compare_in_child(
    request: CompareRequest, cancel: CancelToken | None = None, timeout_s: float = 600.0
) -> CompareResult:
    """Compare in a spawned process. A crash or a hang is a failure in the result.

    Where that is untuned TVM's, the others are compared once more without it.

    Raises:
        Interrupted: `cancel` was stopped; the process is gone.
    """
    result = _compare_once(request, cancel, timeout_s)
    if result.started != UNTUNED:
        return result
    reason = result.failures[-1].cause
    again = _compare_once(replace(request, untuned=None), cancel, timeout_s)
    slow = f"a run takes longer than {request.untuned_s:g} s"
    return _with_failure(again, _not_run(UNTUNED), slow if reason == _TIMEOUT else reason)


def _compare_once(request: CompareRequest, cancel: CancelToken | None, timeout_s: float) -> CompareResult:
    """`started` of the result is who was at work when the process was lost, if anybody."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child_main, args=(request, sender), name="tcl-compare")
    process.start()
    sender.close()
    result = CompareResult()
    began = time.monotonic()
    try:
        untuned_s = request.untuned_s + (PATIENCE_S if request.device else 0.0)
        for update in _updates(receiver, cancel, began + timeout_s, untuned_s):
            result = update
        process.join(_EXIT_S)
    except TimeoutError:
        return _with_failure(result, _TIMEOUT, f"no result in {time.monotonic() - began:.0f} s")
    finally:
        receiver.close()
        if process.is_alive():
            process.kill()
        process.join()
    code = process.exitcode or 0
    if code or result.started is not None:
        return _with_failure(result, _exit_cause(code), f"the comparison ended with {code}")
    return result


def _updates(
    receiver: Connection, cancel: CancelToken | None, deadline: float, untuned_s: float
) -> Iterator[CompareResult]:
    """Results as they come, until the process closes its end, or is gone."""
    due = deadline
    while True:
        if cancel is not None and cancel.stopped:
            raise Interrupted
        if receiver.poll(_POLL_S):
            try:
                result = receiver.recv()
            except (EOFError, OSError):  # between two results, or in the midst of one
                return
            due = min(deadline, time.monotonic() + untuned_s) if result.started == UNTUNED else deadline
            yield result
        elif time.monotonic() > due:
            raise TimeoutError


def compare(
    request: CompareRequest, report: Callable[[CompareResult], None], libraries: Mapping[str, Any] | None = None
) -> None:
    """Check, then time; `report` is called with a `CompareResult` after each step.

    Args:
        libraries: executables by contender in place of the request's paths, to compare without a linker.
    """
    inputs = _inputs(request)
    venue = _venue(request, inputs, libraries)
    result = CompareResult()
    first_s: dict[str, float] = {}
    outputs: dict[str, list[Any]] = {}
    for name in (ONNXRUNTIME, TUNED, UNTUNED):
        if not venue.has(name):
            continue
        result = replace(result, started=name)
        report(result)
        try:
            outputs[name], first_s[name] = venue.first_run(name)
        except Exception as error:  # noqa: BLE001  # whatever a contender's runtime raises: it is left out, with the reason
            result = _with_failure(result, _not_run(name), str(error))
            continue
        if name == TUNED and ONNXRUNTIME in outputs:
            result = replace(result, checks=_checked(request, inputs, outputs[name], outputs[ONNXRUNTIME]))
    result = replace(result, started=None)
    report(result)
    if request.timed:
        try:
            with apart_from_pool():
                report(_timed(result, venue.contenders(), first_s, request.config))
        except (RuntimeError, DeviceLost) as error:  # of a device that went away meanwhile
            report(_with_failure(result, "nothing was timed", str(error)))


def _inputs(request: CompareRequest) -> dict[str, Any]:
    """In the order of the function's parameters."""
    with np.load(request.inputs) as archive:
        return {name: archive[f"arr_{at}"] for at, name in enumerate(request.names)}


def _venue(request: CompareRequest, inputs: Mapping[str, Any], libraries: Mapping[str, Any] | None) -> Venue:
    paths = {TUNED: request.tuned, UNTUNED: request.untuned}
    here = Here(request.model, request.single, libraries or paths, request.kind, request.threads, inputs)
    if not request.device:
        return here
    return OnDevice(here, parse_address(request.device), paths, request.threads, inputs, request.untuned_s)


def _checked(
    request: CompareRequest, inputs: Mapping[str, Any], ours: list[Any], theirs: list[Any]
) -> tuple[OutputCheck, ...]:
    """Of each output; where one differs, once more against an onnxruntime that is as exact as it can be, in single
    precision where the library is.

    Some quantised networks onnxruntime 1.32 cannot open so: "Attempt to replace the existing tensor" of a ViT in pairs.
    """

    def against(reference: list[Any]) -> tuple[OutputCheck, ...]:
        return check_outputs(request.outputs, ours, reference, request.config.rtol, request.config.atol)

    checks = against(theirs)
    if not any(check.beyond for check in checks):
        return checks
    model = request.single or request.model
    try:
        exact = against(arrays(onnxruntime_contender(model, request.threads, inputs, exact=True)()))
    except Exception:  # noqa: BLE001  # one of onnxruntime's dozen pybind types, which have no common base
        return checks
    return checks if any(check.beyond for check in exact) else exact


def _timed(
    result: CompareResult, contenders: Mapping[str, Contender], first_s: Mapping[str, float], config: LibraryConfig
) -> CompareResult:
    blocks = time_side_by_side(contenders, config, first_s)
    rivals = [name for name in (UNTUNED, ONNXRUNTIME) if {name, TUNED} <= blocks.keys()]
    return replace(
        result,
        timings=tuple((name, timing_of(runs)) for name, runs in blocks.items()),
        contests=tuple(contest(name, blocks["tuned"], blocks[name]) for name in rivals),
    )


def _child_main(request: CompareRequest, sender: Connection) -> None:
    obey_parent()
    # Read once, when the runtimes start their threads. A waiting OpenMP thread that spins costs up to 80x under load.
    for name in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = str(request.threads)
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["TVM_THREAD_POOL_SPIN_COUNT"] = SPIN_COUNT
    compare(request, sender.send)
    sender.close()
    # All is told. Taking the runtimes down one by one takes 0.7 s, and what a library does then, be it hang, is no
    # result of the comparison.
    os._exit(0)


def _with_failure(result: CompareResult, cause: str, message: str) -> CompareResult:
    failure = Failure(stage=Stage.LIBRARY, cause=cause, message=message)
    return replace(result, failures=(*result.failures, failure))


def _not_run(name: str) -> str:
    return f"{name} did not run"


def _exit_cause(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"{_CRASH} ({signal.Signals(-code).name})"
    except ValueError:
        return f"{_CRASH} (signal {-code})"


def save_inputs(path: Path, inputs: Mapping[str, Any]) -> str:
    """Write inputs, in the order of `CompareRequest.names`, as `CompareRequest.inputs` wants them."""
    np.savez(path, *inputs.values())  # a name of the network's could be one of `savez`'s own
    return str(path)
