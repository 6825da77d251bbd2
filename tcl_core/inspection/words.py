"""A schedule primitive in words: what it is applied to, and what it decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm.s_tir import Schedule
from tvm.s_tir.schedule import LoopRV, SBlockRV
from tvm.tirx import FloatImm, IntImm, Var

LOCATIONS = {-1: "at the root", -2: "inlined"}
"""Compute locations that are no loop."""


@dataclass(frozen=True, kw_only=True)
class Applied:
    """A primitive at the moment it is applied, its inputs and attributes already in words."""

    kind: str
    inputs: tuple[str, ...]
    attributes: tuple[str, ...]


def words(applied: Applied) -> str:
    """Its arguments in words; of a kind nobody phrased, its inputs and attributes one after the other."""
    phrase = _PHRASES.get(applied.kind)
    listed = ", ".join(part for part in (*applied.inputs, *applied.attributes) if part)
    if phrase is None:
        return listed
    try:
        return phrase(applied.inputs, applied.attributes)
    except IndexError:  # another version of TVM gives it other arguments
        return listed


Words = Sequence[str]


def _split(inputs: Words, _attributes: Words) -> str:
    return f"{inputs[0]} into {' × '.join(part or 'the rest' for part in inputs[1:])}"


def _tile(inputs: Words, attributes: Words) -> str:
    return f"{inputs[0]} into {attributes[0]}, the innermost ≤ {attributes[1]}"


def _annotate(inputs: Words, attributes: Words) -> str:
    return f"{inputs[0]}: {attributes[0]} = {inputs[1]}"


_PHRASES: dict[str, Callable[[Words, Words], str]] = {
    "GetSBlock": lambda inputs, attributes: attributes[0],
    "GetLoops": lambda inputs, attributes: f"around {inputs[0]}",
    "GetChildBlocks": lambda inputs, attributes: f"inside {inputs[0]}",
    "GetProducers": lambda inputs, attributes: f"of {inputs[0]}",
    "GetConsumers": lambda inputs, attributes: f"of {inputs[0]}",
    "SamplePerfectTile": _tile,
    "SampleCategorical": lambda inputs, attributes: f"one of {attributes[0]}",
    "SampleComputeLocation": lambda inputs, attributes: f"of {inputs[0]}",
    "Split": _split,
    "Fuse": lambda inputs, attributes: ", ".join(inputs),
    "Reorder": lambda inputs, attributes: ", ".join(inputs),
    "Parallel": lambda inputs, attributes: inputs[0],
    "Vectorize": lambda inputs, attributes: inputs[0],
    "Unroll": lambda inputs, attributes: inputs[0],
    "Bind": lambda inputs, attributes: f"{inputs[0]} to {attributes[0]}",
    "ComputeAt": lambda inputs, attributes: f"{inputs[0]} under {inputs[1]}",
    "ReverseComputeAt": lambda inputs, attributes: f"{inputs[0]} under {inputs[1]}",
    "ComputeInline": lambda inputs, attributes: inputs[0],
    "ReverseComputeInline": lambda inputs, attributes: inputs[0],
    "CacheRead": lambda inputs, attributes: f"input {attributes[0]} of {inputs[0]} into {attributes[1]} memory",
    "CacheWrite": lambda inputs, attributes: f"output {attributes[0]} of {inputs[0]} in {attributes[1]} memory",
    "DecomposeReduction": lambda inputs, attributes: f"the start of {inputs[0]} before {inputs[1]}",
    "RFactor": lambda inputs, attributes: f"{inputs[0]}, as axis {attributes[0]}",
    "Annotate": _annotate,
    "Unannotate": lambda inputs, attributes: f"{inputs[0]}: no {attributes[0]}",
    "EnterPostproc": lambda inputs, attributes: "from here on the postprocessors",
}


def input_words(schedule: Schedule, value: Any) -> str:
    """An input of a primitive: a loop or block by its name, an expression by its value, "" for none."""
    if value is None:
        return ""
    if isinstance(value, LoopRV):
        return loop_name(schedule, value)
    if isinstance(value, SBlockRV):
        return str(schedule.get(value).name_hint)
    if isinstance(value, Var):
        return str(schedule.get(value))
    return plain_words(value)


def loop_at(schedule: Schedule, loop: LoopRV) -> Any | None:
    """The loop that a variable stands for; None for the root, and for the location of a block that is inlined."""
    try:
        return schedule.get(loop)
    except TypeError:  # TVM 0.27: "Expects StmtSRef `sref` points to `Loop`, but gets: None"
        return None


def loop_name(schedule: Schedule, loop: LoopRV) -> str:
    """The variable of a loop; "the root" where a location stands for no loop."""
    found = loop_at(schedule, loop)
    return "the root" if found is None else str(found.loop_var.name)


def plain_words(value: Any) -> str:
    """A constant, or a list of them."""
    if isinstance(value, IntImm):
        return str(int(value))
    if isinstance(value, FloatImm):
        return f"{float(value.value):g}"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Sequence):
        return ", ".join(map(plain_words, value))
    return str(value)


def attribute_words(kind: str, attributes: Sequence[Any]) -> tuple[str, ...]:
    """Attributes of a primitive; a category's probabilities are left out."""
    kept = attributes[:1] if kind == "SampleCategorical" else attributes
    return tuple(map(plain_words, kept))


def decision_words(kind: str, attributes: Sequence[Any], decision: Any) -> str:
    """What a sampling primitive decided: factors as 8·2·1·4, a category's literal, a location."""
    if decision is None:
        return ""
    if kind == "SamplePerfectTile":
        return "·".join(str(int(factor)) for factor in decision)
    if kind == "SampleCategorical":
        return plain_words(attributes[0][int(decision)])
    location = int(decision)
    return LOCATIONS.get(location, f"loop {location} from outside")
