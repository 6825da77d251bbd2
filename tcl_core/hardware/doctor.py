"""What is installed, what hardware was found, what is wrong and how to mend it: data, rendered by the command line."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from packaging.requirements import Requirement
from platformdirs import user_data_path

from tcl_core.cuda_compiler import compile_for
from tcl_core.hardware import detect, display, llvm_cpu
from tcl_core.linker import find_linker

DISTRIBUTION = "tcl-studio"
_PROJECT_FILE = Path(__file__).parents[2] / "pyproject.toml"
_NOTHING = 'extern "C" __global__ void nothing() {}'
_LEAST_MEMORY_BYTES = 2 << 30
_LEAST_DISK_BYTES = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Check:
    """One fact: what was looked at, whether it is well, what was found, and how to mend it ("" when it is well).

    Attributes:
        required: False for what the main job does without (a GPU, a display, a compiler); its `ok` fails nothing.
    """

    name: str
    ok: bool
    detail: str
    mend: str
    required: bool = True


def examine(folder: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> tuple[Check, ...]:
    """Look at everything. Loads TVM (seconds the first time); never raises for a thing that is missing.

    Args:
        folder: where workspaces will lie; its disk is looked at. None for where they lie when nobody says it.
        environ: the environment variables of a start.
    """
    return (
        _python(),
        *(_package(requirement) for requirement in requirements()),
        *_tvm(),
        *_window(environ),
        _compiler(),
        *_machine(),
        _disk(Path(folder or user_data_path("tcl-studio", appauthor=False))),
        _mamba(),
    )


def requirements() -> tuple[Requirement, ...]:
    """The packages of the main job with their pins, those that apply to this system.

    From the checkout's `pyproject.toml`, or from the installed distribution's metadata.
    """
    if _PROJECT_FILE.is_file():
        with _PROJECT_FILE.open("rb") as file:
            texts = tomllib.load(file)["project"]["dependencies"]
    else:
        texts = importlib.metadata.requires(DISTRIBUTION) or []
    parsed = (Requirement(text) for text in texts)
    return tuple(item for item in parsed if item.marker is None or item.marker.evaluate({"extra": ""}))


def _python() -> Check:
    ok = sys.version_info >= (3, 11)
    mend = "" if ok else "Install Python 3.11 or newer and start main.py with it."
    return Check(name="Python", ok=ok, detail=f"{platform.python_version()}, {sys.executable}", mend=mend)


def _package(requirement: Requirement) -> Check:
    asked = str(requirement.specifier) or "any version"
    mend = f'Run `python3 main.py doctor` once, or `python -m pip install "{requirement}"`.'
    try:
        found = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return Check(name=requirement.name, ok=False, detail=f"not installed, needed: {asked}", mend=mend)
    ok = requirement.specifier.contains(found, prereleases=True)
    return Check(name=requirement.name, ok=ok, detail=f"{found} (needed: {asked})", mend="" if ok else mend)


def _tvm() -> Iterator[Check]:
    """TVM, its LLVM, the CPU target, and CUDA."""
    try:
        import tvm
        from tvm.target import codegen

        version = codegen.llvm_version_major()
    except Exception as error:  # noqa: BLE001 - loading runs foreign native code: whatever is wrong is the finding
        yield Check(name="TVM", ok=False, detail=f"does not load: {error}", mend="Reinstall apache-tvm as pinned.")
        return
    yield Check(name="TVM", ok=True, detail=f"{tvm.__version__} loads", mend="")
    yield Check(
        name="LLVM",
        ok=bool(version),
        detail=f"version {version}" if version else "this TVM is built without LLVM",
        mend="" if version else "Install the apache-tvm wheel from PyPI: it has LLVM.",
    )
    if version:
        yield _cpu_target()
    yield _cuda()


def _cpu_target() -> Check:
    named, used = detect.llvm_host_cpu(), llvm_cpu.host_cpu(detect.detect())
    detail = f"cpu = {used}" + ("" if named == used else f" ({named} by name, but some of its instructions are hidden)")
    mend = "" if used != "generic" else "Name it yourself: --target cpu:<llvm cpu>."
    return Check(name="CPU target", ok=used != "generic", detail=detail, mend=mend)


def _cuda() -> Check:
    device = detect.cuda_device()
    if device is None:
        loaded = detect.cuda_runtime_loads()
        detail = "no device" if loaded else "TVM's runtime for it does not load: no driver, or no libcudart.so.13"
        mend = "Nothing is needed for CPU tuning; for a GPU see packaging/README.md."
        return Check(name="CUDA", ok=False, detail=detail, mend=mend, required=False)
    named = f"{device.name}, {device.arch}"
    try:
        compile_for(_NOTHING, device.arch)
    except RuntimeError as error:
        detail = f"{named}, and nothing compiles for it: {str(error).splitlines()[0]}"
        mend = 'NVRTC is reached by `python -m pip install "cuda-bindings>=13,<14"`; see packaging/README.md.'
        return Check(name="CUDA", ok=False, detail=detail, mend=mend, required=False)
    return Check(name="CUDA", ok=True, detail=f"{named}, NVRTC compiles for it", mend="", required=False)


def _window(environ: Mapping[str, str]) -> Iterator[Check]:
    """What the studio needs and the command line does not."""
    problem = display.display_problem(environ)
    libraries = display.library_problem(window=not problem and display.needs_xcb(environ))
    detail = "missing" if libraries else "found"
    yield Check(name="Qt libraries", ok=not libraries, detail=detail, mend=libraries or "", required=False)
    detail = "none" if problem else environ.get("WAYLAND_DISPLAY") or environ.get("DISPLAY") or "found"
    yield Check(name="Display", ok=not problem, detail=detail, mend=problem or "", required=False)


def _compiler() -> Check:
    """Who links an exported library; its C++ example wants `g++` as well."""
    linker = find_linker()
    if linker is None:
        mend = "Install one with `apt-get install gcc`, or `python -m pip install ziglang`."
        return Check(name="C compiler", ok=False, detail="none: nothing can be exported", mend=mend, required=False)
    return Check(name="C compiler", ok=True, detail=" ".join(linker.command), mend="", required=False)


def _machine() -> Iterator[Check]:
    machine = detect.detect()
    caches = ", ".join(
        f"L{level} {size >> 10} KiB"
        for level, size in enumerate((machine.l1_bytes, machine.l2_bytes, machine.l3_bytes), start=1)
        if size
    )
    yield Check(
        name="CPU",
        ok=True,
        detail=f"{machine.cpu}, {machine.cores} cores, {machine.threads} threads, {machine.vector_bits} bit"
        + (f", {caches}" if caches else ""),
        mend="",
    )
    free = min(psutil.virtual_memory().available, machine.memory_bytes)
    ok = free >= _LEAST_MEMORY_BYTES
    yield Check(
        name="Memory",
        ok=ok,
        detail=f"{free / 2**30:.1f} of {machine.memory_bytes / 2**30:.1f} GiB free",
        mend="" if ok else "Close other programs, or allow a container more: tuning needs about 2 GiB.",
    )


def _disk(folder: Path) -> Check:
    """The disk of a folder that may not exist yet."""
    # `Path.is_dir` raises where the way to it is closed (Python before 3.14).
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.isdir(path))  # noqa: PTH112
    free, writable = shutil.disk_usage(there).free, os.access(there, os.W_OK)
    problem = "" if writable else f"{there} is not writable: choose another --workspace. "
    if free < _LEAST_DISK_BYTES:
        problem += "Free some space: a workspace with exports takes up to 1 GiB."
    return Check(name="Disk", ok=not problem, detail=f"{free / 2**30:.1f} GiB free in {there}", mend=problem.strip())


def _mamba() -> Check:
    try:
        detail = "version " + importlib.metadata.version("mamba-ssm")
    except importlib.metadata.PackageNotFoundError:
        mend = "Nothing is needed on a CPU; with a GPU see the `cuda` extra in packaging/README.md."
        return Check(name="mamba-ssm", ok=False, detail="not installed (optional)", mend=mend, required=False)
    return Check(name="mamba-ssm", ok=True, detail=detail, mend="", required=False)
