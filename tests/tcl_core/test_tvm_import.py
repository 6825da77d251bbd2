"""The tensor intrinsics' import: quick, and without a trace."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from tcl_core import tvm_import

_FRESH = """
import inspect, sys
original = inspect.getmodule
from tcl_core.tvm_import import import_tensor_intrinsics
calls = 0
def counting(*arguments):
    global calls
    calls += 1
    return original(*arguments)
inspect.getmodule = counting
import tvm
calls = 0
import_tensor_intrinsics()
assert inspect.getmodule is counting
from tvm.s_tir import TensorIntrin
assert TensorIntrin.get("dot_16x4_vnni") is not None
assert TensorIntrin.get("wmma_sync_16x16x16_f16f16f32") is not None
print(calls)
"""


@pytest.mark.slow
def test_a_fresh_process_registers_the_intrinsics_and_asks_little() -> None:
    done = subprocess.run([sys.executable, "-c", _FRESH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Unaided, each of 248 parses asks about every frame of its stack, twice: tens of thousands of questions.
    assert int(done.stdout) < 1000


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
