"""The linker that makes a shared library of TVM's object files: a C compiler of the system, or the one in a wheel."""

from __future__ import annotations

import importlib.util
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcl_core.errors import UserError

COMPILERS = ("cc", "gcc", "clang")
"""Looked for in this order on PATH."""

_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Linker:
    """A command that links; calling it is what `tvm.runtime.Executable.export_library` wants as `fcompile`."""

    command: tuple[str, ...]

    @property
    def name(self) -> str:
        """How it is shown."""
        return " ".join((Path(self.command[0]).name, *self.command[1:]))

    def __call__(self, output: str, objects: Sequence[str], options: Sequence[str] | None = None, **_: Any) -> None:
        """Link objects into a shared library.

        Raises:
            UserError: the linker failed, with the last line it wrote.
        """
        shared = ["-shared", "-fPIC"]
        if sys.platform == "darwin":
            shared += ["-undefined", "dynamic_lookup"]
        command = [*self.command, *shared, "-o", str(output), *map(str, objects), *(options or ())]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UserError("library", f"The linker '{self.name}' did not run ({error}); install gcc.") from error
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            last = lines[-1].strip().rstrip(".") if lines else f"exit status {done.returncode}"
            raise UserError(
                "library",
                f"The linker '{self.name}' failed ({last}); free disk space or install gcc or clang.",
            )


def find_linker(
    triple: str = "",
    which: Callable[[str], str | None] = shutil.which,
    zig: Callable[[], str | None] | None = None,
) -> Linker | None:
    """The first compiler on PATH, then the one of the `ziglang` wheel; None when there is neither.

    Args:
        triple: of another architecture's code ("aarch64-linux-gnu"), for which the compilers are named after it.
    """
    for name in _compilers_for(triple):
        path = which(name)
        if path:
            return Linker((path,))
    packaged = (zig or _packaged_zig)()
    return Linker((packaged, "cc", *(("-target", triple) if triple else ()))) if packaged else None


def require_linker(triple: str = "") -> Linker:
    """The linker; `triple` as in `find_linker`. Raises: UserError naming what to install."""
    linker = find_linker(triple)
    if linker is None and triple:
        machine = triple.partition("-")[0].replace("_", "-")
        raise UserError(
            "library",
            f"Code for {triple} cannot be linked without its C compiler; install {_compilers_for(triple)[0]} (on "
            f"Debian and Ubuntu: apt install gcc-{machine}-linux-gnu), or run pip install ziglang.",
        )
    if linker is None:
        raise UserError(
            "library",
            "A library cannot be exported without a C compiler; install gcc or clang (on Debian and Ubuntu: "
            "apt install gcc), or run pip install ziglang.",
        )
    return linker


def triple_of(target_json: str) -> str:
    """The triple of a target's code where it is of another architecture than this machine's; else ""."""
    triple = str(json.loads(target_json).get("mtriple", ""))
    return "" if triple.partition("-")[0] in {"", platform.machine()} else triple


def _compilers_for(triple: str) -> tuple[str, ...]:
    return (f"{triple}-gcc", f"{triple}-cc") if triple else COMPILERS


def _packaged_zig() -> str | None:
    """Path of the compiler in the `ziglang` wheel. Not ``sys.executable -m``: a frozen application is no Python."""
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        return None
    binary = Path(next(iter(found.submodule_search_locations))) / ("zig.exe" if sys.platform == "win32" else "zig")
    return str(binary) if binary.is_file() else None
