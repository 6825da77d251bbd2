from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tcl_core.domain import TensorSpec
from tcl_core.errors import UserError
from tcl_core.libraries import LibraryReport, LibraryTask, OutputCheck, Timing
from tcl_core.library import bundle
from tcl_core.library.bundle import export_bundle, file_stem, is_bundle, make_manifest, require_replaceable
from tcl_core.library.cpp_example import COMPILE_COMMAND, cpp_source, readme


@pytest.fixture
def report(imported: Any) -> LibraryReport:
    return LibraryReport(
        path=None,
        tasks=tuple(used(task) for task in imported.tasks),
        rtol=1e-3,
        atol=1e-3,
        outputs=(
            OutputCheck(name="classes", elements=24, beyond=0, largest=0.5, max_abs_error=1e-6, max_rel_error=2e-6),
        ),
        tuned=Timing(median_ms=1.5, low_ms=1.0, high_ms=2.0, repeats=9),
    )


def used(task: Any) -> LibraryTask:
    known = LibraryTask(key=task.key, name=task.name, weight=task.weight, latency_s=1e-5)
    return known if "matmul" in task.name else dataclasses.replace(known, latency_s=None, fallback="no record that ran")


@pytest.fixture
def manifest(imported: Any, platform: Any, report: LibraryReport) -> dict[str, Any]:
    network = dataclasses.replace(imported.network, begin_at=("h",), end_at=("y", "z"))
    return make_manifest(network=network, platform=platform, report=report, bounds={"ids": 32}, ones=set())


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "linked.so"
    path.write_bytes(b"\x7fELF")
    return path


def test_the_manifest_says_what_the_library_is(manifest: dict[str, Any], imported: Any) -> None:
    assert manifest["library"] == "two_products.so"
    assert manifest["inputs"] == [{"name": "ids", "dtype": "int64", "shape": [6], "below": 32, "ones": False}]
    assert manifest["network"]["fixed"] == {}
    assert (manifest["network"]["begins_at"], manifest["network"]["ends_at"]) == (["h"], ["y", "z"])
    assert manifest["latency_ms"] == {"untuned": None, "tuned": 1.5, "onnxruntime": None}
    assert manifest["check"]["max_abs_error"] == 1e-6
    tuned = {task["name"]: task["latency_ms"] for task in manifest["tasks"] if task["tuned"]}
    assert list(tuned) == [task.name for task in imported.tasks if "matmul" in task.name]
    assert all(latency == pytest.approx(0.01) for latency in tuned.values())


def test_the_manifest_counts_faster_records_that_no_longer_apply(
    imported: Any, platform: Any, report: LibraryReport
) -> None:
    first, *others = report.tasks
    changed = dataclasses.replace(report, tasks=(dataclasses.replace(first, passed_over=2), *others))
    written = make_manifest(network=imported.network, platform=platform, report=changed, bounds={}, ones=set())
    found = [task["faster_records_that_no_longer_apply"] for task in written["tasks"]]
    assert found == [2] + [0] * len(others)


def test_an_infinite_error_is_null_in_json(
    imported: Any, platform: Any, report: LibraryReport, tmp_path: Path, library: Path
) -> None:
    (good,) = report.outputs
    bad = dataclasses.replace(good, beyond=24, max_abs_error=float("inf"), max_rel_error=float("inf"))
    wrong = dataclasses.replace(report, outputs=(bad,))
    manifest = make_manifest(network=imported.network, platform=platform, report=wrong, bounds={}, ones=set())
    written = json.loads((export_bundle(library, manifest, tmp_path / "out") / "manifest.json").read_text())
    assert written["check"] == {
        "reference": "onnxruntime",
        "rtol": 1e-3,
        "atol": 1e-3,
        "max_abs_error": None,
        "matches": False,
        "outputs": [
            {
                "name": "classes",
                "elements": 24,
                "beyond_tolerance": 24,
                "largest": 0.5,
                "max_abs_error": None,
                "max_rel_error": None,
            }
        ],
    }


def test_a_bundle_is_whole_and_can_be_replaced(manifest: dict[str, Any], library: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    for content in (b"old", b"new"):
        library.write_bytes(content)
        assert export_bundle(library, manifest, out) == out
    assert is_bundle(out)
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md",
        "manifest.json",
        "run.cpp",
        "run.py",
        "two_products.so",
    ]
    assert (out / "two_products.so").read_bytes() == b"new"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_bundle_s_name_may_be_as_long_as_that_of_a_file(
    manifest: dict[str, Any], library: Path, tmp_path: Path
) -> None:
    out = tmp_path / "exports" / ("n" * 255)
    for _ in ("new", "in place of an earlier one"):
        assert is_bundle(export_bundle(library, manifest, out))
    assert list(out.parent.iterdir()) == [out]


def test_what_a_person_put_beside_a_bundle_stays(manifest: dict[str, Any], library: Path, tmp_path: Path) -> None:
    out = export_bundle(library, {**manifest, "library": "former.so"}, tmp_path / "out")
    (out / "app.py").write_text("mine")
    (out / "data").mkdir()
    (out / "data" / "run.py").write_text("mine, too")
    (out / "link").symlink_to("nowhere")
    (out / "run.py").write_text("changed")
    export_bundle(library, manifest, out)
    assert (out / "app.py").read_text() == "mine"
    assert (out / "data" / "run.py").read_text() == "mine, too"
    assert (out / "link").is_symlink()
    assert (out / "run.py").read_text() != "changed"
    assert not (out / "former.so").exists()


def test_an_empty_folder_is_taken_and_any_other_is_not(manifest: dict[str, Any], library: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "letter.txt").write_text("keep me")
    with pytest.raises(UserError, match="holds other files"):
        export_bundle(library, manifest, out)
    (out / "letter.txt").unlink()
    assert is_bundle(export_bundle(library, manifest, out))
    with pytest.raises(UserError, match="is a file"):
        export_bundle(library, manifest, library)


def test_a_full_disk_leaves_the_old_bundle_and_nothing_else(
    manifest: dict[str, Any], library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = export_bundle(library, manifest, tmp_path / "folder" / "out")
    (out / "two_products.so").write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bundle.os, "fsync", full)
    with pytest.raises(UserError, match="disk is full") as caught:
        export_bundle(library, manifest, out)
    assert caught.value.stage == "library"
    assert (out / "two_products.so").read_bytes() == b"old"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_rename_that_fails_puts_the_old_bundle_back(
    manifest: dict[str, Any], library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = export_bundle(library, manifest, tmp_path / "folder" / "out")
    rename = Path.rename

    def fail_for_new(self: Path, target: Path) -> Path:
        if self.name.startswith(".bundle-") and target == out:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_new)
    with pytest.raises(UserError, match="cannot be written"):
        export_bundle(library, manifest, out)
    assert is_bundle(out)


@pytest.mark.parametrize("stuck", ["out", "both"])
def test_the_old_bundle_is_never_lost(
    manifest: dict[str, Any], library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stuck: str
) -> None:
    """It cannot be moved aside, or neither the new one nor the old one can be moved back."""
    out = export_bundle(library, manifest, tmp_path / "folder" / "out")
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if (stuck == "out") == (self == out):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(UserError, match="cannot be written"):
        export_bundle(library, manifest, out)
    left = list(out.parent.iterdir())
    if stuck == "out":
        assert left == [out] and is_bundle(out)
    else:
        assert [is_bundle(folder / "out") for folder in left] == [True]


@pytest.mark.parametrize("there", [True, False])
def test_a_bundle_goes_where_a_link_leads(manifest: dict[str, Any], library: Path, tmp_path: Path, there: bool) -> None:
    place, link = tmp_path / "disk" / "net", tmp_path / "exports" / "net"
    link.parent.mkdir()
    link.symlink_to(place, target_is_directory=True)
    if there:
        place.mkdir(parents=True)
    assert export_bundle(library, manifest, link) == link
    assert link.is_symlink() and is_bundle(place)
    assert [each.name for each in (*link.parent.iterdir(), *place.parent.iterdir())] == ["net", "net"]


def test_where_a_disk_is_mounted_no_bundle_is_promised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == tmp_path)
    with pytest.raises(UserError, match="is where a disk is mounted"):
        require_replaceable(tmp_path)
    require_replaceable(tmp_path / "inside")


def test_a_place_that_cannot_be_made_is_a_sentence(manifest: dict[str, Any], library: Path) -> None:
    with pytest.raises(
        UserError, match=f"{library} is no folder, so nothing can be written to .*inside; choose another"
    ):
        require_replaceable(library / "inside" / "out")
    with pytest.raises(UserError, match="is no folder, so nothing can be written"):
        export_bundle(library, manifest, library / "inside" / "out")


def test_what_is_only_asked_for_is_not_made(tmp_path: Path) -> None:
    require_replaceable(tmp_path / "to" / "be" / "made")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "stem"), [("resnet-18", "resnet-18"), ("my net (2)/x", "my_net_2_x"), ("..", "network")]
)
def test_names_become_file_names(name: str, stem: str) -> None:
    assert file_stem(name) == stem


def test_a_broken_manifest_is_no_bundle(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"format": "another"}'):
        (tmp_path / "manifest.json").write_text(text)
        assert not is_bundle(tmp_path)
    shutil.rmtree(tmp_path / "none", ignore_errors=True)
    assert not is_bundle(tmp_path / "none")


def test_a_gpus_bundle_links_its_runtime_and_says_what_it_needs(manifest: dict[str, Any]) -> None:
    own, gpu = readme(manifest), readme(manifest | {"device": "cuda"})
    assert f"{COMPILE_COMMAND}\n" in own and "TVM_NUM_THREADS" in own and "libcudart" not in own
    assert f"{COMPILE_COMMAND} -ltvm_runtime_cuda\n" in gpu and "libcudart.so.13" in gpu
    assert "@" not in own + gpu
    assert "DLDevice device{kDLCUDA, 0};" in cpp_source(manifest | {"device": "cuda"})


def test_the_cpp_example_divides_by_no_zero(imported: Any, platform: Any, report: LibraryReport) -> None:
    inputs = (*imported.network.inputs, TensorSpec(name="by", dtype="int32", shape=(2, 3)))
    network = dataclasses.replace(imported.network, inputs=inputs)
    source = cpp_source(make_manifest(network=network, platform=platform, report=report, bounds={}, ones={"by"}))
    assert "input0 = Filled({6}, {0, 0, 0, 0, 0, 0, 0, 0}, DLDataType{kDLInt, 64, 1}, device);  // ids\n" in source
    assert "input1 = Filled({2, 3}, {1, 0, 0, 0}, DLDataType{kDLInt, 32, 1}, device);  // by\n" in source


@pytest.mark.parametrize("name", ["by\\", "by\\ \\\t"])
def test_no_name_of_an_input_takes_the_next_line_of_the_cpp_example(manifest: dict[str, Any], name: str) -> None:
    (only,) = manifest["inputs"]
    lines = cpp_source(manifest | {"inputs": [only | {"name": name}, only]}).splitlines()
    first, second = (line for line in lines if "ffi::Tensor input" in line)
    assert first.rstrip()[-1] != "\\" and second.endswith("// ids")
