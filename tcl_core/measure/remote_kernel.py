"""A kernel that is built here and timed on a device over the network: sent there, run there, by TVM's RPC.

Each timing has a session of its own, which is a process on the device: a kernel that crashes or hangs takes that
process with it and nothing else, and between two timings others may use the device. Shaking hands, sending and loading
take 18 ms where the device is this machine itself (Zen 4).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tcl_core.device_sessions import open_to_time, watched
from tcl_core.devices import DeviceAddress
from tcl_core.linker import require_linker, triple_of
from tcl_core.measure.arguments import Signature, random_contents
from tcl_core.measure.kernel import ENTRY, built
from tcl_core.measure.messages import LinkedKernel
from tcl_core.measure.preload import Target, tvm
from tcl_core.passing_folders import passing_folder

_SENT_BYTES = 1 << 20
"""Larger tensors of floats are filled over there: a convolution's weights would take longer to send than to time."""
_FILL = "tvm.contrib.random.random_fill_for_measure"
_LIBRARY = "candidate.so"


@dataclass(frozen=True, kw_only=True)
class RemoteArguments:
    """What a kernel is run on: contents as `arguments.random_contents` has them, made anew for each session."""

    seed: int

    def on(self, remote: Any, signature: Signature) -> list[Any]:
        """Tensors on the device of a session, in order."""
        generator = np.random.default_rng(self.seed)
        return [self._tensor(remote, dtype, shape, generator) for dtype, shape in signature]

    def _tensor(self, remote: Any, dtype: str, shape: tuple[int, ...], generator: np.random.Generator) -> Any:
        tensor = tvm.runtime.empty(shape, dtype, remote.cpu(0))
        if dtype == "float32" and 4 * math.prod(shape) > _SENT_BYTES:
            remote.get_function(_FILL)(tensor)
        else:
            tensor.copyfrom(random_contents(dtype, shape, generator))
        return tensor


class RemoteCompiler:
    """Builds modules for a device, and links them: what it loads is a shared library.

    Raises:
        UserError: no compiler that links for its architecture.
    """

    def __init__(self, target_json: str, address: DeviceAddress, threads: int, limit_s: float) -> None:
        self._target = Target(json.loads(target_json))
        self._linker = require_linker(triple_of(target_json))
        self._address, self._threads, self._limit_s = address, threads, limit_s

    def arguments(self, seed: int) -> RemoteArguments:
        """What its kernels are run on."""
        return RemoteArguments(seed=seed)

    def compile(self, module_json: str) -> LinkedKernel:
        """Build `module_json` (`tvm.ir.save_json` text, entry "main") down to a shared library."""
        runtime_module, signature = built(module_json, self._target)
        with passing_folder("candidate") as folder:
            path = Path(folder) / _LIBRARY
            runtime_module.export_library(str(path), fcompile=self._linker)
            library = path.read_bytes()
        return LinkedKernel(library=library, signature=signature)

    def sent(self, linked: LinkedKernel) -> RemoteKernel:
        """What was compiled here or by another such compiler, to be timed."""
        return RemoteKernel(linked, self._address, self._threads, self._limit_s)


class RemoteKernel:
    """A linked module, and where it is sent."""

    def __init__(self, linked: LinkedKernel, address: DeviceAddress, threads: int, limit_s: float) -> None:
        self._linked = linked
        self._address, self._threads, self._limit_s = address, threads, limit_s

    def timer(self, arguments: RemoteArguments) -> RemoteTimer:
        """A `timing.Timer` of this kernel, to be closed: it holds the device."""

        def begin() -> _Session:
            remote = open_to_time(self._address, self._threads, self._limit_s)
            began_s = time.monotonic()  # a device that was busy has been waited for
            with watched(self._address, self._limit_s, began_s):
                remote.upload(bytearray(self._linked.library), _LIBRARY)
                module = remote.load_module(_LIBRARY)
                tensors = arguments.on(remote, self._linked.signature)
            return _Session(remote=remote, module=module, tensors=tensors, began_s=began_s)

        return RemoteTimer(begin, self._address, self._limit_s)


@dataclass(frozen=True, kw_only=True)
class _Session:
    """What a kernel is timed with, there since `began_s` (`time.monotonic`)."""

    remote: Any
    module: Any
    tensors: list[Any]
    began_s: float


class RemoteTimer:
    """The clock of one kernel on a device: see `timing.Timer`. It is the device's clock, the network is not timed.

    Raises: what `device_sessions.open_to_time` and `watched` raise.
    """

    def __init__(self, begin: Callable[[], _Session], address: DeviceAddress, limit_s: float) -> None:
        self._begin, self._address, self._limit_s = begin, address, limit_s
        self._session: _Session | None = None

    def first(self) -> float:
        """See `timing.Timer`; TVM's evaluator runs the kernel once before it looks at the clock."""
        self._session = self._begin()
        return self.run(1)

    def run(self, number: int) -> float:
        session = self._session
        assert session is not None
        with watched(self._address, self._limit_s, session.began_s):
            evaluator = session.module.time_evaluator(ENTRY, session.remote.cpu(0), number=number, repeat=1)
            return float(evaluator(*session.tensors).results[0])

    def close(self) -> None:
        """End the session."""
        self._session = None
