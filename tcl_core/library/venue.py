"""Where a comparison takes place: on this machine, or on a device over the network."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tcl_core.devices import DeviceAddress
from tcl_core.library.contenders import Array, Contender, arrays, onnxruntime_contender, tvm_contender
from tcl_core.library.on_device import run_once, together

ONNXRUNTIME, TUNED, UNTUNED = "onnxruntime", "tuned", "untuned"
_SESSION_S = 600.0


class Venue(Protocol):
    """Runs contenders by name, first each by itself, then in turns."""

    def has(self, name: str) -> bool:
        """Whether there is such a contender."""

    def first_run(self, name: str) -> tuple[list[Array], float]:
        """Its results and the seconds they took. Raises whatever its runtime does."""

    def contenders(self) -> dict[str, Contender]:
        """Those whose first run came back, to be timed."""


class Here:
    """On this machine, in this process."""

    def __init__(
        self,
        model: str,
        single: str | None,
        libraries: Mapping[str, Any],
        kind: str,
        threads: int,
        inputs: Mapping[str, Array],
    ) -> None:
        """See `child.CompareRequest`; `inputs` in the order of the function's parameters."""
        self._model, self._single, self._libraries = model, single, libraries
        self._kind, self._threads, self._inputs = kind, threads, inputs
        self._ran: dict[str, Contender] = {}

    def has(self, name: str) -> bool:
        return name == ONNXRUNTIME or self._libraries.get(name) is not None

    def first_run(self, name: str) -> tuple[list[Array], float]:
        contender = self._contender(name)
        began = time.perf_counter()
        made = contender()
        seconds = time.perf_counter() - began
        results = arrays(made)
        self._ran[name] = contender
        return results, seconds

    def contenders(self) -> dict[str, Contender]:
        return dict(self._ran)

    def _contender(self, name: str) -> Contender:
        if name != ONNXRUNTIME:
            return tvm_contender(self._libraries[name], self._kind, tuple(self._inputs), self._inputs)
        try:
            return onnxruntime_contender(self._model, self._threads, self._inputs)
        except Exception:  # it has few kernels for bfloat16: in single precision then
            if self._single is None:
                raise
            return onnxruntime_contender(self._single, self._threads, self._inputs)


class OnDevice:
    """On a device, which runs the libraries. onnxruntime runs here, for its results alone: it is not timed."""

    def __init__(
        self,
        here: Here,
        address: DeviceAddress,
        libraries: Mapping[str, str | None],
        threads: int,
        inputs: Mapping[str, Array],
        untuned_s: float,
    ) -> None:
        """See `child.CompareRequest`."""
        self._here, self._address, self._threads, self._inputs = here, address, threads, inputs
        self._paths = {name: Path(path) for name, path in libraries.items() if path is not None}
        self._untuned_s = untuned_s
        self._ran: list[str] = []

    def has(self, name: str) -> bool:
        return name == ONNXRUNTIME or name in self._paths

    def first_run(self, name: str) -> tuple[list[Array], float]:
        if name == ONNXRUNTIME:
            return self._here.first_run(name)
        limit_s = self._untuned_s if name == UNTUNED else _SESSION_S
        found = run_once(self._paths[name], self._address, self._threads, tuple(self._inputs), self._inputs, limit_s)
        self._ran.append(name)
        return found

    def contenders(self) -> dict[str, Contender]:
        paths = {name: self._paths[name] for name in self._ran}
        return dict(together(paths, self._address, self._threads, tuple(self._inputs), self._inputs, _SESSION_S))
