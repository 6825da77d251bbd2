"""The one place that imports TVM's tensor intrinsics, in two seconds instead of fifteen. Any room may call it.

Building a `TuneContext` and MetaSchedule's default build import `tvm.s_tir.tensor_intrin`. That module parses 248
TVMScript functions, and every parse calls `inspect.stack()`, which asks `inspect.getmodule()` about each frame; a miss
there walks all of `sys.modules`. Measured with TVM 0.27 on two cores of a Zen 5: 13-16 s, all of it `getmodule`; with
the answers remembered by file name 2.1 s. It can go when TVM's parser no longer walks the stack for every function.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import threading
from collections.abc import Iterator
from types import FrameType, ModuleType

_MODULE = "tvm.s_tir.tensor_intrin"
_importing = threading.Lock()


def import_tensor_intrinsics() -> None:
    """Register TVM's tensor intrinsics in this process. Idempotent and thread-safe."""
    with _importing:
        if _MODULE in sys.modules:
            return
        # TVM first and unpatched: what it pulls in may ask `getmodule` about files that are only half imported.
        importlib.import_module("tvm")
        with _remembered_modules():
            importlib.import_module(_MODULE)


@contextlib.contextmanager
def _remembered_modules() -> Iterator[None]:
    """Let `inspect.getmodule` answer for frames from memory, by file name.

    Frames only: for other objects the answer is not a matter of the file, and torch's lazily made classes break.
    """
    original = inspect.getmodule
    known: dict[str, ModuleType | None] = {}

    def getmodule(object: object, _filename: str | None = None) -> ModuleType | None:  # noqa: A002 - inspect's name
        if not isinstance(object, FrameType):
            return original(object, _filename)
        name = object.f_code.co_filename
        if name not in known:
            known[name] = original(object, _filename)
        return known[name]

    inspect.getmodule = getmodule
    try:
        yield
    finally:
        inspect.getmodule = original
