"""Facts of this machine, read once and cached by the caller.

Linux is read from `/proc` and `/sys`, macOS from `sysctl`; what a system does not tell is 0, an empty text or an empty
set, never a guess. `cuda_device` and `llvm_host_cpu` load TVM, everything else is cheap.
"""

from __future__ import annotations

import math
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from tcl_core.hardware import cgroup

_CPUS = Path("/sys/devices/system/cpu")
_CACHES = _CPUS / "cpu0" / "cache"
_CPUINFO = Path("/proc/cpuinfo")
_IDENTITIES = (
    ("vendor_id", "cpu family", "model", "stepping"),
    ("CPU implementer", "CPU variant", "CPU part", "CPU revision"),
)
"""Of x86 and of ARM."""
_SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a measurement depends on. Zero, "" and an empty set mean unknown.

    Attributes:
        cpu: marketing name.
        architecture: "x86_64", "aarch64", ... as Linux spells it.
        model: vendor, family, model and stepping, the part of the CPU's identity its name leaves out.
        physical_cores: of the whole machine; `cores` are those this process may use (affinity, container quota).
        threads: hardware threads this process may use.
        flags: instruction set flags as Linux names them.
        l1_bytes, l2_bytes: data cache of one core; `l3_bytes` one shared instance.
        memory_bytes: that this process may use (container limit).
    """

    cpu: str
    architecture: str
    model: str
    physical_cores: int
    cores: int
    threads: int
    flags: frozenset[str]
    vector_bits: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class CudaDevice:
    """The first CUDA device, as its driver describes it."""

    name: str
    arch: str
    multiprocessors: int
    max_threads_per_block: int
    max_shared_memory_per_block: int
    warp_size: int
    l2_bytes: int


def detect() -> Machine:
    """Look at this machine. Takes milliseconds; loads no heavy package."""
    architecture = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    fields = _read_cpuinfo(_CPUINFO)
    flags = frozenset((fields.get("flags") or fields.get("Features", "")).split())
    l1, l2, l3 = _cache_sizes()
    cpus = _usable_cpus()
    threads = within_quota(len(cpus), cgroup.cpus())
    total = psutil.virtual_memory().total
    physical = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    return Machine(
        cpu=fields.get("model name") or _sysctl("machdep.cpu.brand_string") or platform.processor() or architecture,
        architecture=architecture,
        model=_model(fields),
        physical_cores=physical,
        cores=max(1, min(physical, threads, cores_of(cpus))),
        threads=threads,
        flags=flags,
        vector_bits=vector_bits(flags, architecture),
        l1_bytes=l1,
        l2_bytes=l2,
        l3_bytes=l3,
        memory_bytes=min(total, cgroup.memory_bytes() or total),
    )


def vector_bits(features: frozenset[str] | set[str], architecture: str) -> int:
    """Width of the widest vector register in bits, from Linux flags or LLVM feature names (they agree on these)."""
    if "avx512f" in features:
        return 512
    if "avx" in features:
        return 256
    # Every 64-bit x86 has SSE2 and every 64-bit ARM has NEON; SVE's width is not in its flag.
    return 128 if architecture in {"x86_64", "aarch64"} else 0


def llvm_host_cpu() -> str:
    """LLVM's name for this machine's CPU, e.g. "znver5" (loads TVM)."""
    from tvm.target import codegen

    return str(codegen.llvm_get_system_cpu())


def cuda_device() -> CudaDevice | None:
    """The first CUDA device, or None where there is no device, driver or CUDA build (loads TVM)."""
    import tvm

    device = tvm.cuda(0)
    if not device.exist:
        return None
    return CudaDevice(
        name=str(device.device_name),
        arch="sm_" + str(device.compute_version).replace(".", ""),
        multiprocessors=int(device.multi_processor_count),
        max_threads_per_block=int(device.max_threads_per_block),
        max_shared_memory_per_block=int(device.max_shared_memory_per_block),
        warp_size=int(device.warp_size),
        l2_bytes=int(device.l2_cache_size_bytes or 0),
    )


def cuda_runtime_loads() -> bool:
    """Whether TVM's CUDA runtime found the driver and `libcudart`, with or without a device (loads TVM)."""
    import tvm  # noqa: F401  # which loads it, or does without
    import tvm_ffi

    return tvm_ffi.get_global_func("device_api.cuda", allow_missing=True) is not None


def _read_cpuinfo(path: Path) -> dict[str, str]:
    """Fields of the first processor of `/proc/cpuinfo`; empty where the file does not exist."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    first = text.split("\n\n", 1)[0]
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _model(fields: Mapping[str, str]) -> str:
    """What tells processors of one name apart; on ARM, where they have none, it is all there is."""
    identities = ("/".join(fields.get(key, "") for key in keys).strip("/") for keys in _IDENTITIES)
    return next(filter(None, identities), "")


def _cache_sizes() -> tuple[int, int, int]:
    """L1 data, L2 and L3 in bytes; 0 for each level that is not told."""
    if _CACHES.is_dir():
        return _read_sysfs_caches(_CACHES)
    sizes = [_sysctl(name) for name in ("hw.l1dcachesize", "hw.l2cachesize", "hw.l3cachesize")]
    l1, l2, l3 = (int(size) if size.isdigit() else 0 for size in sizes)
    return l1, l2, l3


def _read_sysfs_caches(folder: Path) -> tuple[int, int, int]:
    """Read `index*/{level,type,size}` of one CPU's folder in sysfs."""
    sizes = {1: 0, 2: 0, 3: 0}
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction" and level.isdigit() and int(level) in sizes:
            sizes[int(level)] = parse_size(size)
    return sizes[1], sizes[2], sizes[3]


def parse_size(text: str) -> int:
    """Bytes of a sysfs size such as "48K"; 0 when it is not one."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(match[1]) * _SIZE_UNITS[match[2]] if match else 0


def _usable_cpus() -> set[int]:
    """Numbers of the hardware threads this process may run on."""
    # `sched_getaffinity` is missing on macOS and Windows.
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(psutil.cpu_count() or 1))


def cores_of(cpus: set[int], folder: Path = _CPUS) -> int:
    """How many cores these hardware threads are of; as many as there are threads where nothing tells."""
    return len({_siblings(folder / f"cpu{cpu}" / "topology") or str(cpu) for cpu in cpus})


def _siblings(topology: Path) -> str:
    """The hardware threads of a core as sysfs lists them, the same text for each; "" where it does not."""
    for name in ("core_cpus_list", "thread_siblings_list"):  # the latter before Linux 5.3
        try:
            return (topology / name).read_text().strip()
        except OSError:
            continue
    return ""


def within_quota(threads: int, quota: float | None) -> int:
    """So many threads as a quota in processors keeps busy, rounded up; all of them where there is none."""
    return threads if quota is None else max(1, min(threads, math.ceil(quota)))


def _sysctl(name: str) -> str:
    """A macOS system value; "" elsewhere or when it does not exist."""
    if platform.system() != "Darwin":
        return ""
    answer = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, check=False, timeout=5)
    return answer.stdout.strip()
