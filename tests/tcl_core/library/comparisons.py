"""What a comparison is asked, of the network of `library_network`; and libraries that break when they are loaded."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from library_network import ROWS

from tcl_core.config import LibraryConfig
from tcl_core.library.child import CompareRequest, save_inputs
from tcl_core.linker import Linker

QUICK = LibraryConfig(timing_rounds=2, timing_s=0.01)


def make_request(folder: Path, imported: Any, **changes: Any) -> CompareRequest:
    onnx.save(imported.model, str(folder / "net.onnx"))
    values: dict[str, Any] = {
        "model": str(folder / "net.onnx"),
        "inputs": save_inputs(folder / "inputs.npz", {"ids": np.arange(ROWS, dtype=np.int64)}),
        "names": ("ids",),
        "outputs": ("classes",),
        "tuned": None,
        "untuned": None,
        "kind": "llvm",
        "threads": 1,
        "config": QUICK,
    }
    return CompareRequest(**values | changes)


def compile_c(linker: Linker, folder: Path, source: str) -> str:
    """A shared library that does something when it is loaded."""
    (folder / "bad.c").write_text(source)
    path = folder / "bad.so"
    subprocess.run([*linker.command, "-shared", "-fPIC", "-o", str(path), str(folder / "bad.c")], check=True)
    return str(path)
