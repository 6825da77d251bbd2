"""Decisions of a record as controls, named by the blocks and loops they are about when they are taken.

A category says by itself only which numbers it may be; what it decides is read off the primitive that carries it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm.s_tir import Schedule
from tvm.s_tir.schedule import LoopRV, SBlockRV
from tvm.s_tir.stmt import SBlock

from tcl_core.domain import DecisionDomain, DecisionKind, Sketch
from tcl_core.inspection import tree
from tcl_core.inspection.stepping import handle_of, read_trace
from tcl_core.inspection.words import LOCATIONS, loop_at, loop_name
from tcl_core.space.traces import SAMPLING_KINDS
from tcl_core.what_if_events import Control

_NAMED_BLOCKS = 2
_UNROLL = "unroll"
_FETCH = "fetch"
_THREADS = "threads"
_ANNOTATIONS = {
    "meta_schedule.unroll_explicit": _UNROLL,
    "meta_schedule.unroll_implicit": _UNROLL,
    "meta_schedule.cooperative_fetch": _FETCH,
}
_CATEGORY_WORDS = {_UNROLL: "up to {:g} steps", _FETCH: "{:g} elements at once", _THREADS: "{:g} threads"}
_ONE_WORDS = {_UNROLL: "up to 1 step", _FETCH: "1 element at once", _THREADS: "1 thread"}


@dataclass(frozen=True, kw_only=True)
class _Named:
    """What a decision is about. `loops`: names of the loops that a location may be, from outside."""

    what: str
    block: str = ""
    loop: str = ""
    loops: tuple[str, ...] = ()


def make_controls(module_json: str, trace_json: str, sketch: Sketch) -> tuple[Control, ...]:
    """One control per domain of the sketch.

    Args:
        module_json: the task's module, to which the trace is applied.
        trace_json: of a record of this sketch.
        sketch: with domains that hold the record's decisions.

    Raises:
        UserError: see `stepping.read_trace`.
    """
    trace, schedule = read_trace(module_json, trace_json)
    watch = _Watch(schedule)
    trace.apply_to_schedule(schedule, remove_postproc=True, decision_provider=watch.before)
    return tuple(_control(domain, named) for domain, named in zip(sketch.domains, watch.named, strict=True))


def _control(domain: DecisionDomain, named: _Named) -> Control:
    return Control(
        kind=domain.kind,
        what=named.what,
        block=named.block,
        loop=named.loop,
        values=domain.values,
        labels=_labels(domain, named),
    )


def _labels(domain: DecisionDomain, named: _Named) -> tuple[str, ...]:
    if domain.kind is DecisionKind.CATEGORY:
        return tuple(_category(literal, named.what) for literal in domain.literals)
    if domain.kind is DecisionKind.LOCATION:
        return tuple(_location(value, named.loops) for (value,) in domain.values)
    return ()


def _category(literal: float, what: str) -> str:
    if what == _UNROLL and not literal:
        return "off"
    text = _ONE_WORDS.get(what) if literal == 1 else None
    return text or _CATEGORY_WORDS.get(what, "{:g}").format(literal)


def _location(value: int, loops: Sequence[str]) -> str:
    if value in LOCATIONS:
        return LOCATIONS[value]
    return f"under loop {loops[value]}" if value < len(loops) else f"under loop {value} from outside"


class _Watch:
    """Follows one application up to the postprocessors."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._takers: dict[int, int] = {}
        self.named: list[_Named] = []

    def before(self, instruction: Any, inputs: Sequence[Any], attributes: Sequence[Any], decision: Any) -> Any:
        """TVM's `decision_provider`."""
        kind = SAMPLING_KINDS.get(str(instruction.kind.name))
        if kind is None:
            self._note_use(instruction, inputs, attributes)
            return decision
        self._takers |= dict.fromkeys(map(handle_of, instruction.outputs), len(self.named))
        if kind is DecisionKind.TILE:
            self.named.append(self._tile(inputs[0]))
        elif kind is DecisionKind.LOCATION:
            self.named.append(self._place(inputs[0]))
        else:
            self.named.append(_Named(what="choice"))
        return decision

    def _tile(self, loop: LoopRV) -> _Named:
        found = loop_at(self._schedule, loop)
        inside = [] if found is None else [node for _, node in tree.nodes(found) if isinstance(node, SBlock)]
        names = [str(node.name_hint) for node in inside]
        more = "…" if len(names) > _NAMED_BLOCKS else ""
        block = ", ".join(names[:_NAMED_BLOCKS]) + more
        return _Named(what="tile", block=block, loop=loop_name(self._schedule, loop))

    def _place(self, block: SBlockRV) -> _Named:
        consumers = self._schedule.get_consumers(block)
        loops = self._schedule.get_loops(consumers[0]) if consumers else ()
        names = tuple(loop_name(self._schedule, loop) for loop in loops)
        return _Named(what="compute location", block=str(self._schedule.get(block).name_hint), loops=names)

    def _note_use(self, instruction: Any, inputs: Sequence[Any], attributes: Sequence[Any]) -> None:
        """A category is about what its first use is about."""
        for value in instruction.inputs:
            taker = self._takers.get(handle_of(value))
            if taker is None or self.named[taker].what != "choice":
                continue
            kind = str(instruction.kind.name)
            what = _ANNOTATIONS.get(str(attributes[0]), str(attributes[0])) if kind == "Annotate" else _THREADS
            about = inputs[0]
            if isinstance(about, LoopRV):
                named = replace(self._tile(about), what=what)
            else:
                name = str(self._schedule.get(about).name_hint) if isinstance(about, SBlockRV) else ""
                named = _Named(what=what, block="" if name == tree.ROOT else name)
            self.named[taker] = named
