"""The tensor intrinsics' import: quick, and without a trace."""

from __future__ import annotations

import inspect
import platform
import subprocess
import sys

import pytest

from tcl_core import tvm_import

_ON_ARM = platform.machine() in {"aarch64", "arm64"}
_INTRINSICS = {False: ("dot_16x4_vnni", "dot_4x4_i8i8s32_neon"), True: ("dot_4x4_i8i8s32_neon", "dot_16x4_vnni")}
_OTHER_TRIPLE = {False: "aarch64-linux-gnu", True: "x86_64-linux-gnu"}

_FRESH = (
    """
import inspect, sys
original = inspect.getmodule
from tcl_core.tvm_import import import_intrinsics_of, import_tensor_intrinsics
calls = 0
def counting(*arguments):
    global calls
    calls += 1
    return original(*arguments)
inspect.getmodule = counting
import tvm
from tvm.s_tir import TensorIntrin
calls = 0
import_tensor_intrinsics("llvm")
assert inspect.getmodule is counting
own, other = INTRINSICS
assert TensorIntrin.get(own) is not None
assert TensorIntrin.get(other, allow_missing=True) is None
assert TensorIntrin.get(CUDA, allow_missing=True) is None
import_tensor_intrinsics("cuda")
assert TensorIntrin.get(CUDA) is not None
import_intrinsics_of(tvm.target.Target({"kind": "llvm", "mtriple": TRIPLE}))
assert TensorIntrin.get(other) is not None
print(calls)
""".replace("CUDA", '"wmma_sync_16x16x16_f16f16f32"')
    .replace("INTRINSICS", repr(_INTRINSICS[_ON_ARM]))
    .replace("TRIPLE", repr(_OTHER_TRIPLE[_ON_ARM]))
)


@pytest.mark.slow
def test_a_fresh_process_registers_the_intrinsics_of_one_kind_and_asks_little() -> None:
    done = subprocess.run([sys.executable, "-c", _FRESH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Unaided, each of 200 parses asks about every frame of its stack, twice: tens of thousands of questions.
    assert int(done.stdout) < 1000


_CONTEXTS = """
import tvm, sys
from tcl_core.tvm_import import import_tensor_intrinsics
from tvm import te
from tvm.s_tir import meta_schedule
a = te.placeholder((64, 64), name="a")
module = tvm.IRModule({"main": te.create_prim_func([a, te.compute((64, 64), lambda i, j: a[i, j] + 1)])})
for target in (tvm.target.Target({"kind": "llvm", "num-cores": 2}), tvm.target.Target("nvidia/nvidia-a100")):
    import_tensor_intrinsics(str(target.kind.name))
    meta_schedule.TuneContext(mod=module, target=target, space_generator="post-order-apply", num_threads=1)
    import tvm.s_tir.tensor_intrin
    assert "tvm.s_tir.tensor_intrin.hexagon" not in sys.modules
"""


@pytest.mark.slow
def test_tvm_finds_its_package_imported_and_reads_no_more_of_it() -> None:
    done = subprocess.run([sys.executable, "-c", _CONTEXTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_answers_are_those_of_inspect() -> None:
    frame = inspect.currentframe()
    subjects = [frame, frame, inspect.stack()[0].frame, pytest.fixture, inspect, tvm_import.import_tensor_intrinsics]
    expected = [inspect.getmodule(subject) for subject in subjects]
    with tvm_import._remembered_modules():
        assert [inspect.getmodule(subject) for subject in subjects] == expected


def test_inspect_is_restored_after_a_failure() -> None:
    original = inspect.getmodule
    with pytest.raises(ImportError), tvm_import._remembered_modules():
        assert inspect.getmodule is not original
        raise ImportError
    assert inspect.getmodule is original
