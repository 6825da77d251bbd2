"""A comparison on a device over the network: what runs there, what runs here, and what its failures are called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from comparisons import QUICK, compile_c, make_request
from library_network import TARGET, make_model

from tcl_core.domain import Platform
from tcl_core.library.build import build_tuned
from tcl_core.library.child import compare_in_child
from tcl_core.library.make import make_library
from tcl_core.linker import find_linker

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_linker() is None, reason="no C compiler")]


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
    return compile_c(linker, folder, source)


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
    tmp_path: Path, device: str, imported: Any, tuned: str, deed: str, reason: str
) -> None:
    result = compare_in_child(
        make_request(tmp_path, imported, tuned=tuned, untuned=broken(tmp_path, deed), untuned_s=2.0, device=device)
    )
    assert [check.matches for check in result.checks] == [True]
    assert {name for name, _ in result.timings} == {"tuned"}
    assert [(failure.cause, failure.message) for failure in result.failures] == [
        ("untuned did not run", reason.format(device=device))
    ]


def test_a_tuned_library_that_breaks_there_is_data(tmp_path: Path, device: str, imported: Any) -> None:
    result = compare_in_child(make_request(tmp_path, imported, tuned=broken(tmp_path, "raise(SIGSEGV)"), device=device))
    assert result.broken
    assert result.checks == ()


def test_a_device_that_is_gone_is_named(tmp_path: Path, imported: Any, tuned: str) -> None:
    result = compare_in_child(make_request(tmp_path, imported, tuned=tuned, device="127.0.0.1:1"))
    assert result.checks == ()
    assert "Nobody listens at 127.0.0.1:1" in result.failures[0].message
