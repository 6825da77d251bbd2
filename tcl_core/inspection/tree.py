"""The loops and blocks of a TensorIR function, outermost first, in the order in which they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm.s_tir.stmt import SBlock, SBlockRealize
from tvm.tirx import For, ForKind, IntImm, SeqStmt

from tcl_core.schedule_events import Place, PlaceKind

_KINDS = {
    ForKind.SERIAL: PlaceKind.SERIAL,
    ForKind.PARALLEL: PlaceKind.PARALLEL,
    ForKind.VECTORIZED: PlaceKind.VECTORISED,
    ForKind.UNROLLED: PlaceKind.UNROLLED,
    ForKind.THREAD_BINDING: PlaceKind.BOUND,
}
_BODIES = ("then_case", "else_case", "body")
ROOT = "root"
"""The block around a scheduled function, which is no place of its own."""


def nodes(function: Any) -> list[tuple[int, Any]]:
    """(index of the parent or -1, `For` or `SBlock`) of every loop and block but the root."""
    found: list[tuple[int, Any]] = []

    def visit(statement: Any, parent: int) -> None:
        place = isinstance(statement, For) or (isinstance(statement, SBlock) and statement.name_hint != ROOT)
        if place:
            found.append((parent, statement))
            parent = len(found) - 1
        for child in _children(statement):
            visit(child, parent)

    visit(function.body, -1)
    return found


def _children(statement: Any) -> Iterator[Any]:
    if isinstance(statement, SeqStmt):
        yield from statement.seq
    elif isinstance(statement, SBlockRealize):
        yield statement.block
    else:
        if isinstance(statement, SBlock) and statement.init is not None:
            yield statement.init
        bodies = (getattr(statement, name, None) for name in _BODIES)
        yield from (body for body in bodies if body is not None)


def node_key(node: Any) -> str:
    """What stays the same while a loop or block is moved and marked: its variable, or its unique name.

    A key of a variable holds as long as somebody holds the variable.
    """
    return f"loop {node.loop_var.__chandle__()}" if isinstance(node, For) else f"block {node.name_hint}"


def place(node: Any, parent: int, name: str) -> Place:
    """A loop or block as plain data, without its history."""
    notes = tuple(f"{key} = {value}" for key, value in sorted(node.annotations.items()))
    if isinstance(node, For):
        axis = node.thread_binding.thread_tag if node.thread_binding is not None else ""
        extent = int(node.extent) if isinstance(node.extent, IntImm) else 0
        return Place(parent=parent, kind=_KINDS[ForKind(node.kind)], name=name, extent=extent, axis=axis, notes=notes)
    return Place(
        parent=parent,
        kind=PlaceKind.BLOCK,
        name=name,
        notes=notes,
        reads=tuple(map(_region, node.reads)),
        writes=tuple(map(_region, node.writes)),
    )


def _region(region: Any) -> str:
    """A buffer region as TensorIR prints it: "a[v_ax0, v_k]"; printed alone, its buffer is declared above it."""
    return str(region).strip().splitlines()[-1]
