"""Libraries run on a device over the network: sent there, and timed by the clock over there.

A library first runs once in a session of its own, which a crash or a hang ends and nothing else; those that came back
are then timed in turns in one session, as a device works for one at a time.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcl_core.device_sessions import open_to_time, watched
from tcl_core.devices import DeviceAddress
from tcl_core.library.contenders import arrays

Array = NDArray[Any]

_MAIN, _RUN = "main", "invoke_stateful"
_MOST_RUNS = 1000
"""Asked for at a time, of which each is a reading of the clock that is sent back."""


class DeviceLibrary:
    """A library that is there on a device, with its inputs; lives as long as its session.

    Attributes:
        last_s: seconds of its last run, 0 before the first.
    """

    def __init__(self, remote: Any, path: Path, names: Sequence[str], inputs: Mapping[str, Array]) -> None:
        import tvm
        from tvm import relax

        remote.upload(str(path))
        self._device = remote.cpu(0)
        self._machine = relax.VirtualMachine(remote.load_module(path.name), self._device)
        tensors = [tvm.runtime.tensor(inputs[name], device=self._device) for name in names]
        self._machine.set_input(_MAIN, *tensors)
        self.last_s = 0.0

    def __call__(self) -> list[Array]:
        """Run once; its results, which are fetched."""
        started = time.perf_counter()
        self._machine.invoke_stateful(_MAIN)
        self.last_s = time.perf_counter() - started
        return arrays(self._machine.get_outputs(_MAIN))

    def seconds(self, least_s: float) -> list[float]:
        """Of runs in a row that take so long together, by the device's clock; one more run comes before them."""
        runs = max(1, min(_MOST_RUNS, math.ceil(least_s / self.last_s) if self.last_s else 1))
        evaluator = self._machine.time_evaluator(_RUN, self._device, number=1, repeat=runs)
        found = [float(each) for each in evaluator(_MAIN).results]
        self.last_s = float(np.median(found))
        return found


def run_once(
    path: Path, address: DeviceAddress, threads: int, names: Sequence[str], inputs: Mapping[str, Array], limit_s: float
) -> tuple[list[Array], float]:
    """What a library gives on a device, and the seconds that one run took, its first.

    Raises:
        DeviceLost, TimeoutError, DeviceCrash, RuntimeError: see `device_sessions.watched`.
    """
    remote = _session(address, threads, limit_s)
    with watched(address, limit_s, time.monotonic()):
        library = DeviceLibrary(remote, path, names, inputs)
        return library(), library.last_s


def together(
    paths: Mapping[str, Path],
    address: DeviceAddress,
    threads: int,
    names: Sequence[str],
    inputs: Mapping[str, Array],
    limit_s: float,
) -> dict[str, DeviceLibrary]:
    """Several libraries in one session, each run once."""
    remote = _session(address, threads, limit_s)
    libraries = {name: DeviceLibrary(remote, path, names, inputs) for name, path in paths.items()}
    for library in libraries.values():
        library()
    return libraries


def _session(address: DeviceAddress, threads: int, limit_s: float) -> Any:
    gc.collect()  # TVM 0.27's virtual machines hold on to themselves, and the last one to the session before
    return open_to_time(address, threads, limit_s)
