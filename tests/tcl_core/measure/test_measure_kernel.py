"""Compiling down to machine code, and the clock."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import machine_code
import numpy as np
import pytest

from tcl_core.measure.arguments import Arguments
from tcl_core.measure.kernel import Compiler, KernelTimer


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return Compiler('{"kind": "llvm", "num-cores": 2}', "llvm")


def executable_bytes() -> int:
    """Bytes of this process's memory that are executable and come from no file: where a JIT puts its code."""
    total = 0
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if "x" in fields[1] and len(fields) == 5:
            start, end = (int(bound, 16) for bound in fields[0].split("-"))
            total += end - start
    return total


def test_machine_code_exists_before_the_first_call(compiler: Compiler, modules: dict[str, str]) -> None:
    before = executable_bytes()
    kernel = compiler.compile(modules["matmul"])
    compiled = executable_bytes()
    assert compiled > before
    kernel.timer(Arguments(compiler.device, seed=0)).first()
    assert executable_bytes() == compiled


def test_a_kernel_computes_what_its_module_says(compiler: Compiler, modules: dict[str, str]) -> None:
    arguments = Arguments(compiler.device, seed=0)
    kernel = compiler.compile(modules["matmul"])
    assert kernel.signature == (("float32", (64, 64)),) * 3
    timer = kernel.timer(arguments)
    assert timer.first() > 0
    assert timer.run(10) > 0
    a, b, c = (tensor.numpy() for tensor in arguments.of(kernel.signature))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_long_runs_are_timed_without_another_warm_up(compiler: Compiler, modules: dict[str, str]) -> None:
    timer = compiler.compile(modules["slow"]).timer(Arguments(compiler.device, seed=0))
    timer.first()  # 4,000,000 dependent multiplications: above the limit on any machine
    timer._runtime_module = None  # TVM's evaluator is out of reach
    assert timer.run(2) > 0


def test_the_same_code_as_the_default_build_without_its_checks(compiler: Compiler, modules: dict[str, str]) -> None:
    import tvm
    from tvm.s_tir.meta_schedule.builder.local_builder import default_build

    from tcl_core.tvm_import import import_tensor_intrinsics

    import_tensor_intrinsics("llvm")
    target = tvm.target.Target({"kind": "llvm", "num-cores": 2})
    checked = default_build(tvm.ir.load_json(modules["matmul"]), target, None)
    with tvm.transform.PassContext(config={"tirx.disable_assert": True}):
        theirs = default_build(tvm.ir.load_json(modules["matmul"]), target, None)
    ours = compiler.compile(modules["matmul"])._runtime_module
    kept = machine_code.functions(theirs)
    assert machine_code.functions(ours) == {
        name: code for name, code in kept.items() if name not in machine_code.CONVERSIONS
    }
    assert len(ours.inspect_source("ll")) < len(checked.inspect_source("ll"))


@pytest.mark.parametrize(("busy_s", "numbers"), [(0.0, [1, 1, 7]), (0.0005, [1, 63, 63])])
def test_a_gpu_is_kept_busy_while_it_is_timed(busy_s: float, numbers: list[int]) -> None:
    """A run on its own waits for its launch: the first reading says how many runs are enough to hide that."""
    asked: list[int] = []

    def time_evaluator(entry: str, device: object, *, number: int, repeat: int) -> object:
        asked.append(number)
        return lambda *_tensors: SimpleNamespace(results=[8e-6])

    timer = KernelTimer(SimpleNamespace(time_evaluator=time_evaluator), None, [], None, busy_s)
    assert [timer.run(number) for number in (1, 1, 7)] == [8e-6] * 3
    assert asked == numbers
