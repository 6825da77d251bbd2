"""The versions of what a number depends on, to be kept beside it."""

from __future__ import annotations

import importlib.metadata
import platform

import tcl_core

_PACKAGES = ("apache-tvm", "apache-tvm-ffi", "onnx", "onnxruntime", "torch", "numpy")


def installed_versions() -> tuple[tuple[str, str], ...]:
    """Pairs of name and version: the studio, Python, the packages that generate and run code."""
    own = (("tcl-studio", tcl_core.__version__), ("python", platform.python_version()))
    return (*own, *((name, importlib.metadata.version(name)) for name in _PACKAGES))
