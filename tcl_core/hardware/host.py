"""Whose processor a target means: this machine's, or that of a device over the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from tcl_core.device_sessions import machine_of, peaks_of
from tcl_core.devices import DeviceAddress
from tcl_core.errors import UserError
from tcl_core.hardware import detect, llvm_cpu
from tcl_core.hardware.detect import Machine
from tcl_core.hardware.peaks import Peaks, measure_peaks

_TRIPLES = {triple.partition("-")[0]: triple for triple in llvm_cpu.FOREIGN_TRIPLES}


@dataclass(frozen=True, kw_only=True)
class Host:
    """A machine and how to ask it.

    Attributes:
        machine: `cores` are those that a measurement may use.
        measure_peaks: with so many threads; half a second.
        llvm_name: what LLVM takes its processor for; "" for this machine, which can be asked.
        triple: of its code; "" for this machine's architecture.
        device: its address; "" for this machine.
    """

    machine: Machine
    measure_peaks: Callable[[int], Peaks]
    llvm_name: str = ""
    triple: str = ""
    device: str = ""

    @property
    def name(self) -> str:
        """As a part of a sentence."""
        return self.device or "this machine"


def this_machine(machine: Machine | None = None) -> Host:
    """The machine that this runs on; `machine`: what `detect` found, if it is known already."""
    found = machine or detect.detect()
    return Host(machine=found, measure_peaks=partial(measure_peaks, l3_bytes=found.l3_bytes))


def device(address: DeviceAddress) -> Host:
    """A device over the network.

    Raises:
        UserError: it does not answer, is no device server, or is of an architecture that LLVM has no code for here.
    """
    facts = machine_of(address)
    told = facts["machine"]
    machine = Machine(**{**told, "flags": frozenset(told["flags"]), "cores": int(facts["threads"])})
    architecture = machine.architecture
    if architecture != detect.detect().architecture and architecture not in _TRIPLES:
        known = ", ".join(sorted(_TRIPLES))
        raise UserError(
            "device", f"{address.text} is of architecture {architecture}, which is not tuned for; known are {known}."
        )
    return Host(
        machine=machine,
        measure_peaks=partial(_peaks, address),
        llvm_name=str(facts["llvm_cpu"]),
        triple="" if architecture == detect.detect().architecture else _TRIPLES[architecture],
        device=address.text,
    )


def _peaks(address: DeviceAddress, threads: int) -> Peaks:
    """Those of a device that cannot measure them are 0, unknown."""
    return replace(Peaks(flops=0.0, bandwidth_bytes_s=0.0), **peaks_of(address, threads))
