"""The one place that imports TVM's tensor intrinsics: those of one kind of target, without asking who is asking.

Building a `TuneContext` and MetaSchedule's default build import `tvm.s_tir.tensor_intrin`: the intrinsics of all
targets, 248 TVMScript functions, most of them CUDA's. Every parse calls `inspect.stack()`, which asks
`inspect.getmodule()` about each frame; a miss there walks all of `sys.modules`. Measured with TVM 0.27 on two cores of
a Zen 4: 33 s, with the answers remembered by file name 3.5 s, of the CPU's alone 0.3 s. It can go when TVM imports
intrinsics by target and its parser no longer walks the stack for every function.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import platform
import sys
import threading
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any, Final

_PACKAGE: Final = "tvm.s_tir.tensor_intrin"
_OF_PROCESSORS: Final = {"x86_64": "x86", "AMD64": "x86", "aarch64": "arm_cpu", "arm64": "arm_cpu"}
"""Which module holds a processor's intrinsics, by `platform.machine()`. The others' take half a second to import, and
no schedule for this machine names them."""
_ALL_PROCESSORS: Final = ("x86", "arm_cpu", "riscv_cpu")

_importing = threading.Lock()


def import_intrinsics_of(target: Any) -> None:
    """Register the tensor intrinsics that schedules for a target (`tvm.target.Target`) may name, in this process."""
    import_tensor_intrinsics(str(target.kind.name), str(target.attrs.get("mtriple", "")))


def import_tensor_intrinsics(kind: str, triple: str = "") -> None:
    """Register the tensor intrinsics of `kind` ("cuda" or "llvm") in this process. Idempotent and thread-safe.

    Args:
        triple: of the code; "" for this machine's processor.
    """
    with _importing:
        machine = triple.partition("-")[0] or platform.machine()
        names = [f"{_PACKAGE}.{name}" for name in _modules(kind, machine)]
        if all(name in sys.modules for name in names):
            return
        # TVM first and unpatched: what it pulls in may ask `getmodule` about files that are only half imported.
        importlib.import_module("tvm")
        _enter_unread(_PACKAGE)
        with _remembered_modules():
            for name in names:
                importlib.import_module(name)


def _modules(kind: str, machine: str) -> tuple[str, ...]:
    """The package's modules that schedules for a kind of target may name."""
    processors = (_OF_PROCESSORS[machine],) if machine in _OF_PROCESSORS else _ALL_PROCESSORS
    return {"cuda": ("cuda",), "llvm": processors}[kind]


def _enter_unread(package: str) -> None:
    """Make the package's modules importable one by one: its own `__init__`, which imports all of them, is not run."""
    if package not in sys.modules:
        spec = importlib.util.find_spec(package)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        sys.modules[package] = importlib.util.module_from_spec(spec)


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
