"""The doctor on this machine, and on machines that lack something."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import sys
from pathlib import Path

import pytest
from hardware_samples import H200
from packaging.requirements import Requirement

from tcl_core.hardware import detect, doctor


@pytest.fixture(scope="module")
def checks(tmp_path_factory) -> dict[str, doctor.Check]:
    found = doctor.examine(tmp_path_factory.mktemp("disk") / "workspace", {"QT_QPA_PLATFORM": "offscreen"})
    assert len({check.name for check in found}) == len(found)
    return {check.name: check for check in found}


def test_everything_the_main_job_needs_is_here(checks):
    assert not [check for check in checks.values() if check.required and not check.ok]
    assert {"Python", "apache-tvm", "torch", "TVM", "LLVM", "CPU target", "CPU", "Memory", "Disk"} <= checks.keys()
    assert {name for name, check in checks.items() if not check.required} == {
        "CUDA",
        "Qt libraries",
        "Display",
        "C compiler",
        "mamba-ssm",
    }


def test_what_is_wrong_comes_with_its_mend(checks):
    assert all(check.detail for check in checks.values())
    assert all(bool(check.mend) is not check.ok for check in checks.values())


def test_every_pin_of_the_project_is_checked(checks):
    named = {requirement.name for requirement in doctor.requirements()}

    assert named <= checks.keys()
    assert {"apache-tvm-ffi", "PySide6-Essentials", "onnxruntime"} <= named


def test_an_installed_package_knows_its_pins_from_its_metadata(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "_PROJECT_FILE", tmp_path / "pyproject.toml")
    monkeypatch.setattr(
        importlib.metadata,
        "requires",
        lambda name: ["torch==2.13.0", 'pytest; extra == "dev"', 'x; python_version < "3"'],
    )

    assert [str(requirement) for requirement in doctor.requirements()] == ["torch==2.13.0"]


@pytest.mark.parametrize(
    ("requirement", "ok"), [("pytest>=1", True), ("pytest<1", False), ("no-such-package==1", False)]
)
def test_a_package_is_there_in_the_right_version_or_not(requirement, ok):
    check = doctor._package(Requirement(requirement))

    assert (check.ok, requirement in check.mend) == (ok, not ok)


def test_a_tvm_that_does_not_load_is_a_finding(monkeypatch):
    monkeypatch.setitem(sys.modules, "tvm", None)

    (check,) = doctor._tvm()

    assert (check.name, check.ok, check.required) == ("TVM", False, True)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "cuda_device", lambda: H200)


@pytest.mark.usefixtures("gpu")
def test_a_gpu_needs_a_compiler(monkeypatch):
    def refuse(code: str, arch: str) -> bytes:
        raise RuntimeError("NVRTC's bindings are not installed\nand more")

    monkeypatch.setattr(doctor, "compile_for", refuse)
    check = doctor._cuda()

    assert (check.ok, check.required) == (False, False)
    assert check.detail == "NVIDIA H200, sm_90, and nothing compiles for it: NVRTC's bindings are not installed"
    assert 'pip install "cuda-bindings' in check.mend


@pytest.mark.usefixtures("gpu")
def test_a_gpu_with_a_compiler_is_well(monkeypatch):
    asked = []
    monkeypatch.setattr(doctor, "compile_for", lambda code, arch: asked.append(arch) or b"cubin")

    assert (doctor._cuda().ok, doctor._cuda().mend, asked) == (True, "", ["sm_90", "sm_90"])


@pytest.mark.parametrize(("loads", "told"), [(True, "no device"), (False, "runtime for it does not load")])
def test_why_there_is_no_gpu_is_told(monkeypatch, loads, told):
    monkeypatch.setattr(detect, "cuda_device", lambda: None)
    monkeypatch.setattr(detect, "cuda_runtime_loads", lambda: loads)

    assert told in doctor._cuda().detail and not doctor._cuda().required


def test_instructions_hidden_by_a_virtual_machine_are_told(monkeypatch):
    monkeypatch.setattr(detect, "llvm_host_cpu", lambda: "znver5")
    monkeypatch.setattr("tcl_core.hardware.llvm_cpu.host_cpu", lambda machine: "x86-64-v3")

    assert doctor._cpu_target().detail == "cpu = x86-64-v3 (znver5 by name, but some of its instructions are hidden)"


def test_no_compiler_is_no_obstacle_but_told(tmp_path, monkeypatch):
    """Nor is a wheel a compiler whose program is gone: what is told is what links."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.16.0")

    check = doctor._compiler()

    assert (check.ok, check.required) == (False, False)
    assert "gcc" in check.mend


def test_without_a_display_the_way_around_is_told():
    by_name = {check.name: check for check in doctor._window({})}

    if sys.platform == "linux":
        assert (by_name["Display"].ok, by_name["Display"].detail) == (False, "none")
        assert "main.py tune" in by_name["Display"].mend


def test_a_full_disk_is_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "_LEAST_DISK_BYTES", 1 << 70)

    check = doctor._disk(tmp_path / "not" / "there")

    assert (check.ok, str(tmp_path) in check.detail) == (False, True)


def test_the_disk_behind_a_closed_folder_is_a_finding(tmp_path, monkeypatch):
    """As of another person's home, which `sudo -u` may leave in the environment."""
    stat = os.stat

    def closed(path, *arguments, **more):
        if Path(path).parent == tmp_path / "closed":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, *arguments, **more)

    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "stat", closed)

    assert doctor._disk(tmp_path / "closed" / "workspace").detail.endswith(f"free in {tmp_path / 'closed'}")


def test_the_disk_is_that_of_workspaces_wherever_it_is_asked_from(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(doctor, "_tvm", lambda: ())

    (check,) = (check for check in doctor.examine() if check.name == "Disk")

    assert check.detail.endswith(f"free in {tmp_path / 'home'}")


def test_a_container_with_little_memory_is_a_finding(monkeypatch):
    monkeypatch.setattr(detect.cgroup, "memory_bytes", lambda: 1 << 30)

    (memory,) = (check for check in doctor._machine() if check.name == "Memory")

    assert (memory.ok, memory.detail.endswith("of 1.0 GiB free")) == (False, True)
