"""Operators of our own in tasks' modules; TVM knows them, and what may be a vector, where this is imported."""

from __future__ import annotations

from typing import Any

import tvm

from tcl_core.own_operators import byte_dots, exponentials, logarithms, trigonometry  # noqa: F401
from tcl_core.own_operators.maxima import let_it_be_shared
from tcl_core.own_operators.registry import mark_vectorisable

mark_vectorisable()
let_it_be_shared()


def read_module(text: str) -> Any:
    """A task's module, or a schedule's, from its JSON."""
    return tvm.ir.load_json(text)
