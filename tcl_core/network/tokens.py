"""A number of tokens that nothing divides (197 of a vision transformer) is made longer by rows of zeros.

A loop is only cut into equal parts: 197 rows, a prime number, go to threads, registers and vectors as a whole or one by
one. Products of them, and what works row by row before and after, are computed for 200 here. What becomes of the rows
added meets no other row: the one place where rows meet, attention's keys and values, gets them cut off, and so does
whatever else is not known to leave rows alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, topi
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.constants import constant_array, static_shape
from tcl_core.network.rewriting import rewritten

_LAYER_NORM = "relax.nn.layer_norm"
_APART = {"op_pattern": 8}
"""TVM's opaque pattern: fused with nothing. In one kernel with a product MetaSchedule cannot tile it."""
_UNIT = 8
_FEWEST = 32
"""Below that, rows are not what a product is short of."""
_DIVISORS = range(4, 17)
_ELEMENTWISE = frozenset(
    f"relax.{name}"
    for name in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "negative", "abs", "exp", "tanh", "erf",
        "sqrt", "rsqrt", "sigmoid", "nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu", "isnan", "where",
    )
)  # fmt: skip


def lengthen_rows(module: Any) -> Any:
    """The relax module with products of rows that tiles divide; its arguments and results stay as they are."""
    return relax.transform.DeadCodeElimination()(rewritten(module, _Lengthener(module)))


def longer(rows: int) -> int:
    """How many rows there should be instead; as many where they are few or something divides them."""
    divided = any(rows % divisor == 0 for divisor in _DIVISORS)
    return rows if divided or rows < _FEWEST else rows + -rows % _UNIT


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """Which axis of each argument, and of the result, is to be longer; None for none."""

    arguments: tuple[int | None, ...]
    result: int | None


@mutator
class _Lengthener(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Plans a function from its first call to its last, then rewrites it."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._plans: dict[Any, _Plan] = {}
        self._axes: dict[Any, int] = {}
        self._early: dict[Any, int] = {}
        self._values: Any = {}
        self._cut: dict[Any, Any] = {}

    def visit_function_(self, op: Any) -> Any:
        if isinstance(op.body, relax.SeqExpr):
            self._values = relax.analysis.get_var2val(op)
            self._plan(op.body)
        return super().visit_function_(op)

    def visit_call_(self, op: Any) -> Any:
        plan = self._plans.get(op)
        if plan is None and not any(argument in self._axes for argument in op.args):
            return super().visit_call_(op)
        wanted = plan.arguments if plan else (None,) * len(op.args)
        arguments = [self._fitted(argument, axis) for argument, axis in zip(op.args, wanted, strict=True)]
        if plan and _name(op) == "relax.reshape":
            return relax.op.reshape(arguments[0], _with(static_shape(op), plan.result))
        return relax.Call(op.op, arguments, op.attrs, op.ty_args)

    def visit_tuple_(self, op: Any) -> Any:
        return relax.Tuple([self._fitted(field, None) for field in op.fields])

    def _plan(self, body: Any) -> None:
        bindings = [binding for block in body.blocks for binding in block.bindings]
        values = [body.body, *(getattr(binding, "value", None) for binding in bindings)]
        # What is given out has a second name, bound to the first.
        given_out = {value for value in values if isinstance(value, relax.Var)}
        calls = [
            (binding.var, binding.value)
            for binding in bindings
            if isinstance(binding.var, relax.DataflowVar) and isinstance(getattr(binding, "value", None), relax.Call)
        ]
        for _, call in calls:
            self._note_what_leads_to(call)
        for variable, call in calls:
            plan = None if variable in given_out else self._planned(variable, call)
            if plan is not None:
                self._plans[call] = plan
                self._axes[variable] = plan.result

    def _note_what_leads_to(self, product: Any) -> None:
        """What works row by row before a product that begins with more rows, so that they are added before that."""
        if not self._begins(product):
            return
        waiting, rows = [product.args[0]], (static_shape(product) or ())[-2]
        while waiting:
            variable = waiting.pop()
            call = self._values.get(variable) if isinstance(variable, relax.Var) else None
            name = _name(call)
            shape = static_shape(variable) or ()
            if call is None or variable in self._early or len(shape) < 2 or shape[-2] != rows:
                continue
            if name == _LAYER_NORM or name in _ELEMENTWISE:
                self._early[variable] = len(shape) - 2
                waiting.extend(call.args)

    def _begins(self, call: Any) -> bool:
        """Whether it is a product of all rows with the same matrix that would have more of them."""
        shape = static_shape(call)
        if _name(call) != "relax.matmul" or shape is None or call.ty.dtype != "float32":
            return False
        left, right = (static_shape(argument) or () for argument in call.args)
        return len(left) == len(shape) > len(right) - 1 == 1 and longer(shape[-2]) != shape[-2]

    def _planned(self, variable: Any, call: Any) -> Any:
        """None for a call that is left as it is, with arguments cut to what they were."""
        shape = static_shape(call)
        if shape is None or len(shape) < 2:  # rows and columns
            return None
        name = _name(call)
        if name == "relax.matmul":
            return self._product(call, shape)
        if name in _ELEMENTWISE:
            return self._elementwise(variable, call, len(shape))
        axis = self._axes.get(call.args[0], self._early.get(variable)) if call.args else None
        if axis is None:
            return None
        moved = _moved(call, name, shape, axis)
        return None if moved is None else _Plan(arguments=(axis, *[None] * (len(call.args) - 1)), result=moved)

    def _product(self, call: Any, shape: tuple[int, ...]) -> Any:
        axis, left = len(shape) - 2, call.args[0]
        begun = self._axes.get(left) == axis == len(static_shape(left) or ()) - 2
        begins = left not in self._axes and self._begins(call)
        return _Plan(arguments=(axis, None), result=axis) if begun or begins else None

    def _elementwise(self, variable: Any, call: Any, rank: int) -> Any:
        """The same axis, counted from the end, of everything that is not broadcast along it."""
        known = [static_shape(argument) for argument in call.args]
        shapes = [shape for shape in known if shape is not None]
        if len(shapes) < len(known):
            return None
        of = zip(call.args, shapes, strict=True)
        found = {self._axes[argument] - len(shape) for argument, shape in of if argument in self._axes}
        found = found or ({self._early[variable] - rank} if variable in self._early else set())
        if len(found) != 1:
            return None
        (behind,) = found
        arguments = []
        for argument, shape in zip(call.args, shapes, strict=True):
            broadcast = not shape or len(shape) < -behind or shape[behind] == 1
            if not broadcast and argument not in self._axes and argument.ty.dtype != "float32":
                return None  # a number of another type behind it may mean something
            arguments.append(None if broadcast else len(shape) + behind)
        return _Plan(arguments=tuple(arguments), result=rank + behind)

    def _fitted(self, argument: Any, wanted: int | None) -> Any:
        """What stands for an argument now, longer or as it was."""
        value, axis = self.visit_expr(argument), self._axes.get(argument) if isinstance(argument, relax.Var) else None
        shape = static_shape(argument) or ()
        if axis is None and wanted is not None:
            return self._padded(value, shape, wanted)
        if axis is not None and wanted is None:
            if argument not in self._cut:
                cut = relax.op.strided_slice(value, axes=[axis], begin=[0], end=[shape[axis]])
                self._cut[argument] = self.builder_.emit(cut)
            return self._cut[argument]
        return value

    def _padded(self, value: Any, shape: tuple[int, ...], axis: int) -> Any:
        after = [longer(extent) - extent if at == axis else 0 for at, extent in enumerate(shape)]
        array = constant_array(value, self.lookup_binding)
        if array is not None:
            return relax.const(np.pad(array, [(0, more) for more in after]))
        before = [0] * len(shape)
        return self.builder_.emit(
            self.builder_.call_te(
                topi.nn.pad, value, before, after, primfunc_name_hint="pad_rows", primfunc_attrs=_APART
            )
        )


def _moved(call: Any, name: str, shape: tuple[int, ...], axis: int) -> int | None:
    """Where a call that leaves rows alone puts them; None for one that may not."""
    before = static_shape(call.args[0]) or ()
    rank = len(before)
    if name == _LAYER_NORM:
        return None if axis in {int(each) % rank for each in call.attrs.axes} else axis
    if name == "relax.nn.softmax":
        return None if int(call.attrs.axis) % rank == axis else axis
    if name == "relax.permute_dims":
        order = [int(each) % rank for each in call.attrs.axes] if call.attrs.axes else list(reversed(range(rank)))
        return order.index(axis)
    if name == "relax.reshape":
        ahead = math.prod(before[:axis])
        fitting = (at for at, extent in enumerate(shape) if extent == before[axis] and math.prod(shape[:at]) == ahead)
        return next(fitting, None)
    return None


def _with(shape: Any, axis: Any) -> list[int]:
    """A shape with more rows."""
    return [longer(extent) if at == axis else extent for at, extent in enumerate(shape)]


def _name(call: Any) -> str:
    return str(getattr(getattr(call, "op", None), "name", ""))
