"""A trace applied step by step: what each primitive got, and which loops and blocks it made or touched.

TVM calls us before each instruction; what the one before has changed is then read off the program itself. A loop or
block that is new inherits the history of those inputs that are gone: a split's and a fusion's loops do, and so does a
reduction that was decomposed. One that a primitive makes beside its inputs begins with that primitive.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tvm.s_tir import Schedule
from tvm.s_tir.schedule import LoopRV, SBlockRV, Trace
from tvm.tirx import Var

from tcl_core.errors import UserError
from tcl_core.inspection import tree
from tcl_core.inspection.words import Applied, attribute_words, decision_words, input_words, loop_at, words
from tcl_core.own_operators import read_module
from tcl_core.schedule_events import Step
from tcl_core.space.traces import SAMPLING_KINDS
from tcl_core.tvm_import import import_tensor_intrinsics

_ENTRY = "main"
_UNTOUCHING = "Get"
"""Instructions whose kind begins so only look."""


@dataclass
class History:
    """How a loop or block came to be: the step that made it (-1: the task had it), and all that had to do with it."""

    made_by: int = -1
    steps: list[int] = field(default_factory=list)

    def note(self, step: int) -> None:
        """A step had to do with it."""
        if step not in self.steps:
            self.steps.append(step)


@dataclass(frozen=True, kw_only=True)
class Stepped:
    """A trace that was applied. `histories`: by `tree.node_key`, of what is left; `variables` keeps the keys valid."""

    module: Any
    steps: tuple[Step, ...]
    histories: dict[str, History]
    variables: tuple[Any, ...]


def step_through(module_json: str, trace_json: str) -> Stepped:
    """Apply a whole trace, postprocessing included, to a task's module.

    Raises:
        UserError: see `read_trace`.
    """
    trace, schedule = read_trace(module_json, trace_json)
    watch = _Watch(schedule)
    trace.apply_to_schedule(schedule, remove_postproc=False, decision_provider=watch.before)
    return watch.finish()


def read_trace(module_json: str, trace_json: str) -> tuple[Trace, Schedule]:
    """A trace, and a fresh schedule of a task's module that it applies to.

    Raises:
        UserError: the trace does not apply, because another version of TVM made it.
    """
    if "Tensorize" in trace_json:
        for kind, triple in (("llvm", "x86_64"), ("llvm", "aarch64"), ("cuda", "")):
            import_tensor_intrinsics(kind, triple)
    # A trace's JSON is only read by applying it; the second application is the one that is watched. Each to a module of
    # its own, as a schedule may write into it (`space.recipes.Recipe.spoils`).
    modules = (read_module(module_json) for _ in range(2))
    first, schedule = (Schedule(each, seed=1, debug_mask="none", error_render_level="none") for each in modules)
    try:
        Trace.apply_json_to_schedule(json.loads(trace_json), first)
    except (RuntimeError, ValueError, TypeError) as error:
        raise UserError(
            "schedule",
            "The trace of this record does not apply with this version of TVM, so it cannot be shown; "
            "measure the task again in a new workspace.",
        ) from error
    return first.trace, schedule


class _Watch:
    """Follows one application."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._steps: list[Step] = []
        self._inputs: tuple[str, ...] = ()
        self._histories: dict[str, History] = {}
        self._variables: list[Any] = []
        self._deciders: dict[int, int] = {}
        self._domain = 0
        self._postprocessing = False
        self._histories = {key: History() for key in self._present()}

    def before(self, instruction: Any, inputs: Sequence[Any], attributes: Sequence[Any], decision: Any) -> Any:
        """TVM's `decision_provider`: the step before is done, this one is about to be applied."""
        self._close()
        kind = str(instruction.kind.name)
        self._postprocessing = self._postprocessing or kind == "EnterPostproc"
        sampling = kind in SAMPLING_KINDS and not self._postprocessing
        given = tuple(input_words(self._schedule, value) for value in inputs)
        applied = Applied(kind=kind, inputs=given, attributes=attribute_words(kind, attributes))
        self._steps.append(
            Step(
                name=kind,
                arguments=words(applied),
                decision=decision_words(kind, attributes, decision),
                domain=self._domain if sampling else -1,
                postprocessing=self._postprocessing,
            )
        )
        self._domain += sampling
        self._touch(kind, inputs, instruction.inputs)
        self._deciders |= dict.fromkeys(map(handle_of, instruction.outputs), len(self._steps) - 1) if sampling else {}
        return decision

    def finish(self) -> Stepped:
        """After the last instruction."""
        self._close()
        present = self._present()
        return Stepped(
            module=self._schedule.mod,
            steps=tuple(self._steps),
            histories={key: self._histories[key] for key in present},
            variables=tuple(self._variables),
        )

    def _touch(self, kind: str, inputs: Sequence[Any], traced: Sequence[Any]) -> None:
        """Note the step on its loops and blocks, and with it the steps whose decisions it carries out."""
        if kind.startswith(_UNTOUCHING):
            self._inputs = ()
            return
        keys = (self._key(value) for value in inputs)
        self._inputs = tuple(key for key in keys if key in self._histories)
        decided = [self._deciders[handle_of(value)] for value in traced if handle_of(value) in self._deciders]
        for key in self._inputs:
            for step in (*decided, len(self._steps) - 1):
                self._histories[key].note(step)

    def _key(self, value: Any) -> str:
        if isinstance(value, SBlockRV):
            return tree.node_key(self._schedule.get(value))
        if isinstance(value, LoopRV):
            loop = loop_at(self._schedule, value)
            return "" if loop is None else tree.node_key(loop)
        return ""

    def _present(self) -> dict[str, Any]:
        found = {}
        for _, node in tree.nodes(self._schedule.mod[_ENTRY]):
            key = tree.node_key(node)
            found[key] = node
            if key not in self._histories and key.startswith("loop"):
                self._variables.append(node.loop_var)
        return found

    def _close(self) -> None:
        """Read off what the last step has changed."""
        if not self._steps or self._steps[-1].name.startswith((_UNTOUCHING, "Sample", "Enter")):
            return
        step = len(self._steps) - 1
        present = self._present()
        new = [key for key in present if key not in self._histories]
        if not new:
            return
        gone = [key for key in self._inputs if key not in present]
        for key in new:
            alike = (self._histories[one].steps for one in gone if one.split()[0] == key.split()[0])
            self._histories[key] = History(made_by=step, steps=sorted({step, *chain.from_iterable(alike)}))


def handle_of(value: Any) -> int:
    """Which random variable of the trace this is; 0 for anything else."""
    return int(value.__chandle__()) if isinstance(value, Var | LoopRV) else 0
