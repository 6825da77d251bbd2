"""Axes of a network's tensors made longer: from where that pays to where what was added would be noticed.

A loop is only cut into equal parts, so that an extent which nothing divides, or no vector, is worked on one by one.
A pass over the network says which calls begin with more, which go on with it, and by how much; in front of all others
what was added is cut off again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, topi
from tvm.relax.expr_functor import PyExprMutator

from tcl_core.network.relax_graph.constants import constant_array, static_shape
from tcl_core.network.relax_graph.rewriting import APART, op_name

FINITE = frozenset(
    f"relax.{name}"
    for name in (
        "add", "subtract", "multiply", "maximum", "minimum", "negative", "abs", "erf", "tanh", "sigmoid", "square",
        "nn.relu", "nn.leakyrelu", "nn.gelu", "nn.gelu_tanh", "nn.silu",
    )
)  # fmt: skip
"""Operators that work element by element, each of which makes finite numbers of finite ones."""

ZEROS_BEHIND = "pad_zeros"
"""The function that makes an axis longer."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Which axes of each argument are to be longer, and which of the result; None for none."""

    arguments: tuple[tuple[int, ...], ...]
    result: int | None


class Lengthener(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Plans a function from its first call to its last, then rewrites it. A pass is made of it by `mutator`."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.axes: dict[Any, int] = {}
        """Variables that are longer, and along which axis."""
        self.values: Mapping[Any, Any] = {}
        """What the function's variables are bound to."""
        self.given_out: set[Any] = set()
        """Variables that are given out, and their calls."""
        self._plans: dict[Any, Plan] = {}
        self._cut: dict[Any, Any] = {}

    def longer(self, extent: int) -> int:
        """How long an axis of such an extent is to be."""
        raise NotImplementedError

    def planned(self, variable: Any, call: Any) -> Plan | None:
        """What becomes of a call; None where it is left as it is, with arguments cut to what they were."""
        raise NotImplementedError

    def look_ahead(self, calls: Sequence[tuple[Any, Any]]) -> None:
        """Told of all variables and their calls before the first is planned."""

    def remade(self, call: Any, arguments: Sequence[Any], plan: Plan) -> Any:
        """A planned call of its longer arguments."""
        if op_name(call) == "relax.reshape":
            return relax.op.reshape(arguments[0], self._longer_shape(static_shape(call) or (), (plan.result,)))
        return relax.Call(call.op, arguments, call.attrs, call.ty_args)

    def cut(self, value: Any, axis: int, shape: tuple[int, ...]) -> Any:
        """What is longer along an axis in the shape that it had."""
        return relax.op.strided_slice(value, axes=[axis], begin=[0], end=[shape[axis]])

    def elementwise(self, call: Any, early: set[int], fits: Callable[[Any], bool]) -> Plan | None:
        """The same axis, counted from the end, of everything that is not broadcast along it.

        Args:
            early: the axis where no argument is longer yet, if it is to become so.
            fits: whether an argument that is not longer yet may become so.
        """
        known = [static_shape(argument) for argument in call.args]
        shapes = [shape for shape in known if shape is not None]
        if len(shapes) < len(known):
            return None
        of = zip(call.args, shapes, strict=True)
        found = {self.axes[argument] - len(shape) for argument, shape in of if argument in self.axes} or early
        if len(found) != 1:
            return None
        (behind,) = found
        extents = [shape[behind] if len(shape) >= -behind else 1 for shape in shapes]
        arguments = []
        for argument, shape, extent in zip(call.args, shapes, extents, strict=True):
            # Where there is no more than one anyway, one that is longer is broadcast to by the others.
            broadcast = extent == 1 and not (argument in self.axes and max(extents) == 1)
            if not (broadcast or argument in self.axes or fits(argument)):
                return None
            arguments.append(() if broadcast else (len(shape) + behind,))
        return Plan(arguments=tuple(arguments), result=max(map(len, shapes)) + behind)

    def beside_constants(self, call: Any) -> Plan | None:
        """`elementwise` where nothing but constants becomes longer."""
        return self.elementwise(call, set(), lambda argument: self.array(argument) is not None)

    def array(self, argument: Any) -> Any:
        """What an argument holds while calls are planned; None where it is no constant."""
        return constant_array(argument, self.values.get)

    def visit_function_(self, op: Any) -> Any:
        """Plan, then rewrite."""
        if isinstance(op.body, relax.SeqExpr):
            self.values = relax.analysis.get_var2val(op)
            self._plan(op.body)
        return super().visit_function_(op)

    def visit_call_(self, op: Any) -> Any:
        """A call as it was planned."""
        plan = self._plans.get(op)
        if plan is None and not any(argument in self.axes for argument in op.args):
            return super().visit_call_(op)
        wanted = plan.arguments if plan else ((),) * len(op.args)
        arguments = [self._fitted(argument, axes) for argument, axes in zip(op.args, wanted, strict=True)]
        if plan is None:
            return relax.Call(op.op, arguments, op.attrs, op.ty_args)
        made = self.remade(op, arguments, plan)
        if op in self.given_out and plan.result is not None:
            return self.cut(self.builder_.emit(made), plan.result, static_shape(op) or ())
        return made

    def visit_tuple_(self, op: Any) -> Any:
        """What is put together, or given out, is as long as it was."""
        return relax.Tuple([self._fitted(field, ()) for field in op.fields])

    def _plan(self, body: Any) -> None:
        bindings = [binding for block in body.blocks for binding in block.bindings]
        values = [body.body, *(getattr(binding, "value", None) for binding in bindings)]
        calls = [
            (binding.var, binding.value)
            for binding in bindings
            if isinstance(getattr(binding, "value", None), relax.Call)
        ]
        # What is given out has a second name, bound to the first, or is known outside of the block.
        self.given_out = {value for value in values if isinstance(value, relax.Var)}
        self.given_out |= {variable for variable, _ in calls if not isinstance(variable, relax.DataflowVar)}
        self.look_ahead(calls)
        for variable, call in calls:
            plan = self.planned(variable, call)
            if plan is None:
                continue
            self._plans[call] = plan
            if variable in self.given_out:
                self.given_out.add(call)
            elif plan.result is not None:
                self.axes[variable] = plan.result

    def _fitted(self, argument: Any, wanted: tuple[int, ...]) -> Any:
        """What stands for an argument now, longer or as it was."""
        value, axis = self.visit_expr(argument), self.axes.get(argument) if isinstance(argument, relax.Var) else None
        if axis is None and wanted:
            return self._padded(value, static_shape(argument) or (), wanted)
        if axis is not None and not wanted:
            if argument not in self._cut:
                self._cut[argument] = self.builder_.emit(self.cut(value, axis, static_shape(argument) or ()))
            return self._cut[argument]
        return value

    def _padded(self, value: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        after = [new - old for new, old in zip(self._longer_shape(shape, axes), shape, strict=True)]
        array = constant_array(value, self.lookup_binding)
        if array is not None:
            return relax.const(np.pad(array, [(0, more) for more in after]))
        before = [0] * len(shape)
        # Apart: in one kernel with a product MetaSchedule cannot tile it.
        return self.builder_.emit(
            self.builder_.call_te(
                topi.nn.pad, value, before, after, primfunc_name_hint=ZEROS_BEHIND, primfunc_attrs=APART
            )
        )

    def _longer_shape(self, shape: tuple[int, ...], axes: Sequence[int | None]) -> list[int]:
        return [self.longer(extent) if at in axes else extent for at, extent in enumerate(shape)]
