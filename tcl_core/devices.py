"""Machines over the network: how a person writes where one is, and what is known of it. No sockets, no TVM.

``--target cpu@pi.local:9090`` is the processor of the machine at whose port 9090 a device server
(`main.py serve`) listens; ``cpu@desk:9190/pi4`` is any machine that told the tracker at ``desk:9190`` to be a ``pi4``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from tcl_core.errors import UserError

FORMS = "HOST:PORT of a device server, or HOST:PORT/KEY of a tracker and the key its devices have"

BEGIN = "tcl_studio.begin"
FACTS = "tcl_studio.facts"
PEAKS = "tcl_studio.peaks"
"""Functions of a device server: begin(threads) makes a session ready to time, facts() and peaks(threads) give JSON."""

_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(?P<port>[0-9]{1,5})(?:/(?P<key>[\w.+-]+))?")
_TARGET = re.compile(r"(?P<target>.+)@(?P<address>[^@{}\"]*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class DeviceAddress:
    """Where a device is reached.

    Attributes:
        key: under which a tracker at `host` and `port` knows it; "" where the device itself listens there.
    """

    host: str
    port: int
    key: str = ""

    @property
    def text(self) -> str:
        """As a person writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" + (f"/{self.key}" if self.key else "")


class DeviceState(StrEnum):
    """FREE: it would answer now. BUSY: it works for somebody. ABSENT: nobody answers there. UNFIT: who answers is no
    device to tune on.
    """

    FREE = "free"
    BUSY = "busy"
    ABSENT = "absent"
    UNFIT = "unfit"


@dataclass(frozen=True, kw_only=True)
class DeviceLook:
    """What a look at an address showed.

    Attributes:
        address: as `DeviceAddress.text`, or whatever the person wrote where that is no address.
        sentence: what is wrong and how to mend it; "" for a device that is free.
        answer_s: seconds until it answered; None where it did not.
        known, free, waiting: devices that a tracker knows by the key, how many of them are free, and clients that wait
            for one; None without a tracker.
        cpu, architecture, cores, memory_bytes, versions: of the machine; empty or 0 where they could not be asked for,
            as of one that is busy. Versions are pairs of package and version.
    """

    address: str
    state: DeviceState
    sentence: str = ""
    answer_s: float | None = None
    known: int | None = None
    free: int | None = None
    waiting: int | None = None
    cpu: str = ""
    architecture: str = ""
    cores: int = 0
    memory_bytes: int = 0
    versions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class LookAtDevice:
    """Command to the engine: see whether a device answers, how busy it is, and what it is. It is carried out at once,
    beside whatever is at work.
    """

    address: str


def parse_address(text: str) -> DeviceAddress:
    """The address that a text means.

    Raises:
        UserError: stage "device", it is none.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise UserError("device", f'"{text.strip()}" is no address of a device: write {FORMS}.')
    return DeviceAddress(host=match["host"].strip("[]"), port=int(match["port"]), key=match["key"] or "")


def split_target(text: str) -> tuple[str, DeviceAddress | None]:
    """A ``--target`` text as the target and where its device is; None for this machine.

    Raises:
        UserError: stage "device", what stands behind the @ is no address.
    """
    match = _TARGET.fullmatch(text.strip())
    if match is None:
        return text.strip(), None
    return match["target"].strip(), parse_address(match["address"])


def join_target(target: str, address: str) -> str:
    """The ``--target`` text of a target on a device; "" is this machine."""
    return f"{target}@{address}" if address else target
