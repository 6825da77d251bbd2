"""Traces: set the decisions of a sketch, read them back after replay, and write a trace as JSON text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tvm.s_tir.schedule import Instruction, Trace
from tvm.tirx import FloatImm, IntImm

from tcl_core.domain import Decision, DecisionKind

SAMPLING_KINDS = {
    "SamplePerfectTile": DecisionKind.TILE,
    "SampleCategorical": DecisionKind.CATEGORY,
    "SampleComputeLocation": DecisionKind.LOCATION,
}


def sampling_instructions(trace: Trace) -> tuple[Instruction, ...]:
    """The instructions that take a decision, in trace order."""
    return tuple(instruction for instruction in trace.insts if instruction.kind.name in SAMPLING_KINDS)


def with_decisions(trace: Trace, decisions: Sequence[Decision]) -> Trace:
    """The same instructions with these decisions, one per sampling instruction."""
    chosen: dict[Instruction, Any] = {}
    for instruction, decision in zip(sampling_instructions(trace), decisions, strict=True):
        tile = SAMPLING_KINDS[instruction.kind.name] is DecisionKind.TILE
        chosen[instruction] = list(decision) if tile else decision[0]
    return Trace(trace.insts, chosen)


def read_decisions(trace: Trace) -> tuple[Decision, ...]:
    """The decisions a trace holds, one per sampling instruction.

    Replay and `Trace.with_decision` silently change an illegal decision (extent 256 with tiles 7, 7, 7, 7 became
    1, 1, 1, 256), so what was asked for is never trusted: a candidate is what its replayed trace says.
    """
    decisions = []
    for instruction in sampling_instructions(trace):
        value = trace.decisions[instruction]
        tile = SAMPLING_KINDS[instruction.kind.name] is DecisionKind.TILE
        decisions.append(tuple(int(factor) for factor in value) if tile else (int(value),))
    return tuple(decisions)


def _plain(value: object) -> int | float:
    if isinstance(value, IntImm):
        return int(value)
    if isinstance(value, FloatImm):
        return float(value.value)
    raise TypeError(f"a trace holds a {type(value).__name__}, which has no JSON form")


def trace_json(trace: Trace, *, decisions: bool = True) -> str:
    """JSON text of the whole trace; without its decisions it is a sketch's."""
    instructions, chosen = trace.as_json()
    return json.dumps([instructions, chosen if decisions else []], default=_plain, separators=(",", ":"))
