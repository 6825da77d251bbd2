"""A comparison on a device over the network: what runs there, what runs here, and what its failures are called."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from library_network import ROWS, TARGET, make_model

from tcl_core.config import LibraryConfig
from tcl_core.domain import Platform
from tcl_core.library.build import build_tuned
from tcl_core.library.child import CompareRequest, CompareResult, compare_in_child, save_inputs
from tcl_core.library.make import make_library
from tcl_core.linker import find_linker

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_linker() is None, reason="no C compiler")]

QUICK = LibraryConfig(timing_rounds=2, timing_s=0.01)


def compared(
    folder: Path, device: str, tuned: str, untuned: str | None = None, untuned_s: float = 20.0
) -> CompareResult:
    onnx.save(make_model(), str(folder / "net.onnx"))
    request = CompareRequest(
        model=str(folder / "net.onnx"),
        inputs=save_inputs(folder / "inputs.npz", {"ids": np.arange(ROWS, dtype=np.int64)}),
        names=("ids",),
        outputs=("classes",),
        tuned=tuned,
        untuned=untuned,
        kind="llvm",
        threads=1,
        config=QUICK,
        untuned_s=untuned_s,
        device=device,
    )
    return compare_in_child(request)


@pytest.fixture
def tuned(tmp_path: Path, imported: Any, records: Any) -> str:
    path = tmp_path / "tuned.so"
    linker = find_linker()
    build_tuned(imported.module, TARGET, records, imported.tasks).executable.export_library(str(path), fcompile=linker)
    return str(path)


def broken(folder: Path, deed: str) -> str:
    """A library that does something when it is loaded."""
    linker = find_linker()
    assert linker is not None
    source = (
        f"#include <signal.h>\n#include <unistd.h>\n__attribute__((constructor)) static void go(void) {{ {deed}; }}"
    )
    (folder / "bad.c").write_text(source)
    subprocess.run(
        [*linker.command, "-shared", "-fPIC", "-o", str(folder / "bad.so"), str(folder / "bad.c")], check=True
    )
    return str(folder / "bad.so")


def test_libraries_run_there_and_onnxruntime_says_here_what_is_right(
    tmp_path: Path, device: str, imported: Any, platform: Platform, records: Any
) -> None:
    report = make_library(
        loaded_model=make_model(),
        given=make_model(),
        imported=imported,
        platform=replace(platform, device=device),
        records=records,
        out=tmp_path / "bundle",
        config=QUICK,
    )
    assert report.failures == ()
    assert report.device == device
    assert [(check.name, check.matches) for check in report.outputs] == [("classes", True)]
    assert report.onnxruntime is None, "its times would be of this machine"
    assert report.tuned is not None and report.untuned is not None
    assert [one.rival for one in report.contests] == ["untuned"]
    assert (tmp_path / "bundle" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("for (;;) sleep(1)", "No answer within 2 s."),
        ("raise(SIGSEGV)", "It took its process on {device} down."),
    ],
)
def test_untuned_tvm_is_left_out_where_it_breaks(
    tmp_path: Path, device: str, tuned: str, deed: str, reason: str
) -> None:
    result = compared(tmp_path, device, tuned, broken(tmp_path, deed), untuned_s=2.0)
    assert [check.matches for check in result.checks] == [True]
    assert {name for name, _ in result.timings} == {"tuned"}
    assert [(failure.cause, failure.message) for failure in result.failures] == [
        ("untuned did not run", reason.format(device=device))
    ]


def test_a_tuned_library_that_breaks_there_is_data(tmp_path: Path, device: str) -> None:
    result = compared(tmp_path, device, broken(tmp_path, "raise(SIGSEGV)"))
    assert result.broken
    assert result.checks == ()


def test_a_device_that_is_gone_is_named(tmp_path: Path, tuned: str) -> None:
    result = compared(tmp_path, "127.0.0.1:1", tuned)
    assert result.checks == ()
    assert "Nobody listens at 127.0.0.1:1" in result.failures[0].message
