"""A scheduled function as TensorIR text, and which loop or block each line belongs to.

The printer writes loops and blocks in the order of the tree, one line each, a nest of plain loops in one `T.grid` line.
So the n-th loop or block of the text is the n-th of the tree; were the counts or names ever to differ, no line is
linked at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tvm.tirx import For

from tcl_core.inspection import tree
from tcl_core.inspection.stepping import Stepped
from tcl_core.schedule_events import CodeText, Language, Place

_FUNCTION = re.compile(r"\s*@T\.prim_func")
_LOOP = re.compile(r"\s*for (?P<names>[\w, ]+) in ")
_BLOCK = re.compile(r"\s*with T\.sblock\(\"(?P<names>[^\"]+)\"")
_WIDE = "T.int64("
_WIDE_NOTE = "Integers without a type are int64."
_UNLINKED = "The lines could not be matched with the loops of the tree, so none is linked."


def print_module(module: Any) -> tuple[tuple[str, ...], str]:
    """The lines of the module's function, without the module around it, and how its integers are to be read."""
    text = str(module.script())
    wide = _WIDE in text
    lines = (str(module.script(int_dtype="int64")) if wide else text).splitlines()
    first = next((number for number, line in enumerate(lines) if _FUNCTION.match(line)), 0)
    kept = lines[first:]
    indent = min((_indent(line) for line in kept if line.strip()), default=0)
    return tuple(line[indent:].rstrip() for line in kept), _WIDE_NOTE if wide else ""


def opened_names(line: str) -> tuple[str, ...]:
    """Names of the loops, or of the block, that a line opens."""
    found = _LOOP.match(line) or _BLOCK.match(line)
    if found is None or found["names"] == tree.ROOT:
        return ()
    return tuple(name.strip() for name in found["names"].split(",") if name.strip())


def read_tensor_ir(stepped: Stepped) -> tuple[tuple[Place, ...], CodeText]:
    """Places without their history, and the text with its links."""
    nodes = tree.nodes(stepped.module["main"])
    lines, note = print_module(stepped.module)
    names = [name for line in lines for name in opened_names(line)]
    matched = len(names) == len(nodes) and all(
        name.startswith(_plain_name(node)) for name, (_, node) in zip(names, nodes, strict=True)
    )
    if not matched:
        names = [_plain_name(node) for _, node in nodes]
    places = tuple(tree.place(node, parent, name) for name, (parent, node) in zip(names, nodes, strict=True))
    linked = link_lines(lines) if matched else ((),) * len(lines)
    start = next((number for number, line in enumerate(lines) if opened_names(line)), 0)
    note = note if matched else f"{_UNLINKED} {note}".strip()
    return places, CodeText(language=Language.TENSORIR, lines=lines, places=linked, start=max(0, start - 2), note=note)


def link_lines(lines: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """For each line the places it opens, else the innermost around it, by indentation."""
    linked: list[tuple[int, ...]] = []
    around: list[tuple[int, int]] = []
    count = 0
    for line in lines:
        indent = _indent(line)
        while line.strip() and around and around[-1][0] >= indent:
            around.pop()
        opened = tuple(range(count, count + len(opened_names(line))))
        count += len(opened)
        around += [(indent, index) for index in opened]
        linked.append(opened or ((around[-1][1],) if around and line.strip() else ()))
    return tuple(linked)


def _plain_name(node: Any) -> str:
    """As the schedule has it; the printer may add digits where two are in one scope."""
    return str(node.loop_var.name if isinstance(node, For) else node.name_hint)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
