"""Whole numbers that fit a byte lie between kernels as bytes, where a convolution reads them.

A quantised network computes with its whole numbers in floats (`quantized`). Whoever makes them writes a quarter
so, and who reads them makes floats of them again, or looks at four as a word: nothing is packed. For a target that
multiplies bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.quantization.byte_words import in_bytes, offset_for
from tcl_core.network.quantization.whole_ranges import whole_ranges
from tcl_core.network.relax_graph.constants import constant_array
from tcl_core.network.relax_graph.rewriting import op_name, readers_of, rewritten

_FLOAT = "float32"
_ELEMENTWISE = frozenset(
    f"relax.{name}" for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "nn.relu")
)
"""Who reads floats so is one kernel with what makes them of bytes."""
Held = tuple[int, int]
"""The least and the most of a tensor's whole numbers."""


@dataclass(frozen=True, kw_only=True)
class StoredBytes:
    """A tensor's bytes, and what was added to its numbers for all to fit those."""

    data: Any
    offset: int


def lay_down_bytes(module: Any, reads: Callable[[Any, Held], bool], byte: str) -> Any:
    """The relax module with bytes between its kernels.

    Args:
        reads: whether a call reads its first argument's whole numbers, of that range, as bytes.
        byte: the type of those.
    """
    held, readers, bytewise = whole_ranges(module), readers_of(module), set()
    offsets: dict[Any, int] = {}
    for variable, numbers in held.items():
        by = {call for call in readers[variable] if call is not None and reads(call, numbers)}
        offset = offset_for(numbers, byte)
        if by and offset is not None and str(variable.ty.dtype) == _FLOAT:
            offsets[variable] = offset
            bytewise |= by
    alone = {
        variable
        for variable in offsets
        if all(call is not None and (call in bytewise or op_name(call) in _ELEMENTWISE) for call in readers[variable])
    }
    return rewritten(module, _Bytes(module, offsets, bytewise, alone, byte)) if offsets else module


def stored_bytes(value: Any, values: dict[Any, Any], byte: str) -> StoredBytes | None:
    """The bytes that a float variable's numbers are made from; None where they are made otherwise.

    Args:
        values: by variable, what it is bound to.
    """
    made: Any = values.get(value)
    offset = 0
    if op_name(made) == "relax.subtract":
        less = constant_array(made.args[1], values.get)
        if less is None or less.size != 1 or not float(less.reshape(-1)[0]).is_integer():
            return None
        made, offset = values.get(made.args[0]), int(less.reshape(-1)[0])
    if op_name(made) != "relax.astype" or str(made.ty.dtype) != _FLOAT or str(made.args[0].ty.dtype) != byte:
        return None
    return StoredBytes(data=made.args[0], offset=offset)


@mutator
class _Bytes(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Writes bytes behind a variable's binding, and floats of them in front of each who reads it."""

    def __init__(self, module: Any, offsets: dict[Any, int], bytewise: set[Any], alone: set[Any], byte: str) -> None:
        """`alone`: variables that nobody needs as the floats they are made as."""
        super().__init__(module)
        self._offsets, self._bytewise, self._alone, self._byte = offsets, bytewise, alone, byte
        self._stored: dict[Any, Any] = {}

    def visit_var_binding_(self, binding: Any) -> None:
        super().visit_var_binding_(binding)
        offset = self._offsets.get(binding.var)
        if offset is not None:
            self._stored[binding.var] = self.builder_.emit(in_bytes(self.visit_expr(binding.var), offset, self._byte))

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        replaced = [each in self._stored and (op in self._bytewise or each in self._alone) for each in op.args]
        if not any(replaced):
            return call
        pairs = zip(op.args, call.args, replaced, strict=True)
        arguments = [self._numbers(before) if other else now for before, now, other in pairs]
        return relax.Call(call.op, arguments, call.attrs, call.ty_args)

    def _numbers(self, variable: Any) -> Any:
        emit, offset = self.builder_.emit, self._offsets[variable]
        numbers = emit(relax.op.astype(self._stored[variable], _FLOAT))
        return emit(relax.op.subtract(numbers, relax.const(float(offset), _FLOAT))) if offset else numbers
