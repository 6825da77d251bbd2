"""Which operators a blocked layout is moved through; in front of all others it ends.

Relax's `ConvertLayout` asks each operator to move the layout and does not ask whether the channels fill its blocks:
a maximum over the channels, a mask of one channel, a concatenation of 24 and 32 channels or a transposed convolution
make it fail, or claim shapes that are not there (TVM 0.27). So what is not known to be safe is hidden from it behind a
call it knows nothing of, and brought back after it. It can go when `ConvertLayout` looks at shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.layouts.parts import is_even
from tcl_core.network.relax_graph.constants import constant_array, static_shape
from tcl_core.network.relax_graph.rewriting import rewritten

_PICTURES, _VOLUMES = 4, 5
"""Ranks of [batch, channels, height, width] and, with depth, of what is not blocked but laid out with channels last."""
_HIDDEN = "tcl_studio.hidden."


class Barriers:
    """Hides operators of one module, and brings them back."""

    def __init__(self, block: Callable[[int], int]) -> None:
        """`block`: by how many channels a tensor of so many is blocked, 0 for none."""
        self._block = block
        self._hidden: list[Any] = []

    def raised(self, module: Any) -> Any:
        """The relax module with barriers in the place of operators that no blocked tensor may reach."""
        return rewritten(module, _Rewriter(module, self._hide))

    def lowered(self, module: Any) -> Any:
        """The relax module with its own operators again."""
        return rewritten(module, _Rewriter(module, self._show))

    def _hide(self, call: Any, builder: Any) -> Any:
        if not isinstance(call.op, tvm.ir.Op) or call.op.get_attr("FRelaxInferLayout") is None:
            return call  # `ConvertLayout` gives it plain tensors anyway
        arguments = _aligned(call)
        if _is_safe(call, arguments, self._block):
            if _name(call) == "concat":
                # From the front: counted from the back, `ConvertLayout` takes the lanes of a block for the columns.
                return relax.op.concat(arguments[0], _axis(call))
            if _name(call) == "split":
                return relax.op.split(arguments[0], len(call.ty.fields), axis=1)
            return relax.Call(call.op, arguments, call.attrs, call.ty_args)
        part = _as_part(call, self._block)
        if part is not None:
            parts, at = part
            return relax.TupleGetItem(builder.emit(relax.op.split(call.args[0], parts, axis=1)), at)
        self._hidden.append(call)
        return relax.op.call_pure_packed(f"{_HIDDEN}{len(self._hidden) - 1}", *call.args, ty_args=call.ty)

    def _show(self, call: Any, _builder: Any) -> Any:
        callee = call.args[0] if getattr(call.op, "name", "") == "relax.call_pure_packed" else None
        name = str(getattr(callee, "global_symbol", ""))
        if not name.startswith(_HIDDEN):
            return call
        original = self._hidden[int(name.removeprefix(_HIDDEN))]
        return relax.Call(original.op, list(call.args)[1:], original.attrs, original.ty_args)


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Gives every call to a function, and the builder for what else it makes of it."""

    def __init__(self, module: Any, change: Callable[[Any, Any], Any]) -> None:
        super().__init__(module)
        self._change = change

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if call.ty is None:
            call = self.builder_.normalize(call)
        return self._change(call, self.builder_)


def _aligned(call: Any) -> list[Any]:
    """The call's arguments; of an elementwise call on pictures or volumes with constants [C, 1, 1] as [1, C, 1, 1].

    A layout follows only what has a batch.
    """
    shape = static_shape(call)
    if shape is None or len(shape) not in {_PICTURES, _VOLUMES} or _name(call) not in _ELEMENTWISE:
        return list(call.args)
    return [_in_rank(each, len(shape)) for each in call.args]


def _in_rank(argument: Any, rank: int) -> Any:
    array = constant_array(argument, lambda _: None)
    if array is None or array.ndim in {0, rank}:
        return argument
    return relax.const(array.reshape((1,) * (rank - array.ndim) + array.shape), str(argument.ty.dtype))


def _is_safe(call: Any, arguments: Sequence[Any], block: Callable[[int], int]) -> bool:
    name = _name(call)
    if name in _ELEMENTWISE:
        return _alike([*arguments, call])
    if name in _REDUCTIONS:
        rank = len(static_shape(call.args[0]) or ())
        return bool(rank) and call.attrs.axis is not None and all(int(axis) % rank > 1 for axis in call.attrs.axis)
    if name == "concat":
        return _fills(call, block)
    if name == "split":
        shape = static_shape(call.args[0])
        return (
            is_even(call) and shape is not None and _alike_in_blocks(shape[1], shape[1] // len(call.ty.fields), block)
        )
    return name in _LAYOUT_AWARE


def _axis(call: Any) -> int:
    """Of a concatenation, counted from the front."""
    return int(call.attrs.axis) % int(call.ty.ndim)


def _name(call: Any) -> str:
    return str(call.op.name).removeprefix("relax.")


def _alike(tensors: Sequence[Any]) -> bool:
    """Whether all have one rank and number of channels, so that one layout suits all; scalars suit any."""
    shapes = [static_shape(each) for each in tensors]
    return len({shape if shape is None else (len(shape), *shape[1:2]) for shape in shapes if shape != ()}) == 1


def _fills(call: Any, block: Callable[[int], int]) -> bool:
    """Whether the parts of a concatenation and the whole have one block, or it is not along the channels."""
    if _axis(call) > 1 or len(static_shape(call) or ()) == _VOLUMES:
        return True
    shapes = [static_shape(each) for each in (*getattr(call.args[0], "fields", ()), call)]
    blocks = {block(shape[1]) if shape is not None and len(shape) == _PICTURES else 0 for shape in shapes}
    return len(blocks) == 1 and 0 not in blocks


def _as_part(call: Any, block: Callable[[int], int]) -> tuple[int, int] | None:
    """In how many parts a picture's channels would be split, and which of them a slice is; None for other calls.

    A layout is moved through a split, not through a slice of blocks (TVM 0.27); `parts.cut_blocks` makes it one again.
    """
    shape = static_shape(call.args[0]) if _name(call) == "strided_slice" else None
    cut = static_shape(call)
    if shape is None or cut is None or len(shape) != _PICTURES or cut != (shape[0], cut[1], *shape[2:]):
        return None
    axes, begins, _, *strides = (_numbers(each) for each in call.args[1:])
    if axes is None or begins is None or any(set(each or ()) != {1} for each in strides):
        return None
    begin = dict(zip((axis % _PICTURES for axis in axes), begins, strict=True)).get(1, 0)
    begin, size = max(begin + shape[1] if begin < 0 else begin, 0), cut[1]
    even = 0 < size < shape[1] and shape[1] % size == 0 == begin % size
    return (shape[1] // size, begin // size) if even and _alike_in_blocks(shape[1], size, block) else None


def _alike_in_blocks(channels: int, part: int, block: Callable[[int], int]) -> bool:
    """Whether so many of a picture's channels have blocks like those of all of them."""
    return 0 != block(channels) == block(part)


def _numbers(argument: Any) -> list[int] | None:
    """What a tuple of numbers holds."""
    fields = list(argument.fields) if isinstance(argument, relax.Tuple) else []
    known = fields and all(isinstance(each, tirx.IntImm) for each in fields)
    return [int(each.value) for each in fields] if known else None


_LAYOUT_AWARE = frozenset({
    "nn.conv2d", "nn.max_pool2d", "nn.avg_pool2d", "nn.adaptive_avg_pool2d", "nn.conv3d", "nn.max_pool3d",
    "nn.avg_pool3d",
})  # fmt: skip
"""They are told the layout, and keep the channels or say what becomes of them."""

_REDUCTIONS = frozenset({"mean", "sum", "max", "min"})

_ELEMENTWISE = frozenset(
    {
        "abs", "acos", "add", "asin", "atan", "ceil", "cos", "divide", "erf", "exp", "floor", "log", "maximum",
        "minimum", "multiply", "negative", "nn.gelu", "nn.gelu_tanh", "nn.relu", "nn.silu", "power", "round", "rsqrt",
        "sigmoid", "sign", "sin", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
    }
)  # fmt: skip
