"""Sums of products of bytes: exact, whatever they are computed with, and by the instruction where there is one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import te
from tvm.s_tir import Schedule
from tvm.target import Target

from tcl_core.hardware.target import resolve_platform
from tcl_core.own_operators.byte_dots import BYTES, MOST_PRODUCTS, has_byte_dots, sides_of, sum_of_byte_products

ROWS, WORDS, LANES = 6, 4, 16
WITH, WITHOUT = ({"kind": "llvm", "mcpu": mcpu} for mcpu in ("cascadelake", "x86-64-v4"))


def product() -> Any:
    words = te.placeholder((ROWS, WORDS), "int32", name="words")
    weights = te.placeholder((WORDS, LANES), "int32", name="weights")
    k = te.reduce_axis((0, WORDS), name="k")
    sums = te.compute((ROWS, LANES), lambda i, j: sum_of_byte_products(words[i, k], weights[k, j], [k]), name="sums")
    return te.create_prim_func([words, weights, sums])


def tiled() -> Schedule:
    """All rows of a vector's lanes side by side."""
    schedule = Schedule(product())
    block = schedule.get_sblock("sums")
    row, lanes, k = schedule.get_loops(block)
    schedule.reorder(k, row, lanes)
    schedule.unroll(row)
    schedule.vectorize(lanes)
    *_, rows, lanes = schedule.get_loops(schedule.decompose_reduction(block, k))
    schedule.unroll(rows)
    schedule.vectorize(lanes)
    return schedule


def expected(words: Any, weights: Any) -> Any:
    """Of bytes as NumPy sees them."""
    data = words.view(np.uint8).reshape(ROWS, WORDS * BYTES).astype(np.int64)
    factors = weights.view(np.int8).reshape(WORDS, LANES, BYTES).transpose(0, 2, 1).reshape(-1, LANES)
    return data @ factors.astype(np.int64)


def built(module: Any, target: Any) -> Any:
    with Target(target):
        return tvm.compile(module, Target(target))


def here() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(resolve_platform("cpu", 1, measure=False).target_json)
    return found


PLAIN = built(product(), {"kind": "llvm"})
VECTORS = built(tiled().mod, {"kind": "llvm"})

EXTREMES = st.sampled_from([0, -1, 0x7F7F7F7F, -0x7F7F7F80, 0x00FF00FF, -0x80000000])
NUMBERS = st.one_of(EXTREMES, st.integers(-(2**31), 2**31 - 1))


@given(
    st.lists(NUMBERS, min_size=ROWS * WORDS, max_size=ROWS * WORDS),
    st.lists(NUMBERS, min_size=WORDS * LANES, max_size=WORDS * LANES),
)
def test_sums_are_those_of_bytes(words: list[int], weights: list[int]) -> None:
    arrays = np.array(words, np.int32).reshape(ROWS, WORDS), np.array(weights, np.int32).reshape(WORDS, LANES)
    for build in (PLAIN, VECTORS):
        result = tvm.runtime.tensor(np.zeros((ROWS, LANES), np.int32))
        build(*map(tvm.runtime.tensor, arrays), result)
        np.testing.assert_array_equal(result.numpy(), expected(*arrays))


def test_a_target_with_the_instruction_gets_one_for_each_vector_and_no_addition() -> None:
    text = built(tiled().mod, WITH).mod.inspect_source("asm")
    assert text.count("vpdpbusd") in {ROWS, ROWS * WORDS}, "LLVM may write a loop out"
    assert "vpaddd" not in text


def test_others_compute_byte_by_byte() -> None:
    assert "vpdpbusd" not in built(tiled().mod, WITHOUT).mod.inspect_source("asm")
    assert [has_byte_dots(Target(each)) for each in (WITH, WITHOUT)] == [True, False]


@pytest.mark.skipif("not has_byte_dots(Target(here()))", reason="this processor has no such instruction")
def test_the_instruction_gives_the_same_sums() -> None:
    generator = np.random.default_rng(0)
    arrays = [generator.integers(-(2**31), 2**31, size, np.int32) for size in ((ROWS, WORDS), (WORDS, LANES))]
    result = tvm.runtime.tensor(np.zeros((ROWS, LANES), np.int32))
    built(tiled().mod, here())(*map(tvm.runtime.tensor, arrays), result)
    np.testing.assert_array_equal(result.numpy(), expected(*arrays))


def test_as_many_products_as_are_told_fit_a_sum() -> None:
    assert MOST_PRODUCTS * 255 * 128 < 2**31 <= (MOST_PRODUCTS + 1) * 255 * 128


def test_a_schedule_shows_both_sides_of_such_a_sum_alone() -> None:
    schedule = Schedule(product())
    total, words, weights = sides_of(schedule.get(schedule.get_sblock("sums")).body.value) or (None, None, None)
    assert [each.source.name for each in (total, words, weights)] == ["sums", "words", "weights"]
    assert sides_of(total) is None
