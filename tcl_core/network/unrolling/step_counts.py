"""How many steps a `Loop` or a `Scan` takes, where that is known before a run.

A condition that hangs on counters alone is followed: on the number of the step, and on carried values into which
nothing else goes, as the loops that TensorFlow's and PyTorch's ``while`` become have them. One that hangs on more, such
as the size of what is carried, may be known behind each step that is written out (`loops.StepByStep`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import onnx.numpy_helper

from tcl_core.counting import counted
from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.onnx_graph.static_values import Array, StaticValues, can_be_computed
from tcl_core.network.recurrence.recurrent import MOST_STEPS
from tcl_core.onnx_branches import all_nodes

MOST_NODES: Final = 16 * MOST_STEPS
"""Of all steps together, as of recurrent layers step by step: TVM's passes go through them one by one."""
FIRST_CARRIED: Final = 2
"""Place of a loop's first carried value, behind the number of steps and the condition; of its body's, too."""
_SCAN_OF_ONE = 9
"""Opset from which a `Scan` goes over one sequence, along an axis of its choice."""
_ENDLESS = np.iinfo(np.int64).max
_IN_A_RUN = "fix the input that decides it (--value), or export the network without it"
_TOO_MANY = "give it less to go over (--shape), or export the network without it"


def carried_count(node: Any) -> int:
    """How many values a `Loop` or a `Scan` carries from step to step; its first results are the last ones of these."""
    others = FIRST_CARRIED if node.op_type == "Loop" else attributes_of(node)["num_scan_inputs"]
    return max(len(node.input) - others, 0)


class Untold(Exception):
    """A loop cannot be written out: what it does, as a sentence goes on behind its name, and the mend."""


class UntoldEnd(Untold):
    """More than counters decide whether there is one more step, which may be known once the last one is written out."""

    def __init__(self) -> None:
        super().__init__(f"ends by a condition that is told in a run; {_IN_A_RUN}")


def count_steps(node: Any, values: StaticValues, most_nodes: int = MOST_NODES) -> int:
    """Of a `Loop` or a `Scan`, of as many nodes at most when written out.

    Raises:
        UntoldEnd: it takes a first step, and is not known to take how many.
        Untold: a run decides, or there are too many.
    """
    _require_form(node, values.opset)
    steps = _of_loop(node, values) if node.op_type == "Loop" else _of_scan(node, values)
    require_few(node, steps, most_nodes)
    return steps


def require_few(node: Any, steps: int, most_nodes: int) -> None:
    """
    Raises:
        Untold: so many steps of a `Loop` or a `Scan` are too many, or too many nodes.
    """
    if steps > MOST_STEPS:
        number = f"{steps} steps" if steps < _ENDLESS else f"more than {MOST_STEPS} steps"
        raise Untold(f"takes {number}, {MOST_STEPS} at most; {_TOO_MANY}")
    nodes = sum(1 for _ in all_nodes(attributes_of(node)["body"]))
    if steps * nodes > most_nodes:
        raise Untold(
            f"takes {steps} steps of {nodes} nodes, which makes more than {MOST_NODES:,} of all loops; {_TOO_MANY}"
        )


def _require_form(node: Any, opset: int) -> None:
    """
    Raises:
        Untold: it is of an old form, or its body is none of such a node.
    """
    if node.op_type == "Scan" and opset < _SCAN_OF_ONE:
        raise Untold(f"goes over several sequences at once, as before opset {_SCAN_OF_ONE}; export it with a newer one")
    body, carried = attributes_of(node)["body"], carried_count(node)
    loop = node.op_type == "Loop"
    inputs, outputs = carried + FIRST_CARRIED if loop else len(node.input), len(node.output) + loop
    if len(body.input) != inputs or len(body.output) < max(outputs, carried + loop):
        raise Untold(
            f"has a body of {counted(len(body.input), 'input')} and {counted(len(body.output), 'output')}, where it "
            f"asks for {inputs} and {outputs}; export the network again"
        )


def _of_loop(node: Any, values: StaticValues) -> int:
    most = most_steps(node, values)
    return _Condition(node, values).steps(most) if most else 0


def most_steps(node: Any, values: StaticValues) -> int:
    """Of a `Loop`, however its condition turns out behind the first.

    Raises:
        Untold: a run decides.
    """
    names = [*node.input, "", ""][:FIRST_CARRIED]
    trips, begins = (values.of(name) if name else default for name, default in zip(names, _DEFAULTS, strict=True))
    if trips is None:
        raise Untold(f"takes a number of steps that is told in a run; {_IN_A_RUN}")
    if begins is None:
        raise Untold(f"begins by a condition that is told in a run; {_IN_A_RUN}")
    return max(int(trips.item()), 0) if begins.item() else 0


_DEFAULTS = (np.array(_ENDLESS), np.array(True))
"""Of a loop's number of steps and its first condition."""


def _of_scan(node: Any, values: StaticValues) -> int:
    attributes = attributes_of(node)
    count = attributes["num_scan_inputs"]
    axis = next(iter(attributes.get("scan_input_axes", ())), 0)
    size = values.size_of(node.input[-count])
    if not size or size[axis] < 0:
        raise Untold("goes over an input whose size is not known; export the network without it")
    return size[axis]


class _Condition:
    """What decides behind each step of a loop whether there is one more: a part of its body.

    Raises:
        UntoldEnd: it hangs on more than counters.
    """

    def __init__(self, node: Any, values: StaticValues) -> None:
        self._body = attributes_of(node)["body"]
        self._values = values
        self._makers = {name: at for at, each in enumerate(self._body.node) for name in each.output}
        self._own = {tensor.name: tensor for tensor in self._body.initializer}
        self._step, self._before, *self._carried = (value.name for value in self._body.input)
        self._first = node.input[FIRST_CARRIED:]
        self._weights: dict[str, Any] = {}
        self._nodes: set[int] = set()
        self._counters: dict[str, Array] = {}
        self._by_step = False
        waiting = [self._body.output[0].name]
        while waiting:
            waiting += self._add(waiting.pop())

    def _add(self, name: str) -> list[str]:
        """What a tensor of the body comes from, as far as that was not met before."""
        self._by_step |= name == self._step
        if not name or name in {self._step, self._before, *self._weights, *self._counters}:
            return []
        if name in self._carried:
            place = self._carried.index(name)
            self._counters[name] = self._value(self._first[place])
            return [self._body.output[1 + place].name]
        if name not in self._makers:
            array = self._value(name) if name not in self._own else onnx.numpy_helper.to_array(self._own[name])
            self._weights[name] = onnx.numpy_helper.from_array(array, name)
            return []
        at = self._makers[name]
        if at in self._nodes:
            return []
        if not can_be_computed(self._body.node[at]):
            raise UntoldEnd
        self._nodes.add(at)
        return list(self._body.node[at].input)

    def _value(self, name: str) -> Array:
        array = self._values.of(name)
        if array is None:
            raise UntoldEnd
        return array

    def steps(self, most: int) -> int:
        """How many there are, of which the first is taken; `most` where the condition ends none."""
        if self._body.output[0].name == self._before:
            return most
        following = [self._body.output[1 + self._carried.index(name)].name for name in self._counters]
        made = list(dict.fromkeys([self._body.output[0].name, *following]))
        nodes = [self._body.node[at] for at in sorted(self._nodes)]
        given = [self._step, self._before, *self._counters]
        evaluator = self._values.evaluator(nodes, list(self._weights.values()), given, made)
        counters = dict(self._counters)
        for step in range(min(most, MOST_STEPS + 1)):
            feeds = {self._step: np.array(step), self._before: np.array(True), **counters}
            found = dict(zip(made, evaluator.run(None, feeds), strict=True))
            if not np.ravel(found[made[0]])[0]:
                return step + 1
            if not self._by_step and not counters:
                break
            counters = dict(zip(counters, (found[name] for name in following), strict=True))
        return most
