"""A look at a device: whether it answers, how busy it is, and, where it is free, what it is."""

from __future__ import annotations

from dataclasses import replace

from tcl_core.device_sessions import machine_of, reach
from tcl_core.devices import DeviceLook, DeviceState, parse_address
from tcl_core.errors import UserError


def look_at(text: str) -> DeviceLook:
    """Look at the device that a text names. It takes seconds at most; whatever is wrong is the look's sentence."""
    try:
        address = parse_address(text)
    except UserError as error:
        return DeviceLook(address=text, state=DeviceState.UNFIT, sentence=str(error))
    seen = reach(address)
    if seen.state is not DeviceState.FREE:
        return seen
    try:
        facts = machine_of(address)
    except UserError as error:
        return replace(seen, state=DeviceState.UNFIT, sentence=str(error))
    machine = facts["machine"]
    return replace(
        seen,
        cpu=str(machine["cpu"]),
        architecture=str(machine["architecture"]),
        cores=int(facts["threads"]),
        memory_bytes=int(machine["memory_bytes"]),
        versions=tuple(sorted(facts["versions"].items())),
    )
