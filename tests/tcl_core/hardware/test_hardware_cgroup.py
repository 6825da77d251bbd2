"""Quotas as kernels write them down, in trees that a test has made."""

from __future__ import annotations

import pytest

from tcl_core.hardware import cgroup


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("max 100000", None), ("150000 100000", 1.5), ("50000 100000", 0.5), ("nonsense", None), ("1 0", None)],
)
def test_a_container_sees_its_own_group_as_the_root(tmp_path, text, cpus):
    write(tmp_path / "trees" / "cpu.max", text)
    write(tmp_path / "own", "0::/")

    assert cgroup.cpus(tmp_path / "trees", tmp_path / "own") == cpus
    assert cgroup.cpus(tmp_path / "trees", tmp_path / "missing") == cpus


def test_the_least_quota_of_all_groups_around_counts(tmp_path):
    write(tmp_path / "own", "0::/system.slice/studio.service/inner")
    write(tmp_path / "trees" / "system.slice" / "cpu.max", "400000 100000")
    write(tmp_path / "trees" / "system.slice" / "studio.service" / "cpu.max", "200000 100000")
    write(tmp_path / "trees" / "system.slice" / "studio.service" / "inner" / "cpu.max", "max 100000")
    write(tmp_path / "trees" / "other.slice" / "cpu.max", "10000 100000")

    assert cgroup.cpus(tmp_path / "trees", tmp_path / "own") == 2.0


def test_a_group_may_have_colons_in_its_name(tmp_path):
    """Containerd's do."""
    write(tmp_path / "own", "0::/kubepods.slice/pod.slice:cri-containerd:0a1b")
    write(tmp_path / "trees" / "kubepods.slice" / "pod.slice:cri-containerd:0a1b" / "cpu.max", "300000 100000")

    assert cgroup.cpus(tmp_path / "trees", tmp_path / "own") == 3.0


@pytest.mark.parametrize(("quota", "cpus"), [("-1", None), ("50000", 0.5)])
@pytest.mark.parametrize("seen_at", ["docker/abc", "."])
def test_the_first_version_has_a_tree_for_processors(tmp_path, quota, cpus, seen_at):
    write(tmp_path / "own", "9:name=systemd:/\n4:memory:/elsewhere\n2:cpu,cpuacct:/docker/abc\n0::/")
    write(tmp_path / "trees" / "cpu" / seen_at / "cpu.cfs_quota_us", quota)
    write(tmp_path / "trees" / "cpu" / seen_at / "cpu.cfs_period_us", "100000")
    write(tmp_path / "trees" / "cpu" / "elsewhere" / "cpu.cfs_quota_us", "10000")
    write(tmp_path / "trees" / "cpu" / "elsewhere" / "cpu.cfs_period_us", "100000")

    assert cgroup.cpus(tmp_path / "trees", tmp_path / "own") == cpus


def test_where_there_are_no_groups_nothing_is_limited(tmp_path):
    assert cgroup.cpus(tmp_path / "none", tmp_path / "none") is None


@pytest.mark.parametrize(("text", "size"), [("max", None), ("1073741824", 1 << 30)])
def test_the_least_memory_of_all_groups_around_counts(tmp_path, text, size):
    write(tmp_path / "own", "0::/outer/inner")
    write(tmp_path / "trees" / "outer" / "memory.max", text)
    write(tmp_path / "trees" / "outer" / "inner" / "memory.max", "max")

    assert cgroup.memory_bytes(tmp_path / "trees", tmp_path / "own") == size


def test_memory_has_a_tree_in_the_first_version(tmp_path):
    write(tmp_path / "own", "4:memory:/docker/abc")
    write(tmp_path / "trees" / "memory" / "memory.limit_in_bytes", "9223372036854771712")
    write(tmp_path / "trees" / "memory" / "docker" / "abc" / "memory.limit_in_bytes", "1024")

    assert cgroup.memory_bytes(tmp_path / "trees", tmp_path / "own") == 1024
