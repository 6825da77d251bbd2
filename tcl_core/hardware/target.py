"""From the text of ``--target`` to a `domain.Platform`: parsed, checked, and known by a fingerprint.

Every text ends in one canonical TVM target dict (TVM 0.27 refuses target strings). What cannot be meant is refused in
one sentence; a target for hardware that is not here is a platform that is not `runnable`.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re

from tcl_core.devices import split_target
from tcl_core.domain import Platform, PlatformFeatures
from tcl_core.errors import UserError
from tcl_core.hardware import detect, llvm_cpu
from tcl_core.hardware.detect import CudaDevice, Machine
from tcl_core.hardware.host import Host, device, this_machine
from tcl_core.hardware.llvm_cpu import TargetDict
from tcl_core.hardware.peaks import Peaks

FORMS = 'cpu, cpu:x86-64-v2, cpu:x86-64-v3, cpu:x86-64-v4, cpu:<llvm cpu>, cuda, or JSON such as {"kind": "llvm"}'
"""Of a target; behind each but cuda an @ and the address of a device (`devices`) may stand."""

CUDA_DEFAULTS: TargetDict = {
    "arch": "sm_80",
    "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 49152,
    "thread_warp_size": 32,
    "registers_per_block": 65536,
}
"""Compute capability 8.0 as in the CUDA C++ Programming Guide ("Technical Specifications per Compute Capability").

Shared memory is what a block gets without opting in. TVM without a GPU would assume sm_50 and leave the limits out.
"""

_NO_PEAKS = Peaks(flops=0.0, bandwidth_bytes_s=0.0)


def resolve_platform(
    text: str, threads: int | None, *, measure: bool = True, machine: Machine | None = None
) -> Platform:
    """The platform that a ``--target`` text means.

    Args:
        threads: threads of a measurement; None for a JSON target's `num-cores`, or all physical cores.
        measure: spend half a second to a second on the machine's peaks; else they are 0, unknown.
        machine: what `detect` found, if the caller has it already.

    Raises:
        UserError: stage "target": an unknown form, kind, option or CPU, a number of threads the machine lacks, or a
            CUDA device that nothing here compiles for; stage "device": of a device over the network that does not
            answer, or cannot be tuned for.
    """
    target, address = split_target(text)
    host = this_machine(machine) if address is None else device(address)
    config = _parse(target, host)
    if config["kind"] == "llvm":
        return _cpu_platform(config, threads, measure, host)
    if address is not None:
        raise UserError("target", f"GPUs are tuned for on the machine they are in alone: write cpu@{address.text}.")
    return _cuda_platform(config, threads, measure, host.machine)


def _parse(text: str, host: Host) -> TargetDict:
    """The target dict a text means, its kind and CPU checked."""
    if text == "cpu":
        config = {"kind": "llvm", "mcpu": llvm_cpu.host_cpu(host.machine, host.llvm_name, host.triple)}
        if host.triple:
            config["mtriple"] = host.triple
        attributes = llvm_cpu.unnamed_attributes(str(config["mcpu"]), host.machine.architecture)
        return {**config, "mattr": attributes} if attributes else config
    if text.startswith("cpu:"):
        return _named_cpu(text.removeprefix("cpu:"))
    if text == "cuda":
        return {"kind": "cuda"}
    if text.startswith("{"):
        return _parse_json(text)
    raise UserError("target", f'Unknown target "{text}": use {FORMS}.')


def _named_cpu(name: str) -> TargetDict:
    """A CPU by LLVM's name, of this machine's architecture or of one that LLVM can compile for from here."""
    own = llvm_cpu.known_cpus()
    if name in own:
        return {"kind": "llvm", "mcpu": name}
    for triple in llvm_cpu.FOREIGN_TRIPLES:
        if name in llvm_cpu.known_cpus(triple):
            return {"kind": "llvm", "mcpu": name, "mtriple": triple}
    raise UserError("target", f'Unknown CPU "{name}": {_did_you_mean(name, own)}use {FORMS}.')


def _parse_json(text: str) -> TargetDict:
    try:
        config = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:  # the latter of what is nested too deeply
        raise UserError("target", f"The target is not valid JSON ({error}): use {FORMS}.") from error
    if "kind" not in config:
        raise UserError("target", f'The target has no "kind", which is "llvm" or "cuda": use {FORMS}.')
    kind = config["kind"]
    if kind not in ("llvm", "cuda"):  # a tuple: JSON may hold a list here, which no set can be asked for
        raise UserError("target", f'A target of kind "{kind}" cannot be tuned here: the kind is "llvm" or "cuda".')
    if kind == "llvm":
        _check_cpu_names(config)
    return dict(config)


def _check_cpu_names(config: TargetDict) -> None:
    """Refuse a triple or CPU that LLVM does not know, before TVM compiles for another one or crashes."""
    name, triple = config.get("mcpu"), config.get("mtriple", "")
    try:
        known = llvm_cpu.known_cpus(str(triple))
    except ValueError as error:
        raise UserError("target", f'Unknown mtriple "{triple}" in the target: {error}.') from error
    if name is not None and str(name) not in known:  # as text: JSON may hold a list here
        raise UserError("target", f'Unknown mcpu "{name}" in the target: {_did_you_mean(str(name), known)}use {FORMS}.')


def _did_you_mean(name: str, known: frozenset[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=3)
    return f"did you mean {' or '.join(close)}? Otherwise " if close else ""


def _validate(config: TargetDict) -> TargetDict:
    """The dict in its canonical order, accepted by TVM with every option and instruction known."""
    from tvm.target import Target

    try:
        Target(config)
        known = llvm_cpu.features(config) if config["kind"] == "llvm" else frozenset()
    except (ValueError, TypeError, RuntimeError) as error:  # the last from LLVM, of the options that it reads
        sentence = str(error).split(" Target creation from config dict failed")[0].strip().splitlines()[0]
        raise UserError("target", f"TVM refuses the target {json.dumps(config)}: {sentence}") from error
    if config["kind"] == "llvm":
        wanted = {str(item).removeprefix("+") for item in config.get("mattr", ()) if not str(item).startswith("-")}
        unknown = sorted(wanted - known)
        if unknown:
            raise UserError("target", f"LLVM knows no feature {', '.join(unknown)} for this target: see mattr.")
    return {"kind": config["kind"], **{key: config[key] for key in sorted(config.keys() - {"kind"})}}


def _cpu_platform(config: TargetDict, threads: int | None, measure: bool, host: Host) -> Platform:
    machine = host.machine
    asked = threads if threads is not None else config.get("num-cores", machine.cores)
    if type(asked) is not int:
        raise UserError("target", f'"num-cores" of the target is a number of threads, not {json.dumps(asked)}.')
    if config.get("num-cores", asked) != asked:
        raise UserError("target", f'The target says "num-cores": {config["num-cores"]} but --threads says {asked}.')
    config = _validate({**config, "num-cores": asked})
    runnable = _runs_on(host, config)
    _check_threads(asked, host if runnable else None, '"num-cores" of the target' if threads is None else "--threads")
    target_json = json.dumps(config, separators=(",", ":"))
    cpu = str(config.get("mcpu") or config.get("mtriple") or "generic")
    count = f"{asked} thread{'s' if asked > 1 else ''}"
    return Platform(
        fingerprint=_fingerprint(_cpu_identity(machine) if runnable else "not here", target_json, asked),
        name=f"{machine.cpu}, {count}, {cpu}" if runnable else f"{cpu} (not this machine), {count}",
        kind="llvm",
        target_json=target_json,
        threads=asked,
        runnable=runnable,
        features=_cpu_features(config, asked, measure, host if runnable else None),
        device=host.device,
    )


def _runs_on(host: Host, config: TargetDict) -> bool:
    """Whether a machine runs code for a target. A device over the network is named to run it: it has to."""
    triple = str(config.get("mtriple") or "")
    other = bool(host.device) and llvm_cpu.architecture(triple) != host.machine.architecture
    if not other and llvm_cpu.runs_here(config, host.machine):
        return True
    if host.device:
        cpu = str(config.get("mcpu") or config.get("mtriple") or "generic")
        raise UserError(
            "target",
            f"{host.device} is of {host.machine.cpu}, which cannot run code for {cpu}: write cpu@{host.device}.",
        )
    return False


def _check_threads(threads: int, host: Host | None, asked_by: str) -> None:
    """`host` is None where the target is other hardware, whose cores nobody can count from here."""
    if threads < 1:
        raise UserError("target", f"{threads} threads cannot measure anything: {asked_by} starts at 1.")
    if host is not None and threads > host.machine.cores:
        raise UserError(
            "target", f"{threads} threads were asked for but {host.name} has {host.machine.cores}: lower {asked_by}."
        )


def _cpu_features(config: TargetDict, threads: int, measure: bool, host: Host | None) -> PlatformFeatures:
    """What the cost model is told; `host` is None where the target is other hardware."""
    architecture = llvm_cpu.architecture(str(config.get("mtriple") or ""))
    bits = detect.vector_bits(llvm_cpu.features(config), architecture)
    if host is None:
        return PlatformFeatures(
            cores=threads, vector_bits=bits, l1_bytes=0, l2_bytes=0, l3_bytes=0, peak_flops=0.0, bandwidth_bytes_s=0.0
        )
    machine = host.machine
    peaks = host.measure_peaks(threads) if measure else _NO_PEAKS
    # The product runs onnxruntime's own kernels, at the machine's full width, whatever the target is limited to.
    share = min(1.0, bits / machine.vector_bits) if machine.vector_bits else 1.0
    return PlatformFeatures(
        cores=threads,
        vector_bits=bits,
        l1_bytes=machine.l1_bytes,
        l2_bytes=machine.l2_bytes,
        l3_bytes=machine.l3_bytes,
        peak_flops=peaks.flops * share,
        bandwidth_bytes_s=peaks.bandwidth_bytes_s,
    )


def _cuda_platform(config: TargetDict, threads: int | None, measure: bool, machine: Machine) -> Platform:
    """A CUDA platform: of the device that is here, else of `CUDA_DEFAULTS` up to generated source."""
    asked = machine.cores if threads is None else threads
    _check_threads(asked, this_machine(machine), "--threads")
    device = detect.cuda_device()
    config = _validate({**CUDA_DEFAULTS, **(_device_limits(device) if device else {}), **config})
    arch = str(config["arch"])
    if not re.fullmatch(r"sm_\d{2,3}[af]?", arch):
        raise UserError("target", f'Unknown arch "{arch}" in the target: it looks like "sm_80".')
    # Cubins run on devices of the same or a later minor version only; equal is what can be relied upon.
    runnable = device is not None and device.arch.rstrip("af") == arch.rstrip("af")
    target_json = json.dumps(config, separators=(",", ":"))
    return Platform(
        fingerprint=_fingerprint(_gpu_identity(device) if device and runnable else "not here", target_json, 0),
        name=f"{device.name}, {arch}" if device and runnable else f"CUDA {arch} (not this machine)",
        kind="cuda",
        target_json=target_json,
        threads=asked,
        runnable=runnable,
        features=_cuda_features(config, target_json, measure, device if runnable else None),
    )


def _device_limits(device: CudaDevice) -> TargetDict:
    return {
        "arch": device.arch,
        "max_threads_per_block": device.max_threads_per_block,
        "max_shared_memory_per_block": device.max_shared_memory_per_block,
        "thread_warp_size": device.warp_size,
    }


def _cuda_features(config: TargetDict, target_json: str, measure: bool, device: CudaDevice | None) -> PlatformFeatures:
    peaks = _NO_PEAKS
    if device is not None and measure:
        # Where there is no device nobody has to wait for TVM's script parser.
        from tcl_core.hardware.cuda_peaks import measure_cuda_peaks

        peaks = measure_cuda_peaks(target_json, device.multiprocessors)
    return PlatformFeatures(
        cores=0,
        vector_bits=0,
        l1_bytes=0,
        l2_bytes=device.l2_bytes if device else 0,
        l3_bytes=0,
        peak_flops=peaks.flops,
        bandwidth_bytes_s=peaks.bandwidth_bytes_s,
        multiprocessors=device.multiprocessors if device else 0,
        shared_memory_bytes=int(config["max_shared_memory_per_block"]),
        warp_size=int(config["thread_warp_size"]),
    )


def _cpu_identity(machine: Machine) -> str:
    """What makes two CPUs the same to a record. Memory is left out: adding some changes no kernel's latency."""
    caches = (machine.l1_bytes, machine.l2_bytes, machine.l3_bytes)
    return json.dumps([machine.cpu, machine.architecture, machine.model, machine.physical_cores, caches])


def _gpu_identity(device: CudaDevice) -> str:
    """What makes two GPUs the same to a record; its limits are in the target."""
    return json.dumps([device.name, device.arch, device.multiprocessors, device.l2_bytes])


def _fingerprint(identity: str, target_json: str, threads: int) -> str:
    return hashlib.sha256(json.dumps([identity, target_json, threads]).encode()).hexdigest()[:16]
