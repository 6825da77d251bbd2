"""LLVM CPU names: whether one exists, what instructions it needs, and whether this machine has them.

TVM only warns of an unknown CPU and compiles for a generic one, and an unknown architecture in a target triple kills
the process (0.27), so names are checked here before TVM sees them.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from typing import Any

from tcl_core.hardware import detect
from tcl_core.hardware.detect import Machine

TargetDict = dict[str, Any]

FOREIGN_TRIPLES = ("x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu")
"""Where a CPU name is looked for when LLVM does not know it for this machine's own architecture."""

_EVERY_RISCV = ("+m", "+a", "+f", "+d", "+c")
"""Of each that Linux distributions run on; LLVM's generic one has no floats, and its objects link with nothing."""

_SYSTEMS = {"Linux": ("linux",), "Darwin": ("darwin", "macos", "apple"), "Windows": ("windows", "win32")}

# LLVM's features that change what instructions are generated, as /proc/cpuinfo names them. LLVM's other features of a
# CPU are tuning hints ("fast-15bytenop"), or instructions that no generated kernel contains ("wbnoinvd").
_LINUX_FLAGS = {
    "sse3": "pni",
    "ssse3": "ssse3",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "popcnt": "popcnt",
    "lzcnt": "abm",
    "movbe": "movbe",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "f16c": "f16c",
    "fma": "fma",
    "fma4": "fma4",
    "xop": "xop",
    "avx": "avx",
    "avx2": "avx2",
    "avxvnni": "avx_vnni",
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512ifma": "avx512ifma",
    "avx512vbmi": "avx512vbmi",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "gfni": "gfni",
    "amx-tile": "amx_tile",
    "amx-int8": "amx_int8",
    "amx-bf16": "amx_bf16",
    "neon": "asimd",
    "lse": "atomics",
    "dotprod": "asimddp",
    "fullfp16": "asimdhp",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "sve": "sve",
    "sve2": "sve2",
    "sme": "sme",
}


def known_cpus(triple: str = "") -> frozenset[str]:
    """CPU names LLVM accepts for a target triple (this machine's own when empty).

    Raises: ValueError for an architecture LLVM does not know.
    """
    from tvm.target import Target, codegen

    named = triple.split("-", maxsplit=1)[0]
    if triple and (not named or architecture(triple) not in set(map(str, codegen.llvm_get_targets()))):
        raise ValueError(f'LLVM knows no architecture "{named}"')
    target = Target({"kind": "llvm", **({"mtriple": triple} if triple else {})})
    return frozenset(map(str, codegen.llvm_get_cpu_archlist(target)))


def features(config: TargetDict) -> frozenset[str]:
    """LLVM features of a target whose names were checked, `mattr` included."""
    from tvm.target import Target, codegen

    return frozenset(map(str, codegen.llvm_get_cpu_features(Target(config))))


def architecture(triple: str) -> str:
    """The architecture of a triple as LLVM's list of targets spells it; this machine's own when empty."""
    first = triple.split("-", maxsplit=1)[0] or platform.machine()
    if re.fullmatch(r"i[3-6]86", first):
        return "i386"
    if re.fullmatch(r"armv\d\w*", first):
        return "arm"
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(first.lower(), first)


def runs_here(config: TargetDict, machine: Machine) -> bool:
    """Whether a machine executes what is compiled for the target: same system, same ISA, every instruction there."""
    triple = str(config.get("mtriple", ""))
    if triple and not (architecture(triple) == machine.architecture and _same_system(triple)):
        return False
    needed = _instructions(features(config))
    if machine.flags:
        return {_LINUX_FLAGS[name] for name in needed} <= machine.flags
    # No flags to read (macOS, Windows): what LLVM says of the CPU it found.
    host: TargetDict = {"kind": "llvm", "mcpu": detect.llvm_host_cpu()}
    return needed <= _instructions(features(host))


def host_cpu(machine: Machine, llvm_name: str = "", triple: str = "") -> str:
    """The best LLVM CPU that a machine really runs.

    Args:
        llvm_name: what LLVM over there takes its processor for; "" for this machine.
        triple: of its code, where it is of another architecture than this machine.

    LLVM names the CPU by its model number; a virtual machine may hide instructions that the model has, and compiled
    kernels would then die of SIGILL. The levels of the x86-64 psABI are the next best names.
    """
    names = [llvm_name or detect.llvm_host_cpu()]
    if machine.architecture == "x86_64":
        names += ["x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"]
    known = known_cpus(triple)
    named: TargetDict = {"kind": "llvm", **({"mtriple": triple} if triple else {})}
    return next((name for name in names if name in known and runs_here({**named, "mcpu": name}, machine)), "generic")


def unnamed_attributes(name: str, architecture: str) -> list[str]:
    """What a processor has beyond what LLVM's name of it says: of a RISC-V whose model LLVM does not know."""
    return list(_EVERY_RISCV) if architecture == "riscv64" and name.startswith("generic") else []


def _instructions(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names) & _LINUX_FLAGS.keys()


def _same_system(triple: str) -> bool:
    """Whether a triple names this operating system; a bare architecture names none and counts as this one."""
    rest = triple.split("-", 1)[1] if "-" in triple else ""
    words = _SYSTEMS.get(platform.system(), ())
    return not rest or any(word in rest for word in words)
