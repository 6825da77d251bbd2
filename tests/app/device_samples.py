"""Devices as looks find them, and an engine that looks at them: no network behind it."""

from __future__ import annotations

from multiprocessing.connection import Connection

import studio_engines

from tcl_core.device_events import DeviceSeen
from tcl_core.devices import DeviceLook, DeviceState, LookAtDevice

FREE = DeviceLook(
    address="pi.local:9090",
    state=DeviceState.FREE,
    answer_s=0.012,
    cpu="Cortex-A72",
    architecture="aarch64",
    cores=4,
    memory_bytes=4 << 30,
    versions=(("apache-tvm", "0.27.0.post1"), ("numpy", "2.3.1")),
)
BUSY = DeviceLook(
    address="desk:9190/pi4",
    state=DeviceState.BUSY,
    sentence="All devices that desk:9190 knows as pi4 are at work, and 2 runs wait for one: wait, or stop another.",
    answer_s=0.103,
    known=1,
    free=0,
    waiting=2,
)
ABSENT = DeviceLook(
    address="192.168.178.43:9090",
    state=DeviceState.ABSENT,
    sentence="Nobody answers at 192.168.178.43:9090: start `main.py serve` there, and see to its firewall.",
)
UNFIT = DeviceLook(
    address="board.lab.example.org:22",
    state=DeviceState.UNFIT,
    sentence="Who answers at board.lab.example.org:22 is no device server: write the port that `main.py serve` tells.",
    answer_s=0.0021,
)
TRACKED = DeviceLook(
    address="[fe80::1]:9190/epyc",
    state=DeviceState.FREE,
    answer_s=0.00042,
    known=12,
    free=11,
    waiting=0,
    cpu="AMD EPYC 9B45 128-Core Processor",
    architecture="x86_64",
    cores=1,
    memory_bytes=1511 << 30,
)
LOOKS = {look.address: look for look in (FREE, BUSY, ABSENT, UNFIT, TRACKED)}
HERE = DeviceLook(
    address="", state=DeviceState.FREE, cpu="AMD EPYC", architecture="x86_64", cores=2, memory_bytes=8 << 30
)


def looking(connection: Connection) -> None:
    """Opens anything; looks at the samples; nobody comes back from any other address."""
    for command in studio_engines.orders(connection):
        match command:
            case LookAtDevice(address=address) if address in LOOKS:
                connection.send(DeviceSeen(look=LOOKS[address]))
