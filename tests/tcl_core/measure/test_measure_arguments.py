"""Contents and reuse of a kernel's arguments."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tcl_core.measure.arguments import Arguments, random_contents


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_floats_are_ordinary_numbers(dtype: str) -> None:
    contents = random_contents(dtype, (300, 300), np.random.default_rng(0)).astype(np.float64)
    assert contents.shape == (300, 300)
    assert contents.min() >= 0.09
    assert contents.max() <= 1.0
    assert len(np.unique(contents)) > 10


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "bool"])
def test_integers_stay_in_bounds_of_any_gather(dtype: str) -> None:
    contents = random_contents(dtype, (1000,), np.random.default_rng(0))
    assert contents.dtype == np.dtype(dtype)
    assert set(np.unique(contents).tolist()) == {0, 1}


def test_shapes_without_axes_and_without_elements() -> None:
    assert random_contents("float32", (), np.random.default_rng(0)).shape == ()
    assert random_contents("float32", (3, 0), np.random.default_rng(0)).shape == (3, 0)


def test_a_signature_keeps_its_tensors_and_few_are_kept() -> None:
    import tvm

    arguments = Arguments(tvm.cpu(0), seed=1)
    first, second, third = ((("float32", (n,)), ("int64", ())) for n in (4, 5, 6))
    kept = arguments.of(first)
    arguments.of(second)
    assert arguments.of(first) is kept
    arguments.of(third)
    assert arguments.of(first) is kept
    assert len(arguments._tensors) == 2


def test_the_seed_decides() -> None:
    import tvm

    signature = (("float32", (100,)), ("bfloat16", (10,)))
    one, same, other = (Arguments(tvm.cpu(0), seed=seed).of(signature)[0].numpy() for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_a_large_argument_is_filled_to_its_end(dtype: str) -> None:
    import tvm

    shape = (2, (1 << 20) + 12_345)
    (tensor,) = Arguments(tvm.cpu(0), seed=1).of(((dtype, shape),))
    whole = random_contents(dtype, shape, np.random.default_rng(1))
    assert np.array_equal(tensor.numpy().view(np.uint8), whole.view(np.uint8))


_SCARCE = """
import tvm
from tcl_core.measure.arguments import Arguments
from tcl_core.measure.worker import limit_memory
arguments = Arguments(tvm.cpu(0), seed=1)
arguments.of((("float32", (1,)),))
limit_memory(300 << 20)
for megabytes in (160, 200, 180):
    arguments.of((("float32", (megabytes, 1 << 18)),))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
def test_large_arguments_take_the_place_of_those_before_them() -> None:
    ended = subprocess.run([sys.executable, "-c", _SCARCE], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
