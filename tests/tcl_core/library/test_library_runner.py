"""What stands in every bundle: inputs by name from files, outputs by name into one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tcl_core.library import runner
from tcl_core.library.runner import leave_pool_its_cores, read_inputs, save, split


def spec(name: str, *shape: int, dtype: str = "float32", ones: bool = False) -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "shape": list(shape), "below": 2, "ones": ones}


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_an_input_has_the_shape_and_type_that_are_wanted(tmp_path: Path, shape: tuple[int, ...]) -> None:
    given = np.full(shape, 2.0, np.float64)
    np.save(tmp_path / "x.npy", np.array(given, order="F"))
    (array,) = read_inputs([spec("x", *shape)], [f"x={tmp_path / 'x.npy'}"])
    assert (array.shape, array.dtype, array.flags.c_contiguous) == (shape, np.float32, True)
    np.testing.assert_array_equal(array, given)


def test_what_is_not_given_is_drawn() -> None:
    ids, mask, scalar = read_inputs([spec("ids", 9, dtype="int64"), spec("mask", 4, dtype="bool"), spec("s")], [])
    assert set(ids.tolist()) <= {0, 1}
    assert (mask.dtype, scalar.shape) == (bool, ())


@pytest.mark.parametrize("dtype", ["int32", "bool", "float32"])
def test_what_is_divided_by_or_counted_is_ones(dtype: str) -> None:
    (by,) = read_inputs([spec("by", 3, 4, dtype=dtype, ones=True)], [])
    assert (by.dtype, by.shape, by.all(), by.max()) == (dtype, (3, 4), True, 1)


def test_names_may_hold_what_parts_them_from_files() -> None:
    assert split("a=b=c.npy", ["a", "a=b"]) == ("a=b", "c.npy")
    assert split("a=x=c.npy", ["a", "a=b"]) == ("a", "x=c.npy")


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("x", "'x' is not NAME=FILE.npy"),
        ("odd=x.npy", "the inputs are x"),
        ("x=none.npy", "'none.npy' cannot be read"),
        ("x=text.npy", "cannot be read as an array"),
        ("x=several.npz", "holds several arrays"),
        ("x=other.npy", "has shape [3], but [2] is wanted"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, item: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.npy").write_text("no array")
    np.savez("several.npz", x=np.zeros(2), y=np.zeros(2))
    np.save("other.npy", np.zeros(3))
    with pytest.raises(SystemExit) as caught:
        read_inputs([spec("x", 2)], [item])
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([1.5], "int64"),
        ([float("nan")], "int32"),
        ([-1], "uint8"),
        ([2**40], "int32"),
        ([2], "bool"),
        (["a"], "int64"),
        (["a"], "float32"),
        ([1j], "float32"),
    ],
)
def test_values_that_an_input_cannot_hold_are_refused(tmp_path: Path, given: list[Any], wanted: str) -> None:
    np.save(tmp_path / "x.npy", np.array(given))
    with pytest.raises(SystemExit) as caught:
        read_inputs([spec("x", 1, dtype=wanted)], [f"x={tmp_path / 'x.npy'}"])
    assert f"Input x is of type {wanted}, which cannot hold the given values of" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [([3.0], "int64"), ([1], "bool"), ([True], "float32"), ([0.1], "float32"), ([1e300], "float32"), ([7], "uint8")],
)
def test_values_that_an_input_can_hold_are_converted(tmp_path: Path, given: list[Any], wanted: str) -> None:
    np.save(tmp_path / "x.npy", np.array(given))
    (array,) = read_inputs([spec("x", 1, dtype=wanted)], [f"x={tmp_path / 'x.npy'}"])
    assert array.dtype == wanted
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(array, np.array(given, wanted))


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        save(str(tmp_path / "none" / "o.npz"), [spec("x")], [np.zeros(1)])
    assert "o.npz' cannot be written (No such file or directory)" in str(caught.value)


def test_outputs_of_any_name_are_saved(tmp_path: Path) -> None:
    outputs = [np.arange(3.0), np.array(2, np.int64)]
    save(str(tmp_path / "o.npz"), [spec("file"), spec("a/b:0")], outputs)
    with np.load(tmp_path / "o.npz") as saved:
        np.testing.assert_array_equal(saved["file"], outputs[0])
        assert saved["a/b:0"] == 2


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux binds threads to cores")
@pytest.mark.parametrize(
    ("bound", "left"),
    [
        ({11: {0}, 12: {0, 1, 2}}, {1, 2}),
        ({11: {0}, 12: None, 13: {2}}, {1}),  # one ends between being listed and being asked
        ({11: {0}, 12: {1}, 13: {2}}, {0, 1, 2}),
    ],
)
def test_the_cores_of_the_pool_are_left_to_it(
    bound: dict[int, set[int] | None], left: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(path: Path) -> Iterator[Path]:
        return (path / str(thread) for thread in bound)

    def asked(thread: int) -> set[int]:
        cores = bound[thread] if thread else {0, 1, 2}
        if cores is None:
            raise ProcessLookupError
        return cores

    taken: list[set[int]] = []
    monkeypatch.setattr(Path, "iterdir", listed)
    monkeypatch.setattr(os, "sched_getaffinity", asked)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _thread, cores: taken.append(cores))
    leave_pool_its_cores()
    assert taken == [left]


def test_a_library_is_run_with_its_threads_waited_for_and_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    did: list[str] = []

    def load(path: str) -> str:
        did.append(f"load {Path(path).name} with {os.environ['TVM_NUM_THREADS']}")
        return path

    def call(*given: int) -> list[Any]:
        did.append(f"run {given}")
        return [SimpleNamespace(numpy=lambda: np.zeros((2, 3), np.float32))]

    device = SimpleNamespace(sync=lambda: did.append("wait"))
    tensors = SimpleNamespace(load_module=load, tensor=lambda array, device: int(array.max()))
    relax = SimpleNamespace(VirtualMachine=lambda module, device: {"main": call})
    monkeypatch.setitem(sys.modules, "tvm", SimpleNamespace(cpu=lambda: device, runtime=tensors, relax=relax))
    monkeypatch.delenv("TVM_NUM_THREADS", raising=False)
    monkeypatch.setattr(runner, "leave_pool_its_cores", lambda: did.append("leave"))
    monkeypatch.setattr(runner, "HERE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["run.py", "--repeat", "2", "--save", str(tmp_path / "o.npz")])
    told = {"library": "net.so", "device": "cpu", "function": "main", "platform": {"threads": 3}}
    (tmp_path / "manifest.json").write_text(
        json.dumps(told | {"inputs": [spec("x", 2, ones=True)], "outputs": [spec("y")]})
    )
    runner.main()
    assert did == ["load net.so with 3", "run (1,)", "leave", *["run (1,)", "wait"] * 2]
    first, second = capsys.readouterr().out.splitlines()
    assert first == "y: float32 [2, 3]" and second.endswith(" ms (median of 2)")
    with np.load(tmp_path / "o.npz") as saved:
        assert saved["y"].shape == (2, 3)
