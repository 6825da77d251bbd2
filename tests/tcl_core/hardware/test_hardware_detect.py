"""What is read from a machine's files, and what is not there."""

from __future__ import annotations

import os
import pickle

import pytest

from tcl_core.hardware import detect

CPUINFO = """processor : 0
vendor_id : AuthenticAMD
cpu family : 26
model name : AMD EPYC 9755
flags : fpu sse2 avx2 avx512f

processor : 1
model name : another
"""

ARM = """processor : 0
BogoMIPS : 243.75
Features : fp asimd evtstrm aes atomics
CPU implementer : 0x41
CPU architecture: 8
CPU variant : 0x1
CPU part : {part}
CPU revision : 1
"""


def test_this_machine_makes_sense():
    machine = detect.detect()

    assert machine.cpu
    assert 1 <= machine.cores <= machine.threads <= (os.cpu_count() or 1)
    assert machine.cores <= machine.physical_cores
    assert machine.memory_bytes > 1 << 28
    assert machine.l1_bytes <= machine.l2_bytes or not machine.l2_bytes
    assert pickle.loads(pickle.dumps(machine)) == machine == detect.detect()


def test_cpuinfo_is_read_up_to_the_second_processor(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(CPUINFO)

    fields = detect._read_cpuinfo(path)

    assert fields["model name"] == "AMD EPYC 9755"
    assert fields["flags"].split() == ["fpu", "sse2", "avx2", "avx512f"]
    assert detect._read_cpuinfo(tmp_path / "missing") == {}


def test_arm_processors_without_a_name_are_told_apart(tmp_path, monkeypatch):
    found = []
    for part in ("0xd0c", "0xd40"):
        path = tmp_path / part
        path.write_text(ARM.format(part=part))
        monkeypatch.setattr(detect, "_CPUINFO", path)
        found.append(detect.detect().model)

    assert found == ["0x41/0x1/0xd0c/1", "0x41/0x1/0xd40/1"]


def test_x86_processors_are_called_as_ever(tmp_path, monkeypatch):
    path = tmp_path / "cpuinfo"
    path.write_text(CPUINFO)
    monkeypatch.setattr(detect, "_CPUINFO", path)

    assert detect.detect().model == "AuthenticAMD/26"


def write_cache(folder, index, **files):
    entry = folder / f"index{index}"
    entry.mkdir()
    for name, text in files.items():
        (entry / name).write_text(text + "\n")


def test_caches_are_those_for_data(tmp_path):
    write_cache(tmp_path, 0, level="1", type="Data", size="48K")
    write_cache(tmp_path, 1, level="1", type="Instruction", size="32K")
    write_cache(tmp_path, 2, level="2", type="Unified", size="1024K")
    write_cache(tmp_path, 3, level="3", type="Unified", size="32M")
    write_cache(tmp_path, 4, level="4", type="Unified", size="1G")
    write_cache(tmp_path, 5, level="2")

    assert detect._read_sysfs_caches(tmp_path) == (48 << 10, 1 << 20, 32 << 20)
    assert detect._read_sysfs_caches(tmp_path / "missing") == (0, 0, 0)


@pytest.mark.parametrize(("text", "size"), [("512", 512), ("48K", 49152), ("1G", 1 << 30), ("", 0), ("48 KB", 0)])
def test_sizes_of_sysfs(text, size):
    assert detect.parse_size(text) == size


@pytest.mark.parametrize(("quota", "threads"), [(None, 8), (1.5, 2), (0.5, 1), (8.0, 8), (64.0, 8)])
def test_a_quota_limits_the_threads(monkeypatch, quota, threads):
    monkeypatch.setattr(detect.cgroup, "cpus", lambda: quota)

    assert detect.within_quota(8, quota) == threads
    assert detect.detect().threads == detect.within_quota(len(os.sched_getaffinity(0)), quota)


@pytest.mark.parametrize("name", ["core_cpus_list", "thread_siblings_list"])
@pytest.mark.parametrize(("cpus", "cores"), [({0, 1, 2, 3}, 2), ({0, 2}, 1), ({1, 2}, 2), ({0, 9}, 2), ({7, 8, 9}, 3)])
def test_threads_of_one_core_are_one_core(tmp_path, name, cpus, cores):
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / name).write_text(siblings + "\n")

    assert detect.cores_of(cpus, tmp_path) == cores


def test_a_process_that_is_given_both_threads_of_a_core_has_one_core(monkeypatch):
    monkeypatch.setattr(detect.psutil, "cpu_count", lambda logical=True: 64 if logical else 32)
    monkeypatch.setattr(detect.os, "sched_getaffinity", lambda process: {5, 37})
    monkeypatch.setattr(detect, "_siblings", lambda topology: "5,37")

    assert (detect.detect().threads, detect.detect().cores) == (2, 1)


@pytest.mark.parametrize(
    ("features", "architecture", "bits"),
    [
        ({"avx", "avx2", "avx512f"}, "x86_64", 512),
        ({"avx"}, "x86_64", 256),
        ({"sse2"}, "x86_64", 128),
        (set(), "aarch64", 128),
        (set(), "riscv64", 0),
    ],
)
def test_the_widest_vector(features, architecture, bits):
    assert detect.vector_bits(features, architecture) == bits
