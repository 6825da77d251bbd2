"""Reaching devices over the network: hands are shaken with a limit on each step, then TVM's RPC has the connection.

TVM's own `connect` waits for as long as a device is busy, and for a host that does not answer as long as the system
does, minutes. So whether a device is free is asked by a socket of ours first, which speaks the beginning of TVM's
protocol (`tvm.rpc.base`).
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from tcl_core.devices import BEGIN, FACTS, PEAKS, DeviceAddress, DeviceLook, DeviceState
from tcl_core.errors import UserError, first_line

Answer = TypeVar("Answer")

_DEVICE, _TRACKER = 0xFF271, 0x2F271
_ACCEPTED, _OTHER_KEY = _DEVICE, _DEVICE + 2
_SUMMARY = 6
"""Of TVM's protocol (0.27, `tvm/rpc/base.py`), which is not imported for a look: that takes two seconds."""

ANSWER_S = 3.0
"""So long a device may take to answer; one on the same network takes milliseconds."""
WAIT_S = 30.0
"""So long one that is busy is waited for."""
PATIENCE_S = 2 * WAIT_S
"""So much longer than what runs there itself may take: a device is waited for, and is sent things."""
_LATER_S = 1.0
"""The clock that ends a session starts over there, before the one here that tells whether its time was up."""
_POLL_S = 0.5
_TOLD = "RPCError"
"""TVM's error (0.27) for what a session reports and outlives."""
_PRIORITY = 1
"""TVM's default: of all its clients a tracker serves those of the highest first."""
_MEND = "see that it is on and in this network, and start `main.py serve` there."


class DeviceLost(UserError):
    """A device does not answer, or no longer."""

    def __init__(self, sentence: str) -> None:
        super().__init__("device", sentence)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self),))


class DeviceCrash(Exception):
    """What ran on a device took its process there down."""


def reach(address: DeviceAddress) -> DeviceLook:
    """Whether a device would take a session now. No session is opened, and nothing is known of the machine yet."""
    started = time.perf_counter()
    try:
        look = _asked(address)
    except ConnectionResetError:
        sentence = f"What listens at {address.text} hangs up: if it is a tracker, write / and a key behind it."
        return _look(address, DeviceState.UNFIT, sentence)
    except TimeoutError:
        return _look(address, DeviceState.ABSENT, f"Nothing answers at {address.text} within {ANSWER_S:g} s: {_MEND}")
    except (OSError, UnicodeError) as error:  # the latter of a host that no name can be
        why = getattr(error, "strerror", None) or first_line(error)
        return _look(address, DeviceState.ABSENT, f"Nobody listens at {address.text} ({why}): {_MEND}")
    return replace(look, answer_s=time.perf_counter() - started)


def _asked(address: DeviceAddress) -> DeviceLook:
    """Raises: ConnectionResetError where whoever listens hangs up twice, another OSError where nobody answers."""
    ask_it = _ask_tracker if address.key else _ask_server
    try:
        return ask_it(address)
    except ConnectionResetError:  # as a device does whose server is just ending; the next finds nobody there
        time.sleep(_POLL_S)
        return ask_it(address)


def devices_at(address: DeviceAddress) -> int:
    """How many devices an address stands for, at least one: all that its tracker knows by the key.

    A tracker that does not answer is whoever opens a session's to report.
    """
    return max(1, reach(address).known or 1) if address.key else 1


def is_this_machine(address: DeviceAddress) -> bool:
    """Whether a device server's address is one of this machine's own; a tracker's devices may be anywhere."""
    if address.key:
        return False
    import psutil

    own = {each.address.partition("%")[0] for some in psutil.net_if_addrs().values() for each in some}
    try:
        found = {str(where[0]).partition("%")[0] for *_, where in socket.getaddrinfo(address.host, address.port)}
    except (OSError, UnicodeError):
        return False
    # Who connects to 0.0.0.0, where a server listens unless it is told otherwise, comes to this machine.
    here = (each.is_loopback or each.is_unspecified for each in map(ipaddress.ip_address, found))
    return not own.isdisjoint(found) or any(here)


def open_session(address: DeviceAddress, limit_s: float) -> Any:
    """A session of TVM's (`tvm.rpc.RPCSession`) on a device, a process of its own there, which ends after `limit_s`.

    A device that is busy is waited for, `WAIT_S` at most. The session ends with the last reference to it, to a module
    or to a tensor of it.

    Raises:
        DeviceLost: it does not answer, is busy for too long, or is nothing that can be tuned on.
    """
    look = reach(address) if address.key else _reach_free(address)
    queued = bool(address.key) and look.state is DeviceState.BUSY  # at the tracker, where whoever came first is next
    if look.state is not DeviceState.FREE and not queued:
        raise DeviceLost(look.sentence)
    from tvm import rpc

    try:
        if not address.key:
            return rpc.connect(address.host, address.port, session_timeout=limit_s)
        tracker = rpc.connect_tracker(address.host, address.port)
        tracker._sock.settimeout(WAIT_S)  # there is no argument for it (TVM 0.27), and it would wait for ever
        return tracker.request(address.key, _PRIORITY, limit_s, max_retry=1)
    except (RuntimeError, OSError) as error:
        if queued:
            raise DeviceLost(look.sentence) from error
        raise DeviceLost(f"{address.text} answered, and opened no session ({first_line(error)}): {_MEND}") from error


def _reach_free(address: DeviceAddress) -> DeviceLook:
    """The same as `reach`, but a device that is busy is waited for."""
    until = time.monotonic() + WAIT_S
    while (look := reach(address)).state is DeviceState.BUSY and time.monotonic() < until:
        time.sleep(_POLL_S)
    return look


def open_to_time(address: DeviceAddress, threads: int, limit_s: float) -> Any:
    """A session that is ready to time with so many threads, and is not ended before `limit_s` have passed here.

    Raises:
        DeviceLost: see `open_session`. And what `watched` raises.
    """
    remote = open_session(address, limit_s + _LATER_S)
    with watched(address, limit_s, time.monotonic()):
        remote.get_function(BEGIN)(threads)
    return remote


@contextmanager
def watched(address: DeviceAddress, limit_s: float, began_s: float) -> Iterator[None]:
    """Within, a session is used that began at `began_s` (`time.monotonic`); what breaks it is told apart.

    Raises:
        TimeoutError: it was ended, as it had lasted for `limit_s`.
        DeviceLost: the device no longer answers.
        DeviceCrash: what ran in it took it down; the device answers.
        RuntimeError: as TVM's RPC raises it, of what failed over there and left the session as it was.
    """
    try:
        yield
    except (RuntimeError, OSError) as error:
        if time.monotonic() - began_s >= limit_s:
            raise TimeoutError(f"No answer within {limit_s:g} s.") from error
        if type(error).__name__ == _TOLD:
            raise
        look = reach(address)
        if look.state in (DeviceState.ABSENT, DeviceState.UNFIT):
            raise DeviceLost(look.sentence) from error
        raise DeviceCrash(f"It took its process on {address.text} down.") from error


def ask(address: DeviceAddress, question: Callable[[Any], Answer], limit_s: float = 20.0) -> Answer:
    """What a question finds out in a session of its own, of which it must return nothing.

    Raises:
        DeviceLost: as `open_session`, or the session broke.
    """
    try:
        return question(open_session(address, limit_s))
    except (RuntimeError, OSError) as error:
        raise DeviceLost(f"{address.text} broke off what it was asked ({first_line(error)}): {_MEND}") from error


def machine_of(address: DeviceAddress) -> Mapping[str, Any]:
    """What a device tells of itself; see `device_server.facts`.

    Raises:
        UserError: see `ask`; or it is a server of another kind, or of another TVM.
    """
    from tcl_core.versions import installed_versions  # of its 20 ms no worker has any use

    found = ask(address, _facts)
    if found is None:
        raise UserError(
            "device",
            f"What listens at {address.text} is an RPC server of TVM's own, which does not tell what machine it is on, "
            "and ends when a kernel crashes: end it, and start `main.py serve` there.",
        )
    here, there = dict(installed_versions())["apache-tvm"], found["versions"]["apache-tvm"]
    if here != there:
        raise UserError(
            "device", f"{address.text} has apache-tvm {there}, this machine {here}: install the same version there."
        )
    return found


def peaks_of(address: DeviceAddress, threads: int) -> Mapping[str, float]:
    """The measured peaks of a device, by the fields of `hardware.peaks.Peaks`; empty where it cannot measure them.

    Raises:
        UserError: see `ask`.
    """

    def question(remote: Any) -> Mapping[str, float]:
        found: dict[str, float] = json.loads(remote.get_function(PEAKS)(threads))
        return found

    return ask(address, question)


def _facts(remote: Any) -> dict[str, Any] | None:
    """None of a server that tells none."""
    try:
        tell = remote.get_function(FACTS)
    except AttributeError:
        return None
    found: dict[str, Any] = json.loads(tell())
    return found


def _look(address: DeviceAddress, state: DeviceState, sentence: str = "", **known: Any) -> DeviceLook:
    return DeviceLook(address=address.text, state=state, sentence=sentence, **known)


def _ask_server(address: DeviceAddress) -> DeviceLook:
    key = b"client:"
    with socket.create_connection((address.host, address.port), ANSWER_S) as connection:
        connection.settimeout(ANSWER_S)
        connection.sendall(struct.pack("<ii", _DEVICE, len(key)) + key)
        try:
            (code,) = struct.unpack("<i", _received(connection, 4))
        except TimeoutError:
            return _look(
                address,
                DeviceState.BUSY,
                f"{address.text} works for somebody else; wait, or end what is running there.",
            )
        if code == _ACCEPTED:
            (size,) = struct.unpack("<i", _received(connection, 4))
            _received(connection, size)  # else the connection would not be closed but reset, an error over there
            return _look(address, DeviceState.FREE)
    if code == _OTHER_KEY:
        sentence = (
            f"The device at {address.text} takes its work from a tracker: write the tracker's address and the key."
        )
    else:
        sentence = (
            f"What listens at {address.text} is no device server: start `main.py serve` on the machine to tune for."
        )
    return _look(address, DeviceState.UNFIT, sentence)


def _ask_tracker(address: DeviceAddress) -> DeviceLook:
    with socket.create_connection((address.host, address.port), ANSWER_S) as connection:
        connection.settimeout(ANSWER_S)
        connection.sendall(struct.pack("<i", _TRACKER))
        (magic,) = struct.unpack("<i", _received(connection, 4))
        if magic != _TRACKER:
            sentence = (
                f"What listens at {address.host}:{address.port} is no tracker: leave out /{address.key} for a device."
            )
            return _look(address, DeviceState.UNFIT, sentence)
        question = json.dumps([_SUMMARY]).encode()
        connection.sendall(struct.pack("<i", len(question)) + question)
        (size,) = struct.unpack("<i", _received(connection, 4))
        _, summary = json.loads(_received(connection, size))
    known = Counter(str(server["key"]).partition(":")[2] for server in summary["server_info"])
    if address.key not in known:
        sentence = (
            f'The tracker at {address.host}:{address.port} knows no device "{address.key}"'
            f" ({'it knows ' + ', '.join(sorted(known)) if known else 'none at all'}): start `main.py serve --tracker "
            f"{address.host}:{address.port} --key {address.key}` on one."
        )
        return _look(address, DeviceState.ABSENT, sentence)
    queue = summary["queue_info"].get(address.key, {"free": 0, "pending": 0})
    counts: dict[str, Any] = {"known": known[address.key], "free": int(queue["free"]), "waiting": int(queue["pending"])}
    if counts["free"]:
        return _look(address, DeviceState.FREE, **counts)
    sentence = f'No "{address.key}" is free, and {counts["waiting"]} wait for one; wait, or end what is running there.'
    return _look(address, DeviceState.BUSY, sentence, **counts)


def _received(connection: socket.socket, size: int) -> bytes:
    """So many bytes. Raises: OSError when the other end closes before."""
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionResetError("it hung up")
        parts += part
    return bytes(parts)
