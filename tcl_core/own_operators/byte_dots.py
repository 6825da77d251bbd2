"""Products of bytes, four of them summed up at once: an operator that a processor's vectors have an instruction for.

x86 calls it VNNI (`vpdpbusd`). LLVM makes none of plain loops over bytes, so that sums of such products are an operator
of our own here, which the vectoriser of TVM takes as it takes an addition: whoever tiles sums tiles these, and what
holds a word of four bytes is a number to them. One thread of a Xeon with AVX-512, 196 x 256 by 256 x 256: 699 GOP/s in
tiles of 14 rows by two vectors, and 203 where the sum is an addition behind the instruction, which LLVM leaves apart.

A build whose current target has the instruction gets it for whole vectors; all else is computed byte by byte, so that
any kernel can be built for any target, tuned or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import tvm
from tvm import te, tirx
from tvm.target import Target, codegen
from tvm.tirx.op import call_intrin

from tcl_core.own_operators.registry import register

BYTES: Final = 4
"""In a word; the first is the lowest."""
MOST_PRODUCTS: Final = (2**31 - 1) // (255 * 128)
"""As many, of any bytes, fit into a sum."""

_INSTRUCTIONS: Final = {f"int32x{lanes}": f"llvm.x86.avx512.vpdpbusd.{32 * lanes}" for lanes in (4, 8, 16)}
_FEATURES: Final = ("avx512vnni", "avxvnni")
_WORD = "int32"


def has_byte_dots(target: Any) -> bool:
    """Whether a target's vectors have the instruction."""
    return any(codegen.target_has_features(feature, target) for feature in _FEATURES)


def sum_of_byte_products(words: Any, weights: Any, axes: Sequence[Any]) -> Any:
    """A tensor expression: the sum over `axes` of words' bytes, 0 to 255, times weights' bytes, -128 to 127, in int32.

    Args:
        words, weights: int32 that hold `BYTES` bytes each.
    """
    return _SUM(call_intrin(_WORD, _BOTH, words, weights), axis=list(axes))


def sides_of(value: Any) -> tuple[Any, Any, Any] | None:
    """What such a sum's update, as a schedule has it, is made of: the sum so far, words, weights; None for others."""
    if not _calls(value, _ADD) or not _calls(value.args[1], _BOTH):
        return None
    total, both = value.args
    return total, both.args[0], both.args[1]


def _calls(value: Any, name: str) -> bool:
    return isinstance(value, tvm.ir.Call) and getattr(value.op, "name", "") == name


def _lowered(call: Any) -> Any:
    """The instruction, or plain arithmetic."""
    total, words, weights = sides_of(call) or (None, None, None)
    dtype, target = str(call.ty.dtype), Target.current(allow_none=True)
    if dtype in _INSTRUCTIONS and target is not None and has_byte_dots(target):
        whole = dtype.replace("int32x", "int8x")
        lanes = int(whole.removeprefix("int8x")) * BYTES
        both = (tirx.reinterpret(f"int8x{lanes}", each) for each in (words, weights))
        return tirx.call_llvm_pure_intrin(dtype, _INSTRUCTIONS[dtype], total, *both)
    for place in range(BYTES):
        byte = tirx.bitwise_and(tirx.shift_right(words, tirx.const(8 * place, dtype)), tirx.const(255, dtype))
        up = tirx.shift_left(weights, tirx.const(8 * (BYTES - 1 - place), dtype))
        total = total + byte * tirx.shift_right(up, tirx.const(8 * (BYTES - 1), dtype))
    return total


_ADD: Final = register(
    "add_products_of_bytes",
    "A sum of products of bytes, and the products of two words more.",
    inputs=2,
    lowered=_lowered,
)
_BOTH: Final = register("words_of_both", "Two words whose bytes are multiplied.", inputs=2)
_SUM = te.comm_reducer(
    lambda total, both: call_intrin(_WORD, _ADD, total, both), lambda dtype: tirx.const(0, dtype), name="byte_products"
)
