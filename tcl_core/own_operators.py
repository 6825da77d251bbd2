"""Modules that may hold operators of our own, which TVM knows once what registers them is imported."""

from __future__ import annotations

from typing import Any

import tvm

import tcl_core.byte_dots
import tcl_core.logarithms  # noqa: F401


def read_module(text: str) -> Any:
    """A task's module, or a schedule's, from its JSON."""
    return tvm.ir.load_json(text)
