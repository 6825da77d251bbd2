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
from tcl_core.own_operators.byte_dots import BYTES, MOST_PRODUCTS, OF_DATA, data_bytes, sides_of, sum_of_byte_products

ROWS, WORDS, LANES = 6, 4, 16
WITH, WITHOUT = ({"kind": "llvm", "mcpu": mcpu} for mcpu in ("cascadelake", "x86-64-v4"))
NARROW = {"kind": "llvm", "mcpu": "alderlake"}
ARM, OLD_ARM = ({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": mcpu} for mcpu in ("cortex-a76", "cortex-a72"))
ARM_OF_32_BITS = {**ARM, "mtriple": "armv8l-linux-gnueabihf"}


def product(byte: str = "uint8") -> Any:
    words = te.placeholder((ROWS, WORDS), "int32", name="words")
    weights = te.placeholder((WORDS, LANES), "int32", name="weights")
    k = te.reduce_axis((0, WORDS), name="k")
    sums = te.compute(
        (ROWS, LANES), lambda i, j: sum_of_byte_products(byte, words[i, k], weights[k, j], [k]), name="sums"
    )
    return te.create_prim_func([words, weights, sums])


def tiled(byte: str = "uint8", vector: int = LANES) -> Schedule:
    """All rows of a vector's lanes side by side."""
    schedule = Schedule(product(byte))
    block = schedule.get_sblock("sums")
    row, lanes, k = schedule.get_loops(block)
    vectors, lanes = schedule.split(lanes, [None, vector])
    schedule.reorder(vectors, k, row, lanes)
    schedule.unroll(row)
    schedule.vectorize(lanes)
    *_, rows, lanes = schedule.get_loops(schedule.decompose_reduction(block, k))
    schedule.unroll(rows)
    schedule.vectorize(lanes)
    return schedule


def expected(words: Any, weights: Any, byte: str = "uint8") -> Any:
    """Of bytes as NumPy sees them."""
    data = words.view(byte).reshape(ROWS, WORDS * BYTES).astype(np.int64)
    factors = weights.view(np.int8).reshape(WORDS, LANES, BYTES).transpose(0, 2, 1).reshape(-1, LANES)
    return data @ factors.astype(np.int64)


def built(module: Any, target: Any) -> Any:
    with Target(target):
        return tvm.compile(module, Target(target))


def here() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(resolve_platform("cpu", 1, measure=False).target_json)
    return found


PLAIN = {byte: built(product(byte), {"kind": "llvm"}) for byte in OF_DATA}
VECTORS = {byte: built(tiled(byte).mod, {"kind": "llvm"}) for byte in OF_DATA}

EXTREMES = st.sampled_from([0, -1, 0x7F7F7F7F, -0x7F7F7F80, 0x00FF00FF, -0x80000000])
NUMBERS = st.one_of(EXTREMES, st.integers(-(2**31), 2**31 - 1))


@given(
    st.sampled_from(sorted(OF_DATA)),
    st.lists(NUMBERS, min_size=ROWS * WORDS, max_size=ROWS * WORDS),
    st.lists(NUMBERS, min_size=WORDS * LANES, max_size=WORDS * LANES),
)
def test_sums_are_those_of_bytes(byte: str, words: list[int], weights: list[int]) -> None:
    arrays = np.array(words, np.int32).reshape(ROWS, WORDS), np.array(weights, np.int32).reshape(WORDS, LANES)
    for build in (PLAIN[byte], VECTORS[byte]):
        result = tvm.runtime.tensor(np.zeros((ROWS, LANES), np.int32))
        build(*map(tvm.runtime.tensor, arrays), result)
        np.testing.assert_array_equal(result.numpy(), expected(*arrays, byte))


def test_a_target_with_the_instruction_gets_one_for_each_vector_and_no_addition() -> None:
    text = built(tiled().mod, WITH).mod.inspect_source("asm")
    assert text.count("vpdpbusd") in {ROWS, ROWS * WORDS}, "LLVM may write a loop out"
    assert "vpaddd" not in text


def test_an_arm_gets_its_own() -> None:
    text = built(tiled("int8", vector=4).mod, ARM).mod.inspect_source("asm")
    assert text.count("sdot\t") in {each * LANES // 4 for each in (1, ROWS, ROWS * WORDS)}
    assert not any(word in text for word in ("mla\t", "mul\t")), "nothing is computed byte by byte"


@pytest.mark.parametrize(
    ("byte", "target"),
    [("uint8", WITHOUT), ("int8", WITH), ("int8", OLD_ARM), ("uint8", ARM), ("int8", ARM_OF_32_BITS)],
)
def test_others_compute_byte_by_byte(byte: str, target: dict[str, Any]) -> None:
    text = built(tiled(byte, vector=4).mod, target).mod.inspect_source("asm")
    assert not any(word in text for word in ("vpdpbusd", "sdot\t"))


def test_a_vector_wider_than_the_targets_own_is_computed_byte_by_byte() -> None:
    """LLVM ends the process where it is asked for an instruction that a target does not have."""
    assert "vpdpbusd" in built(tiled(vector=8).mod, NARROW).mod.inspect_source("asm")
    assert "vpdpbusd" not in built(tiled(vector=16).mod, NARROW).mod.inspect_source("asm")


def test_targets_say_what_bytes_they_multiply() -> None:
    found = [data_bytes(Target(each)) for each in (WITH, WITHOUT, NARROW, ARM, OLD_ARM, ARM_OF_32_BITS)]
    assert found == ["uint8", None, "uint8", "int8", None, None]


@pytest.mark.skipif("data_bytes(Target(here())) != 'uint8'", reason="this processor has no such instruction")
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
