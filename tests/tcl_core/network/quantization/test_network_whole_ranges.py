"""What is known of the whole numbers in a quantised network's floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvm import relax

from tcl_core.network.quantization.quantized import ROUNDER
from tcl_core.network.quantization.whole_ranges import whole_ranges

Made = Callable[[relax.BlockBuilder, Any], Any]


def held(make: Made, dtype: str = "float32") -> tuple[int, int] | None:
    """What is known of the last tensor that `make` makes of a picture."""
    builder = relax.BlockBuilder()
    given = relax.Var("x", relax.TensorType((1, 4, 6, 6), dtype))
    with builder.function("main", [given]):
        with builder.dataflow():
            last = builder.emit(make(builder, given))
            result = builder.emit_output(last)
        builder.emit_func_output(result)
    return whole_ranges(builder.get()).get(last)


def number(value: float) -> Any:
    return relax.const(np.float32(value))


def rounded(builder: relax.BlockBuilder, value: Any, least: float = -5, most: float = 250) -> Any:
    """As `network.quantization.quantized` spells it."""
    cut = builder.emit(relax.op.minimum(builder.emit(relax.op.maximum(value, number(least))), number(most)))
    return builder.emit(relax.op.subtract(builder.emit(relax.op.add(cut, number(ROUNDER))), number(ROUNDER)))


KNOWN: dict[str, tuple[Made, tuple[int, int]]] = {
    "rounded": (lambda _, x: x, (-5, 250)),
    "with its zero point": (lambda _, x: relax.op.add(x, number(5)), (0, 255)),
    "without another": (lambda _, x: relax.op.subtract(x, number(3)), (-8, 247)),
    "activated": (lambda _, x: relax.op.nn.relu(x), (0, 250)),
    "cut": (lambda _, x: relax.op.minimum(x, number(17)), (-5, 17)),
    "pooled": (lambda _, x: relax.op.nn.max_pool2d(x, (2, 2)), (-5, 250)),
    "turned": (lambda _, x: relax.op.permute_dims(x, [0, 2, 3, 1]), (-5, 250)),
    "reshaped": (lambda _, x: relax.op.reshape(x, (4, 36)), (-5, 250)),
    "bytes and back": (
        lambda b, x: relax.op.astype(b.emit(relax.op.astype(b.emit(relax.op.add(x, number(5))), "uint8")), "float32"),
        (0, 255),
    ),
    "beside others": (lambda b, x: relax.op.concat([x, b.emit(relax.op.subtract(x, number(4)))], axis=1), (-9, 250)),
    "beside constants": (
        lambda _, x: relax.op.concat([x, relax.const(np.full((1, 1, 6, 6), 300, np.float32))], axis=1),
        (-5, 300),
    ),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_bounds_of_whole_numbers_are_followed(kind: str) -> None:
    make, bounds = KNOWN[kind]
    assert held(lambda builder, x: make(builder, rounded(builder, x))) == bounds


UNKNOWN: dict[str, Made] = {
    "not rounded": lambda _, x: relax.op.minimum(x, number(3)),
    "half a rounding": lambda b, x: relax.op.add(
        b.emit(relax.op.minimum(b.emit(relax.op.maximum(x, number(0))), number(9))), number(ROUNDER)
    ),
    "without bounds": lambda b, x: relax.op.subtract(b.emit(relax.op.add(x, number(ROUNDER))), number(ROUNDER)),
    "moved by a half": lambda b, x: relax.op.add(rounded(b, x), number(0.5)),
    "scaled": lambda b, x: relax.op.multiply(rounded(b, x), number(2)),
    "moved by several": lambda b, x: relax.op.add(
        rounded(b, x), relax.const(np.arange(4, dtype=np.float32).reshape(1, 4, 1, 1))
    ),
    "fractions as bytes and back": lambda b, x: relax.op.subtract(
        b.emit(relax.op.astype(b.emit(relax.op.astype(b.emit(relax.op.minimum(x, number(2.7))), "int32")), "float32")),
        number(1),
    ),
    "beside what is none": lambda b, x: relax.op.concat([rounded(b, x), x], axis=1),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_nothing_else_is_taken_for_one(kind: str) -> None:
    assert held(UNKNOWN[kind]) is None


def test_an_infinite_bound_is_none() -> None:
    assert held(lambda b, x: relax.op.minimum(rounded(b, x), number(np.inf))) == (-5, 250)


def test_sums_of_bytes_begin_anew() -> None:
    """250 and 10 are 4."""
    made = held(lambda b, x: relax.op.astype(b.emit(relax.op.add(x, relax.const(np.uint8(10)))), "float32"), "uint8")
    assert made == (0, 255)


def test_what_a_fraction_is_as_a_byte_is_not_guessed() -> None:
    def bytes_of(b: relax.BlockBuilder, x: Any) -> Any:
        cut = b.emit(relax.op.maximum(b.emit(relax.op.minimum(x, number(9.5))), number(0.5)))
        return relax.op.astype(b.emit(relax.op.astype(cut, "uint8")), "float32")

    assert held(bytes_of) == (0, 255)


@pytest.mark.parametrize(("dtype", "bounds"), [("uint8", (0, 255)), ("int8", (-128, 127)), ("int32", None)])
def test_an_input_of_bytes_is_of_their_bounds(dtype: str, bounds: tuple[int, int] | None) -> None:
    assert held(lambda _, x: relax.op.astype(x, "float32"), dtype) == bounds
