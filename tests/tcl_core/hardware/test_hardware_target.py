"""What a ``--target`` text means, what is refused, and what a fingerprint depends on."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hardware_samples import H200

from tcl_core.errors import UserError
from tcl_core.hardware import cuda_peaks, detect, host, llvm_cpu, target
from tcl_core.hardware.detect import Machine
from tcl_core.hardware.peaks import Peaks

V3 = "pni ssse3 sse4_1 sse4_2 popcnt abm movbe bmi1 bmi2 f16c fma avx avx2"
V4 = V3 + " avx512f avx512bw avx512cd avx512dq avx512vl"


def make_machine(flags: str = V4, cores: int = 4, **changes: object) -> Machine:
    machine = Machine(
        cpu="Some CPU",
        architecture="x86_64",
        model="Vendor/6/85/7",
        physical_cores=cores,
        cores=cores,
        threads=2 * cores,
        flags=frozenset(flags.split()),
        vector_bits=detect.vector_bits(set(flags.split()), "x86_64"),
        l1_bytes=32 << 10,
        l2_bytes=1 << 20,
        l3_bytes=16 << 20,
        memory_bytes=8 << 30,
    )
    return dataclasses.replace(machine, **changes)


@pytest.fixture(autouse=True)
def x86_linux(monkeypatch):
    """The fakes are Linux on x86-64, whatever runs the tests; LLVM itself is the real one."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    if "x86-64-v3" not in llvm_cpu.known_cpus():
        pytest.skip("LLVM's default architecture here is another")


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(detect, "cuda_device", lambda: None)


def resolve(text, threads=None, machine=None):
    return target.resolve_platform(text, threads, measure=False, machine=machine or make_machine())


def test_this_very_machine():
    platform = target.resolve_platform("cpu", None, measure=False)

    config = json.loads(platform.target_json)
    assert platform.runnable
    assert (platform.kind, config["kind"], config["num-cores"]) == ("llvm", "llvm", platform.threads)
    assert platform.features.cores == platform.threads == detect.detect().cores


def test_a_named_cpu():
    platform = resolve("cpu:x86-64-v3", 2)

    assert platform.target_json == '{"kind":"llvm","mcpu":"x86-64-v3","num-cores":2}'
    assert platform.name == "Some CPU, 2 threads, x86-64-v3"
    assert (platform.threads, platform.runnable) == (2, True)
    assert dataclasses.asdict(platform.features) == {
        "cores": 2,
        "vector_bits": 256,
        "l1_bytes": 32 << 10,
        "l2_bytes": 1 << 20,
        "l3_bytes": 16 << 20,
        "peak_flops": 0.0,
        "bandwidth_bytes_s": 0.0,
        "multiprocessors": 0,
        "shared_memory_bytes": 0,
        "warp_size": 0,
    }


def test_all_forms_mean_one_canonical_target():
    named = resolve("cpu:x86-64-v3", 2)

    assert resolve('{"num-cores": 2, "mcpu": "x86-64-v3", "kind": "llvm"}') == named
    assert resolve('{"mcpu": "x86-64-v3", "kind": "llvm"}', 2) == named
    assert resolve(named.target_json) == named, "what was kept can be given back"
    assert resolve(" cpu:x86-64-v3 ", 2) == named


@pytest.mark.parametrize(
    ("text", "flags", "bits", "runnable"),
    [
        ("cpu:x86-64-v4", V4, 512, True),
        ("cpu:x86-64-v4", V3, 512, False),
        ("cpu:x86-64-v3", V3, 256, True),
        ("cpu:x86-64-v2", V3, 128, True),
        ("cpu:sapphirerapids", V4, 512, False),
        ("cpu:cortex-a72", V4, 128, False),
        ('{"kind": "llvm", "mcpu": "x86-64-v2", "mattr": ["+avx512f"]}', V3, 512, False),
        ('{"kind": "llvm", "mtriple": "x86_64-pc-windows-msvc"}', V4, 128, False),
        ('{"kind": "llvm", "mtriple": "x86_64-linux-gnu"}', V4, 128, True),
    ],
)
def test_whether_this_machine_runs_it(text, flags, bits, runnable):
    platform = resolve(text, machine=make_machine(flags))

    assert (platform.runnable, platform.features.vector_bits) == (runnable, bits)
    assert ("not this machine" in platform.name) is not runnable


def test_a_machine_without_flags_is_what_llvm_calls_it(monkeypatch):
    monkeypatch.setattr(detect, "llvm_host_cpu", lambda: "haswell")
    machine = make_machine("")

    assert resolve("cpu:x86-64-v3", machine=machine).runnable
    assert not resolve("cpu:x86-64-v4", machine=machine).runnable


def test_a_virtual_machine_that_hides_instructions_gets_what_it_really_has(monkeypatch):
    monkeypatch.setattr(detect, "llvm_host_cpu", lambda: "znver5")

    platform = resolve("cpu", machine=make_machine(V3))

    assert json.loads(platform.target_json)["mcpu"] == "x86-64-v3"
    assert platform.runnable


@pytest.mark.parametrize(
    ("text", "threads", "words"),
    [
        ("gpu", None, ['"gpu"', "cpu:x86-64-v3", "cuda", "JSON"]),
        ("", None, ["cpu:<llvm cpu>"]),
        ("llvm -mcpu=znver5", None, ["JSON"]),
        ("cpu:znver55", None, ['"znver55"', "did you mean znver5"]),
        ("{", None, ["not valid JSON"]),
        ('{"a":' * 9999, None, ["not valid JSON"]),
        ('{"mcpu": "znver5"}', None, ['no "kind"', '"llvm" or "cuda"']),
        ('{"kind": "opencl"}', None, ['"opencl"']),
        ('{"kind": ["llvm"]}', None, ['"llvm" or "cuda"']),
        ('{"kind": "llvm", "mcpu": "znver9"}', None, ['mcpu "znver9"']),
        ('{"kind": "llvm", "mcpu": ["znver5"]}', None, ["mcpu \"['znver5']\""]),
        ('{"kind": "llvm", "mtriple": "-linux-gnu"}', None, ['mtriple "-linux-gnu"']),
        ('{"kind": "llvm", "mfloat-abi": "warm"}', None, ["mfloat-abi", "warm"]),
        ('{"kind": "llvm", "jit": "none"}', None, ["jit", "none"]),
        ('{"kind": "llvm", "mtriple": "foo-bar"}', None, ['mtriple "foo-bar"', 'architecture "foo"']),
        ('{"kind": "llvm", "bogus": 1}', None, ["'bogus'"]),
        ('{"kind": "llvm", "num-cores": "a"}', None, ["num-cores"]),
        ('{"kind": "llvm", "num-cores": true}', None, ["num-cores"]),
        ('{"kind": "llvm", "num-cores": 1}', 2, ["--threads says 2"]),
        ('{"kind": "llvm", "num-cores": 0}', None, ['"num-cores" of the target starts at 1']),
        ('{"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 5}', None, ['has 4: lower "num-cores" of the target']),
        ('{"kind": "llvm", "mattr": ["+zzz"]}', None, ["feature zzz"]),
        ('{"kind": "llvm", "mattr": "+avx"}', None, ["mattr"]),
        ('{"kind": "cuda", "arch": "ampere"}', None, ["ampere"]),
        ('{"kind": "cuda", "arch": "sm_x"}', None, ["sm_x"]),
        ("cpu:x86-64-v3", 0, ["--threads starts at 1"]),
        ("cpu:x86-64-v3", 5, ["this machine has 4"]),
        ("cpu:cortex-a72", -1, ["--threads starts at 1"]),
        ("cuda", 5, ["this machine has 4"]),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(text, threads, words):
    with pytest.raises(UserError) as refused:
        resolve(text, threads)

    assert refused.value.stage == "target"
    assert "\n" not in str(refused.value)
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_other_hardware_may_have_more_cores_than_this():
    assert resolve("cpu:cortex-a72", 64).threads == 64


def test_the_fingerprint_is_of_hardware_target_and_threads():
    platforms = [
        resolve("cpu:x86-64-v3", 2),
        resolve("cpu:x86-64-v3", 1),
        resolve("cpu:x86-64-v2", 2),
        resolve("cpu:x86-64-v3", 2, make_machine(cpu="Other CPU")),
        resolve("cpu:x86-64-v3", 2, make_machine(model="Vendor/6/85/8")),
        resolve("cpu:x86-64-v3", 2, make_machine(l3_bytes=32 << 20)),
        resolve("cuda"),
    ]

    assert len({platform.fingerprint for platform in platforms}) == len(platforms)
    same = resolve("cpu:x86-64-v3", 2, make_machine(memory_bytes=1, cores=3, threads=3))
    assert same.fingerprint != platforms[0].fingerprint, "three cores are another machine"
    same = resolve("cpu:x86-64-v3", 2, make_machine(memory_bytes=1, threads=4))
    assert same.fingerprint == platforms[0].fingerprint, "memory changes no kernel"


def test_cuda_without_a_gpu_is_documented_and_not_runnable():
    platform = resolve("cuda")

    assert json.loads(platform.target_json) == {"kind": "cuda", **target.CUDA_DEFAULTS}
    assert (platform.kind, platform.runnable) == ("cuda", False)
    assert (platform.features.warp_size, platform.features.shared_memory_bytes) == (32, 49152)


def test_cuda_with_a_gpu_is_that_gpu(monkeypatch):
    monkeypatch.setattr(detect, "cuda_device", lambda: H200)

    platform = resolve("cuda")
    other = resolve('{"kind": "cuda", "arch": "sm_80"}')

    assert json.loads(platform.target_json)["arch"] == "sm_90"
    assert (platform.name, platform.runnable, platform.features.multiprocessors) == ("NVIDIA H200, sm_90", True, 132)
    assert (other.runnable, other.features.multiprocessors) == (False, 0)
    assert resolve("cuda", 1).fingerprint == platform.fingerprint, "host threads change no GPU record"


def test_a_gpu_that_is_here_has_measured_peaks(monkeypatch):
    monkeypatch.setattr(detect, "cuda_device", lambda: H200)
    asked = []
    measured = Peaks(flops=64e12, bandwidth_bytes_s=4e12)
    monkeypatch.setattr(cuda_peaks, "measure_cuda_peaks", lambda *arguments: asked.append(arguments) or measured)

    features = target.resolve_platform("cuda", None, machine=make_machine()).features
    target.resolve_platform('{"kind": "cuda", "arch": "sm_80"}', None, machine=make_machine())

    assert (features.peak_flops, features.bandwidth_bytes_s) == (64e12, 4e12)
    ((target_json, multiprocessors),) = asked
    assert (json.loads(target_json)["arch"], multiprocessors) == ("sm_90", 132)


def test_tvm_takes_every_canonical_target():
    from tvm.target import Target

    for text in ("cpu", "cpu:x86-64-v2", "cpu:cortex-a72", "cuda"):
        platform = target.resolve_platform(text, None, measure=False)
        assert Target(json.loads(platform.target_json)).kind.name == platform.kind


def test_peaks_are_scaled_to_the_target_s_vectors(monkeypatch):
    asked = []
    monkeypatch.setattr(
        host,
        "measure_peaks",
        lambda threads, *, l3_bytes: asked.append((threads, l3_bytes)) or Peaks(flops=8e9, bandwidth_bytes_s=5e9),
    )

    narrow = target.resolve_platform("cpu:x86-64-v2", 2, machine=make_machine())
    foreign = target.resolve_platform("cpu:cortex-a72", 2, machine=make_machine())

    assert asked == [(2, 16 << 20)], "what cannot run here is not measured"
    assert (narrow.features.peak_flops, narrow.features.bandwidth_bytes_s) == (2e9, 5e9)
    assert foreign.features.peak_flops == 0
