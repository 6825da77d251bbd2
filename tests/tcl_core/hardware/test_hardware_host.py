"""Whose processor a target means: a device's, of this architecture and of another."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tcl_core.domain import Platform
from tcl_core.errors import UserError
from tcl_core.hardware import host, llvm_cpu, target

_BOARD: dict[str, Any] = {
    "machine": {
        "cpu": "Cortex-A72",
        "architecture": "aarch64",
        "model": "0x41/0x0/0xd08/3",
        "physical_cores": 4,
        "cores": 4,
        "threads": 4,
        "flags": ["fp", "asimd", "crc32", "cpuid"],
        "vector_bits": 128,
        "l1_bytes": 32 << 10,
        "l2_bytes": 1 << 20,
        "l3_bytes": 0,
        "memory_bytes": 4 << 30,
    },
    "llvm_cpu": "cortex-a72",
    "triple": "aarch64-unknown-linux-gnu",
    "threads": 3,
    "versions": {"apache-tvm": "0.27.0.post1"},
}


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What answers at any address; tests change it."""
    told = {**_BOARD, "machine": dict(_BOARD["machine"])}
    monkeypatch.setattr(host, "machine_of", lambda _address: told)
    monkeypatch.setattr(host, "peaks_of", lambda _address, threads: {"flops": 1e9 * threads, "bandwidth_bytes_s": 4e9})
    monkeypatch.setattr("tcl_core.hardware.llvm_cpu.platform.machine", lambda: "x86_64")
    own = replace(host.detect.detect(), architecture="x86_64")
    monkeypatch.setattr(host.detect, "detect", lambda: own)
    return told


def resolved(text: str, threads: int | None = None) -> Platform:
    return target.resolve_platform(text, threads)


def test_a_board_is_a_platform_with_its_own_facts(board: dict[str, Any]) -> None:
    found = resolved("cpu@pi.local:9090")
    assert (found.runnable, found.device) == (True, "pi.local:9090")
    assert found.name == "Cortex-A72, 3 threads, cortex-a72", "as many threads as its server gives away"
    assert json.loads(found.target_json) == {
        "kind": "llvm",
        "mcpu": "cortex-a72",
        "mtriple": "aarch64-linux-gnu",
        "num-cores": 3,
    }
    assert (found.features.vector_bits, found.features.l2_bytes) == (128, 1 << 20)
    assert (found.features.peak_flops, found.features.bandwidth_bytes_s) == (3e9, 4e9)


@pytest.mark.parametrize(("named", "attributes"), [("generic-rv64", True), ("generic", True), ("sifive-u74", False)])
def test_a_riscv_of_no_known_model_computes_with_floats(board: dict[str, Any], named: str, attributes: bool) -> None:
    """LLVM's generic one has integers alone: floats by calls, and objects that no compiler of such a board links."""
    board["machine"] |= {"cpu": "C906", "architecture": "riscv64", "flags": [], "vector_bits": 0}
    board["llvm_cpu"] = named
    config = json.loads(resolved("cpu@licheerv.local:9090").target_json)
    assert (config["mcpu"], config["mtriple"]) == (named, "riscv64-linux-gnu")
    assert ("mattr" in config) == attributes
    assert {"f", "d"} <= llvm_cpu.features(config)


def test_a_board_that_moved_is_the_same_platform(board: dict[str, Any]) -> None:
    assert resolved("cpu@pi.local:9090").fingerprint == resolved("cpu@10.0.0.7:9191/pi4").fingerprint
    known = resolved("cpu@pi.local:9090").fingerprint
    board["machine"]["l2_bytes"] = 2 << 20
    assert resolved("cpu@pi.local:9090").fingerprint != known


@pytest.mark.parametrize(
    ("text", "threads", "words"),
    [
        ("cpu@pi.local:9090", 4, r"4 threads were asked for but pi\.local:9090 has 3"),
        ("cpu:x86-64-v3@pi.local:9090", None, r"of Cortex-A72, which cannot run code for x86-64-v3: write cpu@pi"),
        ("cpu:neoverse-v1@pi.local:9090", None, "which cannot run code for neoverse-v1"),
        ("cuda@pi.local:9090", None, "GPUs are tuned for on the machine they are in alone"),
        ("cpu@pi.local", None, "is no address of a device"),
        ("gpu@pi.local:9090", None, 'Unknown target "gpu"'),
    ],
)
def test_what_a_board_cannot_do_is_refused(board: dict[str, Any], text: str, threads: int | None, words: str) -> None:
    with pytest.raises(UserError, match=words):
        resolved(text, threads)


def test_an_architecture_without_code_is_refused(board: dict[str, Any]) -> None:
    board["machine"]["architecture"] = "armv7l"
    with pytest.raises(UserError, match="architecture armv7l, which is not tuned for; known are aarch64"):
        resolved("cpu@pi.local:9090")


def test_peaks_that_a_device_cannot_measure_are_unknown(board: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "peaks_of", lambda _address, _threads: {})
    found = resolved("cpu@pi.local:9090")
    assert (found.features.peak_flops, found.features.bandwidth_bytes_s) == (0.0, 0.0)


@pytest.mark.slow
def test_this_machine_over_the_network_is_this_machine(device: str) -> None:
    here = target.resolve_platform("cpu", None, measure=False)
    there = target.resolve_platform(f"cpu@{device}", None, measure=False)
    assert (there.fingerprint, there.name, there.target_json) == (here.fingerprint, here.name, here.target_json)
