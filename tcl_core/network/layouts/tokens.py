"""A number of tokens that nothing divides (197 of a vision transformer) is made longer by rows of zeros.

197 rows, a prime number, go to threads, registers and vectors as a whole or one by one. Products of them, and what
works row by row before and after, are computed for 200 here. What becomes of the rows added meets no other row: the one
place where rows meet, attention's keys and values, gets them cut off, and so does whatever else is not known to leave
rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm import relax
from tvm.relax.expr_functor import mutator

from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.lengthening import Lengthener, Plan
from tcl_core.network.relax_graph.rewriting import op_name, rewritten

_BY_ROW = frozenset({"relax.nn.layer_norm", "relax.nn.rms_norm"})
_UNIT = 8
_FEWEST = 32
"""Below that, rows are not what a product is short of."""
_DIVISORS = range(4, 17)
_ELEMENTWISE = frozenset(
    f"relax.{name}"
    for name in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "negative", "abs", "exp", "log", "tanh",
        "erf", "sin", "cos", "sqrt", "rsqrt", "sigmoid", "nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu", "isnan",
        "where",
    )
)  # fmt: skip


def lengthen_rows(module: Any) -> Any:
    """The relax module with products of rows that tiles divide; its arguments and results stay as they are."""
    return relax.transform.DeadCodeElimination()(rewritten(module, _Rows(module)))


def longer(rows: int) -> int:
    """How many rows there should be instead; as many where they are few or something divides them."""
    divided = any(rows % divisor == 0 for divisor in _DIVISORS)
    return rows if divided or rows < _FEWEST else rows + -rows % _UNIT


@mutator
class _Rows(Lengthener):
    """Rows from the first product on that would have more of them."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._early: dict[Any, int] = {}

    def longer(self, extent: int) -> int:
        return longer(extent)

    def look_ahead(self, calls: Sequence[tuple[Any, Any]]) -> None:
        for variable, call in calls:
            if variable not in self.given_out:
                self._note_what_leads_to(call)

    def planned(self, variable: Any, call: Any) -> Plan | None:
        shape = static_shape(call)
        if shape is None or len(shape) < 2 or variable in self.given_out:  # rows and columns
            return None
        name = op_name(call)
        if name == "relax.matmul":
            return self._product(call, shape)
        if name in _ELEMENTWISE:
            return self._elementwise(variable, call, len(shape))
        axis = self.axes.get(call.args[0], self._early.get(variable)) if call.args else None
        if axis is None:
            return None
        moved = _moved(call, name, shape, axis)
        return None if moved is None else Plan(arguments=((axis,), *[()] * (len(call.args) - 1)), result=moved)

    def _note_what_leads_to(self, product: Any) -> None:
        """What works row by row before a product that begins with more rows, so that they are added before that."""
        if not self._begins(product):
            return
        made = static_shape(product) or ()
        waiting, rows = [product.args[0]], made[_rows_of(made)]
        while waiting:
            variable = waiting.pop()
            call = self.values.get(variable) if isinstance(variable, relax.Var) else None
            name = op_name(call)
            shape = static_shape(variable) or ()
            if call is None or variable in self._early or len(shape) < 2 or shape[_rows_of(shape)] != rows:
                continue
            if name in _BY_ROW or name in _ELEMENTWISE:
                self._early[variable] = _rows_of(shape)
                waiting.extend(call.args)

    def _begins(self, call: Any) -> bool:
        """Whether it is a product of all rows with the same matrix that would have more of them."""
        shape = static_shape(call)
        if op_name(call) != "relax.matmul" or shape is None or len(shape) < 2 or call.ty.dtype != "float32":
            return False  # of two vectors it has no rows
        left, right = (static_shape(argument) or () for argument in call.args)
        rows = shape[_rows_of(shape)]
        return len(left) == len(shape) > len(right) - 1 == 1 and longer(rows) != rows

    def _product(self, call: Any, shape: tuple[int, ...]) -> Plan | None:
        axis, left = _rows_of(shape), call.args[0]
        if axis != len(shape) - 2 and len(static_shape(call.args[1]) or ()) != 2:
            return None  # the other factor knows it, too
        begun = self.axes.get(left) == axis == _rows_of(static_shape(left) or ())
        begins = left not in self.axes and (self._begins(call) or _makes_scores(call))
        return Plan(arguments=((axis,), ()), result=axis) if begun or begins else None

    def _elementwise(self, variable: Any, call: Any, rank: int) -> Plan | None:
        early = {self._early[variable] - rank} if variable in self._early else set()
        # A number of another type behind it may mean something.
        return self.elementwise(call, early, lambda argument: argument.ty.dtype == "float32")


def _makes_scores(call: Any) -> bool:
    """Whether it is a product of batches that would have more rows: scores of queries that were cut before, as those
    that were rotated without their class token.
    """
    left, right = (static_shape(argument) or () for argument in call.args)
    if len(left) != len(right) or len(left) < 3 or call.ty.dtype != "float32":
        return False
    return right[-1] >= _FEWEST and longer(left[-2]) != left[-2]


def _rows_of(shape: tuple[int, ...]) -> int:
    """The axis of the rows of matrices: the last but one, or the last of several steps before that: [197, 1, 768]."""
    several = [at for at, extent in enumerate(shape[:-1]) if extent > 1]
    return several[-1] if several else max(len(shape) - 2, 0)


def _moved(call: Any, name: str, shape: tuple[int, ...], axis: int) -> int | None:
    """Where a call that leaves rows alone puts them; None for one that may not."""
    before = static_shape(call.args[0]) or ()
    rank = len(before)
    if name in _BY_ROW:
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
    return _beside(call, name, rank, axis)


def _beside(call: Any, name: str, rank: int, axis: int) -> int | None:
    """`_moved` for calls that add or take other axes, as PyTorch's attention takes its queries from one product."""
    if name == "relax.expand_dims":
        added = sorted(int(each) % (rank + len(call.attrs.axis)) for each in call.attrs.axis)
        for each in added:
            axis += each <= axis
        return axis
    if name == "relax.squeeze" and call.attrs.axis:
        return axis - sum(int(each) % rank < axis for each in call.attrs.axis)
    if name == "relax.take" and call.attrs.axis is not None:
        along, indices = int(call.attrs.axis) % rank, static_shape(call.args[1])
        if along == axis or indices is None:
            return None
        return axis if axis < along else axis + len(indices) - 1
    if name == "relax.strided_slice" and isinstance(call.args[1], relax.Tuple):
        return None if axis in {int(each.value) % rank for each in call.args[1].fields} else axis
    return None
