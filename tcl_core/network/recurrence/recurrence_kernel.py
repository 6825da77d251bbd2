"""All steps of an LSTM, a GRU or an RNN in one kernel: what a step multiplies with the state, and its gates.

Step by step in kernels of their own, as a layer has to be computed on a GPU (`recurrent.unroll`), calls take longer
than what they compute. The steps are an opaque axis around the blocks of one, so that no schedule makes threads of
them; inside are a product, which `space.recurrence_tiling` keeps in registers, and what is done to each of its results.

Shape legend: T steps, B sequences, H hidden values in N groups of `GROUP`, G gates. Values beyond H come from weights
that are zero, and are multiplied with nothing. All gates of a group lie side by side, so that a thread that has some
groups finds in its registers whatever their new states are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import tvm_ffi
from tvm import te, tirx, topi
from tvm.ir import Call
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T  # noqa: N812 - TVMScript's own convention

from tcl_core.domain import RECURRENCE
from tcl_core.network.relax_graph.rewriting import APART, COMPUTED_ONCE
from tcl_core.own_operators.exponentials import fast_sigmoid

GROUP: Final = 16
"""Hidden values whose weights lie side by side, row after row: whole vectors of every target."""
GATES: Final = {"LSTM": 4, "GRU": 3, "RNN": 1}

Value = Callable[..., Any]
"""An element by sequence, group and place in it; of several gates by sequence, group, gate and place."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What all steps of one direction have in common.

    Attributes:
        kind: "LSTM", "GRU" or "RNN".
        hidden: values of a state, H.
        backwards: from the last step to the first.
        activations: names, in ONNX's order.
        reset_after: a GRU's reset gate is applied to the product, not to the state.
        polynomials: instead of libm.
    """

    kind: str
    steps: int
    batch: int
    hidden: int
    backwards: bool
    activations: tuple[str, ...]
    reset_after: bool
    polynomials: bool = True

    @property
    def groups(self) -> int:
        """N."""
        return groups_of(self.hidden)


def groups_of(hidden: int) -> int:
    """So many hidden values, rounded up to whole groups; to whole pairs of many, to whole fours of more than 24.

    Threads share them out evenly: of 400 values, 25 groups, two could have no part each.
    """
    groups = -(-hidden // GROUP)
    together = 4 if groups > 24 else 2 if groups > 8 else 1
    return -(-groups // together) * together


def recurrence_kernel(cell: Cell) -> Any:
    """A float32 `PrimFunc`.

    Arguments: what the inputs add to the gates [T * B, N * G * GROUP]; weights of the state [N, G, H, GROUP], for a GRU
    that is reset before its product those of its candidate apart; for one reset after it that product's bias
    [N, GROUP]; the initial state [B, N, GROUP], of an LSTM its memory, too; results: states [T, B, N, GROUP], of an
    LSTM the last memory.
    """
    steps = _Steps(cell)
    with IRBuilder() as builder, T.prim_func(is_private=True, s_tir=True):
        T.func_attr({"tirx.noalias": True, **APART})
        {"LSTM": steps.lstm, "GRU": steps.gru, "RNN": steps.rnn}[cell.kind]()
    return builder.get()


class _Steps:
    """Writes the kernel of a cell into the builder around it."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._state_shape = (cell.batch, cell.groups, GROUP)
        self._row: Any = None
        self._functions = [_ACTIVATIONS[name, cell.polynomials] for name in cell.activations]

    def lstm(self) -> None:
        """Gates: of entry, of exit, of forgetting, and what is new."""
        inputs, weight = self._inputs(), self._weight("weight", 4)
        first, kept = self._argument("state", self._state_shape), self._argument("memory", self._state_shape)
        outputs, last = self._outputs(), self._argument("last", self._state_shape)
        of_gate, of_news, of_memory = self._functions
        state, memory = self._begun("state", first), self._begun("memory", kept)

        def step(new_state: Any, new_memory: Any) -> None:
            gates = self._added("sums", self._product("product", state, weight), inputs, 0, 4)
            opened = self._gates("gates", 3, lambda b, g, n, c: of_gate(gates[b, g, n, c]))
            news = self._values("news", lambda b, g, c: of_news(gates[b, g, 3, c]))
            after = self._values(
                "memory", lambda b, g, c: opened[b, g, 2, c] * memory[b, g, c] + opened[b, g, 0, c] * news[b, g, c]
            )
            shown = self._values("shown", lambda b, g, c: of_memory(after[b, g, c]))
            self._store(
                "state",
                (new_state, lambda b, g, c: opened[b, g, 1, c] * shown[b, g, c]),
                (new_memory, lambda b, g, c: after[b, g, c]),
            )

        self._for_each_step(step, (state, memory), outputs)
        self._store("last", (last, lambda b, g, c: memory[b, g, c]))

    def gru(self) -> None:
        """Gates: of keeping, of resetting, and the candidate."""
        cell = self._cell
        inputs, weight = self._inputs(), self._weight("weight", 3 if cell.reset_after else 2)
        other = self._argument("bias", (cell.groups, GROUP)) if cell.reset_after else self._weight("candidate", 1)
        first, outputs = self._argument("state", self._state_shape), self._outputs()
        of_gate, of_news = self._functions
        state = self._begun("state", first)

        def step(new_state: Any) -> None:
            sums = self._product("product", state, weight)
            gates = self._added("sums", sums, inputs, 0, 2)
            opened = self._gates("gates", 2, lambda b, g, n, c: of_gate(gates[b, g, n, c]))
            if cell.reset_after:
                inner, kept = self._reset_after(sums, other, inputs, opened)
            else:
                inner, kept = self._reset_before(state, other, inputs, opened)
            news = self._values("news", lambda b, g, c: of_news(inner(b, g, c)))
            # (1 - kept) * news + kept * state, with one product less.
            self._store(
                "state",
                (new_state, lambda b, g, c: news[b, g, c] + kept(b, g, c) * (state[b, g, c] - news[b, g, c])),
            )

        self._for_each_step(step, (state,), outputs)

    def _reset_after(self, sums: Any, bias: Any, inputs: Any, opened: Any) -> tuple[Value, Value]:
        """What the candidate is made of, and how much of the state is kept."""
        inner = self._values(
            "inner",
            lambda b, g, c: self._input(inputs, b, g, 2, c) + opened[b, g, 1, c] * (sums[b, g, 2, c] + bias[g, c]),
        )
        return (lambda b, g, c: inner[b, g, c]), (lambda b, g, c: opened[b, g, 0, c])

    def _reset_before(self, state: Any, weight: Any, inputs: Any, opened: Any) -> tuple[Value, Value]:
        """The same; the second product needs all of the reset state, so that whatever goes on from there is stored."""
        reset, kept = (_buffer(name, self._state_shape) for name in ("reset", "kept"))
        self._store(
            "reset",
            (reset, lambda b, g, c: opened[b, g, 1, c] * state[b, g, c]),
            (kept, lambda b, g, c: opened[b, g, 0, c]),
        )
        inner = self._added("inner", self._product("second", reset, weight), inputs, 2, 1)
        return (lambda b, g, c: inner[b, g, 0, c]), (lambda b, g, c: kept[b, g, c])

    def rnn(self) -> None:
        """The activation of one sum."""
        inputs, weight = self._inputs(), self._weight("weight", 1)
        first, outputs = self._argument("state", self._state_shape), self._outputs()
        state = self._begun("state", first)

        def step(new_state: Any) -> None:
            gates = self._added("sums", self._product("product", state, weight), inputs, 0, 1)
            self._store("state", (new_state, lambda b, g, c: self._functions[0](gates[b, g, 0, c])))

        self._for_each_step(step, (state,), outputs)

    def _argument(self, name: str, shape: Sequence[int]) -> Any:
        return T.arg(name, T.buffer(shape, "float32"))

    def _inputs(self) -> Any:
        cell = self._cell
        return self._argument("inputs", (cell.steps * cell.batch, cell.groups * GATES[cell.kind] * GROUP))

    def _weight(self, name: str, gates: int) -> Any:
        return self._argument(name, (self._cell.groups, gates, self._cell.hidden, GROUP))

    def _outputs(self) -> Any:
        return self._argument("outputs", (self._cell.steps, *self._state_shape))

    def _begun(self, name: str, first: Any) -> Any:
        """What a step begins with."""
        buffer = _buffer(f"kept_{name}", self._state_shape)
        self._store(f"first_{name}", (buffer, lambda b, g, c: first[b, g, c]))
        return buffer

    def _for_each_step(self, step: Callable[..., None], before: Sequence[Any], outputs: Any) -> None:
        """Steps one after another, each from what was before it to what is after it, the state first.

        What is before a step is written outside its own block: TVM moves blocks into loops of each other only where
        nothing is written that was read.
        """
        names = ("state", "memory")[: len(before)]
        with T.serial(self._cell.steps) as number, T.sblock("steps"):
            now = IRBuilder.name("now", T.axis.opaque(self._cell.steps, IRBuilder.name("step", number)))
            self._row = self._cell.steps - 1 - now if self._cell.backwards else now
            after = [_buffer(f"new_{name}", self._state_shape) for name in names]
            with T.sblock(RECURRENCE):
                step(*after)
            self._store("output", (outputs, lambda b, g, c: after[0][b, g, c]), at=(self._row,))
            for name, old, new in zip(names, before, after, strict=True):
                self._store(f"kept_{name}", (old, lambda b, g, c, new=new: new[b, g, c]))

    def _gates(self, name: str, gates: int, value: Value) -> Any:
        """A new buffer [B, N, gates, GROUP]."""
        shape = (self._cell.batch, self._cell.groups, gates, GROUP)
        buffer = _buffer(name, shape)
        with T.grid(*shape) as variables, T.sblock(name):
            b, g, n, c = _axes(shape, variables)
            T.sblock_attr(COMPUTED_ONCE)
            T.buffer_store(buffer, value(b, g, n, c), [b, g, n, c])
        return buffer

    def _values(self, name: str, value: Value) -> Any:
        """A new buffer [B, N, GROUP]."""
        buffer = _buffer(name, self._state_shape)
        self._store(name, (buffer, value))
        return buffer

    def _store(self, name: str, *stores: tuple[Any, Value], at: Sequence[Any] = ()) -> None:
        """Buffers and what becomes of each element, in one block."""
        with T.grid(*self._state_shape) as variables, T.sblock(name):
            b, g, c = _axes(self._state_shape, variables)
            T.sblock_attr(COMPUTED_ONCE)
            for buffer, value in stores:
                T.buffer_store(buffer, value(b, g, c), [*at, b, g, c])

    def _input(self, inputs: Any, b: Any, g: Any, n: Any, c: Any) -> Any:
        """What the inputs of this step add to a gate."""
        return inputs[self._row * self._cell.batch + b, (g * GATES[self._cell.kind] + n) * GROUP + c]

    def _added(self, name: str, sums: Any, inputs: Any, start: int, gates: int) -> Any:
        """So many gates' sums with what the inputs add to them, from gate `start` of the inputs on."""
        return self._gates(name, gates, lambda b, g, n, c: sums[b, g, n, c] + self._input(inputs, b, g, start + n, c))

    def _product(self, name: str, state: Any, weight: Any) -> Any:
        """A state [B, N, GROUP] with weights [N, gates, H, GROUP]: [B, N, gates, GROUP]."""
        cell = self._cell
        shape = (cell.batch, cell.groups, int(weight.shape[1]), GROUP)
        sums = _buffer(name, shape)
        with T.grid(*shape, cell.hidden) as (*variables, value), T.sblock(name):
            b, g, n, c = _axes(shape, variables)
            k = IRBuilder.name("k", T.axis.reduce(cell.hidden, IRBuilder.name("value", value)))
            with T.init():
                T.buffer_store(sums, tirx.const(0, "float32"), [b, g, n, c])
            product = state[b, k // GROUP, k % GROUP] * weight[g, n, k, c]
            T.buffer_store(sums, sums[b, g, n, c] + product, [b, g, n, c])
        return sums


def _buffer(name: str, shape: Sequence[int]) -> Any:
    return IRBuilder.name(name, T.sblock_alloc_buffer(shape, "float32"))


def _axes(shape: Sequence[int], variables: Sequence[Any]) -> list[Any]:
    """Axes of a block over loops, both by names that a person reads in a schedule."""
    names = ("sequence", "group", "gate", "place") if len(shape) == 4 else ("sequence", "group", "place")
    return [
        IRBuilder.name(f"{name}_at", T.axis.spatial(extent, IRBuilder.name(name, variable)))
        for name, extent, variable in zip(names, shape, variables, strict=True)
    ]


def _of_each(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What is computed of each element of a tensor, as an expression of one value."""

    def expression(value: Any) -> Any:
        return _written_out(compute(te.placeholder((1,), "float32", name="value")), value)

    return expression


def _written_out(tensor: Any, value: Any) -> Any:
    """An element of a tensor that is made of one placeholder, whose element is `value`: what it reads of stages between
    is written out, too. `fast_tanh` is a fraction that is right up to 9, and keeps within that in stages of its own.
    """
    if not tensor.op.input_tensors:
        return value
    (read,) = tensor.op.input_tensors
    inner = _written_out(read, value)
    return tvm_ffi.structural_map(
        tensor.op.body[0],
        (Call, lambda call: inner if getattr(call.op, "name", "") == "te.tensor_load" else call),
    )


def _sigmoid(value: Any) -> Any:
    one = tirx.const(1, "float32")
    return one / (one + tirx.exp(tirx.const(0, "float32") - value))


def _relu(value: Any) -> Any:
    return tirx.max(value, tirx.const(0, "float32"))


_ACTIVATIONS: dict[tuple[str, bool], Callable[[Any], Any]] = {
    ("Sigmoid", True): _of_each(fast_sigmoid),
    ("Sigmoid", False): _sigmoid,
    ("Tanh", True): _of_each(topi.fast_tanh),
    ("Tanh", False): tirx.tanh,
    ("Relu", True): _relu,
    ("Relu", False): _relu,
}
"""By name, and whether polynomials stand for libm."""
