"""What TVM generates from a schedule: LLVM IR and assembly, or CUDA source; and which lines belong to which loop.

A compiler keeps few names. What is linked: blocks of LLVM IR whose label bears a loop's name, loops of CUDA source with
the name and extent of a loop, and the body that the threads run where there is one parallel loop. A name that two loops
share links nothing, and nothing is ever guessed from the arithmetic.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tcl_core.cuda_compiler import source_only
from tcl_core.domain import Platform
from tcl_core.schedule_events import CodeText, Language, Place, PlaceKind

_MOST_LINES = 20_000
_NO_DEBUG = re.compile(r",? !dbg !\d+")
_LABEL = re.compile(r"for_(?:begin|body|end)_(?P<name>\w+)(?:\.[\w.]+)?:")
_CUDA_LOOP = re.compile(r"\s*for \(int (?P<name>\w+) = 0; \w+ < (?P<extent>\d+);")
_LAMBDA = "__tvm_parallel_lambda"
_DEBUG_LINE = re.compile(r"\s*\.(?:loc|file|cfi_\w+)\b|\.L(?:tmp|func_begin|func_end)\d+:|\s*#")
_DEBUG_PART = re.compile(r"\s*\.section\s+\.debug")
_NOTES = {
    Language.LLVM: (
        "Linked by the loop names in labels. Vectorised, unrolled and single-step loops leave no label, nor do two "
        "loops of one name. Debug information is left out."
    ),
    Language.ASSEMBLY: (
        "Assembly keeps no loop names: linked is only what the threads run, where one loop is parallel. "
        "Debug directives are left out."
    ),
    Language.CUDA: (
        "Linked by name and extent of the loops that are still loops. A loop bound to a thread axis has no line of "
        "its own, and an unrolled one none at all."
    ),
}


def generate(module: Any, platform: Platform, places: Sequence[Place]) -> tuple[CodeText, ...]:
    """The generated texts of a scheduled module.

    Raises:
        RuntimeError: code generation failed; the message is TVM's.
    """
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock
    from tvm.target import Target
    from tvm.tirx import build

    from tcl_core.llvm_pipeline import LLVM_PIPELINE

    module = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(module)
    target = Target(json.loads(platform.target_json))
    if platform.kind == "cuda":
        with source_only():
            built = build(module, target=target)
        return tuple(read_cuda(kernels.inspect_source(), places) for kernels in built.imports)
    with target:  # as a worker has it: `byte_dots` asks
        built = build(module, target=target, pipeline=LLVM_PIPELINE)
    return read_llvm(built.inspect_source("ll"), places), read_assembly(built.inspect_source("asm"), places)


def read_llvm(source: str, places: Sequence[Place]) -> CodeText:
    """LLVM IR: a labelled block belongs to the loop its label names, up to the next label."""
    kept = (line for line in source.splitlines() if not line.lstrip().startswith(("!", "#dbg_")))
    lines = [_NO_DEBUG.sub("", line) for line in kept]
    known = _unique_loops(places)
    parallel = _only_parallel(lines, places)
    linked: list[tuple[int, ...]] = []
    here: tuple[int, ...] = ()
    function: tuple[int, ...] = ()
    for line in lines:
        if line.startswith("define"):
            here = function = parallel if f"@{_LAMBDA}" in line else ()
        elif line.startswith("}"):
            linked.append(function)
            here = function = ()
            continue
        elif line[:1].isalpha() and ":" in line:
            label = _LABEL.match(line)
            found = _loop_named(label["name"], known) if label else None
            here = function if found is None else (found,)
        linked.append(here)
    return _text(Language.LLVM, lines, linked, "define internal")


def read_assembly(source: str, places: Sequence[Place]) -> CodeText:
    """Assembly: what the threads run belongs to the parallel loop, where there is one."""
    lines = []
    for line in source.splitlines():
        if _DEBUG_PART.match(line):
            break
        if line.strip() and not _DEBUG_LINE.match(line):
            lines.append(line)
    parallel = _only_parallel(lines, places)
    linked: list[tuple[int, ...]] = []
    here: tuple[int, ...] = ()
    for line in lines:
        if not line.startswith((" ", "\t")) and line.endswith(":"):
            name = line[:-1]
            if name.removeprefix(".L") == _LAMBDA:
                here = parallel
            elif not name.startswith(".L"):
                here = ()
        elif line.lstrip().startswith(".size"):
            here = ()
        linked.append(here)
    return _text(Language.ASSEMBLY, lines, linked, "main_compute_:")


def read_cuda(source: str, places: Sequence[Place]) -> CodeText:
    """CUDA source: a loop, with its body, belongs to the one loop of its name and extent."""
    lines = source.splitlines()
    known = _unique_loops(places)
    linked: list[tuple[int, ...]] = []
    around: list[tuple[int, tuple[int, ...]]] = []
    depth = 0
    for line in lines:
        loop = _CUDA_LOOP.match(line)
        if loop is not None:
            index = known.get(loop["name"])
            here = (index,) if index is not None and places[index].extent == int(loop["extent"]) else ()
            around.append((depth, here))
        linked.append(around[-1][1] if around else ())
        depth += line.count("{") - line.count("}")
        while around and depth <= around[-1][0]:
            around.pop()
    return _text(Language.CUDA, lines, linked, 'extern "C" __global__')


def _text(language: Language, lines: list[str], linked: list[tuple[int, ...]], landmark: str) -> CodeText:
    note = _NOTES[language]
    if len(lines) > _MOST_LINES:
        note = f"The first {_MOST_LINES:,} of {len(lines):,} lines. {note}"
        lines, linked = lines[:_MOST_LINES], linked[:_MOST_LINES]
    marks = (number for number, line in enumerate(lines) if landmark in line)
    first = next((number for number, here in enumerate(linked) if here), None)
    start = next(marks, 0) if first is None else max(0, first - 2)
    return CodeText(language=language, lines=tuple(lines), places=tuple(linked), start=start, note=note)


def _unique_loops(places: Sequence[Place]) -> dict[str, int]:
    """Loops by name, as far as the name is one loop's alone."""
    counts = Counter(place.name for place in places if place.kind is not PlaceKind.BLOCK)
    return {
        place.name: index
        for index, place in enumerate(places)
        if place.kind is not PlaceKind.BLOCK and counts[place.name] == 1
    }


def _loop_named(label: str, known: dict[str, int]) -> int | None:
    """The loop of a label; LLVM adds digits to a label that is taken."""
    if label in known:
        return known[label]
    digits = len(label) - len(label.rstrip("0123456789"))
    found = {known[label[:-cut]] for cut in range(1, digits + 1) if label[:-cut] in known}
    return found.pop() if len(found) == 1 else None


def _only_parallel(lines: Sequence[str], places: Sequence[Place]) -> tuple[int, ...]:
    """The parallel loop, where there is one and one body for the threads."""
    loops = [index for index, place in enumerate(places) if place.kind is PlaceKind.PARALLEL]
    bodies = sum(
        (line.startswith("define") and f"@{_LAMBDA}" in line) or line.startswith((f".L{_LAMBDA}", f"{_LAMBDA}"))
        for line in lines
    )
    return (loops[0],) if len(loops) == 1 and bodies == 1 else ()
