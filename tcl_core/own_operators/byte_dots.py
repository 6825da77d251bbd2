"""Products of bytes, four of them summed up at once: an operator that a processor's vectors have an instruction for.

x86 calls it VNNI (`vpdpbusd`), ARM a dot product (`sdot`): bytes of data have no sign there and have one here, weights
have one. LLVM makes none of plain loops over bytes, so that sums of such products are an operator of our own here,
which the vectoriser of TVM takes as it takes an addition: whoever tiles sums tiles these, and what holds a word of four
bytes is a number to them. One thread of a Xeon with AVX-512, 196 x 256 by 256 x 256: 699 GOP/s in tiles of 14 rows by
two vectors, and 203 where the sum is an addition behind the instruction, which LLVM leaves apart.

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

OF_DATA: Final = {"uint8": (0, 255), "int8": (-128, 127)}
"""The least and the most that a byte of data is, by its type."""

_WORD = "int32"
_AVX512, _DOTPROD = ("avx512vnni",), ("dotprod",)
_FEATURES: Final = {"uint8": (*_AVX512, "avxvnni"), "int8": _DOTPROD}
_INSTRUCTIONS: Final = {
    ("uint8", f"{_WORD}x4"): ("llvm.x86.avx512.vpdpbusd.128", _FEATURES["uint8"]),
    ("uint8", f"{_WORD}x8"): ("llvm.x86.avx512.vpdpbusd.256", _FEATURES["uint8"]),
    ("uint8", f"{_WORD}x16"): ("llvm.x86.avx512.vpdpbusd.512", _AVX512),
    ("int8", f"{_WORD}x4"): ("llvm.aarch64.neon.sdot.v4i32.v16i8", _DOTPROD),
}
"""By bytes of data and sums, with the features any of which has it. Where none does LLVM ends the process."""
_OF_32_BITS = "vfp2"
"""A feature of every ARM of 32 bits with dot products, and of none of 64, whose instruction has another name there."""


def data_bytes(target: Any) -> str | None:
    """The type of the bytes that a target's vectors multiply by weights, a key of `OF_DATA`; None where they do not."""
    return next((byte for byte, features in _FEATURES.items() if _has_any(features, target)), None)


def _has_any(features: Sequence[str], target: Any) -> bool:
    found = any(codegen.target_has_features(feature, target) for feature in features)
    return found and not codegen.target_has_features(_OF_32_BITS, target)


def sums_side_by_side(byte: str, lanes: int) -> bool:
    """Whether an instruction for such bytes of data gives so many sums at once."""
    return (byte, f"{_WORD}x{lanes}") in _INSTRUCTIONS


def sum_of_byte_products(byte: str, words: Any, weights: Any, axes: Sequence[Any]) -> Any:
    """A tensor expression: the sum over `axes` of words' bytes times weights' bytes, -128 to 127, in int32.

    Args:
        byte: the type of the words' bytes, a key of `OF_DATA`.
        words, weights: int32 that hold `BYTES` bytes each.
    """
    return _SUM(call_intrin(_WORD, _BOTH[byte], words, weights), axis=list(axes))


def sides_of(value: Any) -> tuple[Any, Any, Any] | None:
    """What such a sum's update, as a schedule has it, is made of: the sum so far, words, weights; None for others."""
    if _name(value) != _ADD or _name(value.args[1]) not in _BOTH.values():
        return None
    total, both = value.args
    return total, both.args[0], both.args[1]


def _name(value: Any) -> str:
    """Of the operator that is called."""
    return getattr(value.op, "name", "") if isinstance(value, tvm.ir.Call) else ""


def _lowered(call: Any) -> Any:
    """The instruction, or plain arithmetic."""
    total, both = call.args
    words, weights = both.args
    byte = next(byte for byte, name in _BOTH.items() if name == _name(both))
    dtype, target = str(call.ty.dtype), Target.current(allow_none=True)
    instruction, features = _INSTRUCTIONS.get((byte, dtype), ("", ()))
    if target is not None and _has_any(features, target):
        lanes = int(dtype.removeprefix(f"{_WORD}x")) * BYTES
        factors = (tirx.reinterpret(f"int8x{lanes}", each) for each in both.args)
        return tirx.call_llvm_pure_intrin(dtype, instruction, total, *factors)
    for place in range(BYTES):
        total = total + _byte(words, place, dtype, signed=byte == "int8") * _byte(weights, place, dtype, signed=True)
    return total


def _byte(words: Any, place: int, dtype: str, *, signed: bool) -> Any:
    if not signed:
        return tirx.bitwise_and(tirx.shift_right(words, tirx.const(8 * place, dtype)), tirx.const(255, dtype))
    up = tirx.shift_left(words, tirx.const(8 * (BYTES - 1 - place), dtype))
    return tirx.shift_right(up, tirx.const(8 * (BYTES - 1), dtype))


_ADD: Final = register(
    "add_products_of_bytes",
    "A sum of products of bytes, and the products of two words more.",
    inputs=2,
    lowered=_lowered,
)
_BOTH: Final = {
    "uint8": register(
        "words_of_both", "Two words whose bytes are multiplied, the first one's without a sign.", inputs=2
    ),
    "int8": register("signed_words_of_both", "Two words whose bytes are multiplied.", inputs=2),
}
_SUM = te.comm_reducer(
    lambda total, both: call_intrin(_WORD, _ADD, total, both), lambda dtype: tirx.const(0, dtype), name="byte_products"
)
