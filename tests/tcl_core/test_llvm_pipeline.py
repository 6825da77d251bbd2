"""Kernels that read through a remainder: right for every processor, and no others changed."""

from __future__ import annotations

import json
from typing import Any

import machine_code
import numpy as np
import pytest
import tvm
from tvm import te, topi

from tcl_core.llvm_pipeline import LLVM_PIPELINE, pipeline_to_time
from tcl_core.measure.arguments import Arguments
from tcl_core.measure.kernel import Compiler

HERE = str(tvm.target.codegen.llvm_get_system_cpu())
CPUS = {"any": {}, "this": {"mcpu": HERE}}
TILES = [((1, 16, 8, 4), (1, 1, 2, 2)), ((1, 17, 8, 4), (1, 1, 2, 2)), ((1, 17, 4, 4), (1, 1, 4, 2))]
"""Wrong for Zen 4 and 5, the last one for every processor with vectors of 512 bits."""
FENCE = "call float @llvm.arithmetic.fence"


def tile(shape: tuple[int, ...], repeats: tuple[int, ...]) -> Any:
    data = te.placeholder(shape, name="data")
    return tvm.IRModule({"main": te.create_prim_func([data, topi.tile(data, repeats)])})


def code(module: Any, **target: str) -> str:
    built = tvm.compile(module, tvm.target.Target({"kind": "llvm", **target}), tir_pipeline=LLVM_PIPELINE)
    return str(built.mod.inspect_source("ll"))


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("shape", "repeats"), TILES)
def test_what_is_repeated_is_read_again_from_its_beginning(
    cpu: str, shape: tuple[int, ...], repeats: tuple[int, ...]
) -> None:
    compiler = Compiler(json.dumps({"kind": "llvm", "num-cores": 1, **CPUS[cpu]}), "llvm")
    kernel = compiler.compile(tvm.ir.save_json(tile(shape, repeats)))
    arguments = Arguments(compiler.device, seed=0)
    kernel.timer(arguments).first()
    data, result = (each.numpy() for each in arguments.of(kernel.signature))
    np.testing.assert_array_equal(result, np.tile(data, repeats))


@pytest.mark.parametrize("mcpu", ["znver3", "znver5", "sapphirerapids"])
def test_the_mask_of_a_remainder_is_hidden_once_for_all_its_rounds(mcpu: str) -> None:
    """In front of the loops."""
    text = code(tile(*TILES[2]), mcpu=mcpu)
    kernel = text[text.index("define internal fastcc void @main_compute_") :]
    assert FENCE in kernel[: kernel.index("\nfor_")]


@pytest.mark.parametrize("divisor", [3, 12])
def test_other_remainders_stay(divisor: int) -> None:
    assert FENCE not in code(tile((5, divisor), (2, 2)))


def test_a_remainder_that_no_index_has_stays() -> None:
    """A cast to 32 bits is one of 2 ** 32."""
    data = te.placeholder((24,), "int64", name="data")
    wrapped = te.compute((24,), lambda i: tvm.tirx.floormod(data[i], tvm.tirx.const(1 << 32, "int64")), name="wrapped")
    assert FENCE not in code(tvm.IRModule({"main": te.create_prim_func([data, wrapped])}))


def test_a_loop_over_vectors_stays() -> None:
    from tvm.s_tir import Schedule

    data = te.placeholder((8, 16), name="data")
    repeated = te.compute((32, 16), lambda row, lane: data[row % 8, lane], name="repeated")
    schedule = Schedule(te.create_prim_func([data, repeated]))
    assert FENCE in code(schedule.mod)
    schedule.vectorize(schedule.get_loops("repeated")[-1])
    assert FENCE not in code(schedule.mod)


def test_a_remainder_beside_what_is_divided_stays() -> None:
    """As a reshape has them: what is read so counts up in no straight line."""
    data = te.placeholder((4, 8, 16), name="data")
    folded = te.compute((16, 32), lambda row, lane: data[lane // 8, lane % 8, row], name="folded")
    assert FENCE not in code(te.create_prim_func([data, folded]))
    apart = te.compute((16, 32), lambda row, lane: data[row // 4, lane % 8, row], name="apart")
    assert FENCE in code(te.create_prim_func([data, apart]))


def doubled(dtype: str) -> Any:
    data = te.placeholder((3, 64), dtype, name="data")
    result = te.compute((3, 64), lambda row, lane: data[row, lane] * tvm.tirx.const(2, dtype), name="result")
    return tvm.IRModule({"main": te.create_prim_func([data, result])})


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_a_kernel_to_time_is_the_same_without_the_conversions_of_half_floats(dtype: str) -> None:
    module = doubled(dtype)
    pipeline = pipeline_to_time(tvm.ir.save_json(module))
    target = tvm.target.Target({"kind": "llvm", "mcpu": HERE})
    kept, quick = (
        machine_code.functions(tvm.compile(module, target, tir_pipeline=each).mod) for each in (LLVM_PIPELINE, pipeline)
    )
    assert kept.keys() - quick.keys() == machine_code.CONVERSIONS
    assert quick.items() <= kept.items()


@pytest.mark.parametrize("cpu", ["x86-64", HERE])
def test_one_that_computes_in_half_floats_has_the_conversions(cpu: str) -> None:
    """The plainest processor calls them."""
    compiler = Compiler(json.dumps({"kind": "llvm", "num-cores": 1, "mcpu": cpu}), "llvm")
    kernel = compiler.compile(tvm.ir.save_json(doubled("float16")))
    arguments = Arguments(compiler.device, seed=0)
    kernel.timer(arguments).first()
    data, result = (each.numpy() for each in arguments.of(kernel.signature))
    np.testing.assert_array_equal(result, data * np.float16(2))
