"""Reaching devices: servers that say what each kind says, on sockets of this machine."""

from __future__ import annotations

import json
import pickle
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tcl_core import device_sessions
from tcl_core.device_sessions import (
    DeviceCrash,
    DeviceLost,
    devices_at,
    is_this_machine,
    machine_of,
    open_session,
    peaks_of,
    reach,
    watched,
)
from tcl_core.devices import DeviceAddress, DeviceState, parse_address
from tcl_core.errors import UserError

_NOBODY = DeviceAddress(host="127.0.0.1", port=1)


@contextmanager
def listening(answer: Callable[[socket.socket], None], key: str = "") -> Iterator[DeviceAddress]:
    """A server that answers each of its clients so."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    answer(client)

        thread = threading.Thread(target=serve, name="fake-device")
        thread.start()
        try:
            yield DeviceAddress(host="127.0.0.1", port=server.getsockname()[1], key=key)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def device_that_says(code: int) -> Callable[[socket.socket], None]:
    def answer(client: socket.socket) -> None:
        magic, size = struct.unpack("<ii", client.recv(8))
        assert (magic, client.recv(size)) == (0xFF271, b"client:")
        client.sendall(struct.pack("<i", code))
        if code == 0xFF271:
            client.sendall(struct.pack("<i", 7) + b"server:")

    return answer


def tracker_that_knows(servers: list[str], queue: dict[str, Any]) -> Callable[[socket.socket], None]:
    def answer(client: socket.socket) -> None:
        assert struct.unpack("<i", client.recv(4)) == (0x2F271,)
        client.sendall(struct.pack("<i", 0x2F271))
        (size,) = struct.unpack("<i", client.recv(4))
        assert json.loads(client.recv(size)) == [6]
        known = [{"key": f"server:{name}", "addr": ["10.0.0.1", 9090]} for name in servers]
        said = json.dumps([0, {"server_info": known, "queue_info": queue}]).encode()
        client.sendall(struct.pack("<i", len(said)) + said)

    return answer


def silent(client: socket.socket) -> None:
    client.recv(1 << 10)
    client.recv(1)  # until the other end has had enough


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_sessions, "ANSWER_S", 0.3)
    monkeypatch.setattr(device_sessions, "WAIT_S", 0.0)
    monkeypatch.setattr(device_sessions, "_POLL_S", 0.1)


def test_a_device_that_is_just_ending_is_gone() -> None:
    """One whose server was killed was taken for a tracker, as it cut off who waited for it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def end() -> None:
            client, _ = server.accept()
            client.recv(1 << 10)
            server.close()
            client.close()

        ending = threading.Thread(target=end, name="ending-device")
        address = DeviceAddress(host="127.0.0.1", port=server.getsockname()[1])
        ending.start()
        look = reach(address)
        ending.join()
    assert look.state is DeviceState.ABSENT
    assert look.sentence.startswith(f"Nobody listens at {address.text}")


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        (device_that_says(0xFF271), DeviceState.FREE, ""),
        (device_that_says(0xFF273), DeviceState.UNFIT, "takes its work from a tracker"),
        (device_that_says(12), DeviceState.UNFIT, "is no device server"),
        (silent, DeviceState.BUSY, "works for somebody else"),
        (lambda client: client.recv(1 << 10) and None, DeviceState.UNFIT, "hangs up: if it is a tracker"),
    ],
)
def test_what_a_device_says_is_told_apart(
    answer: Callable[[socket.socket], None], state: DeviceState, words: str
) -> None:
    with listening(answer) as address:
        look = reach(address)
    assert look.state is state
    assert words in look.sentence
    assert bool(look.sentence) == (state is not DeviceState.FREE)


@pytest.mark.parametrize(
    ("servers", "queue", "state", "words"),
    [
        (["pi4", "pi4"], {"pi4": {"free": 1, "pending": 0}}, DeviceState.FREE, ""),
        (["pi4"], {"pi4": {"free": 0, "pending": 3}}, DeviceState.BUSY, "and 3 wait for one"),
        (["pi5"], {}, DeviceState.ABSENT, 'knows no device "pi4" (it knows pi5)'),
        ([], {}, DeviceState.ABSENT, "(none at all)"),
    ],
)
def test_a_tracker_tells_its_queue(servers: list[str], queue: dict[str, Any], state: DeviceState, words: str) -> None:
    with listening(tracker_that_knows(servers, queue), "pi4") as address:
        look = reach(address)
    assert look.state is state
    assert words in look.sentence
    if "pi4" in queue:
        asked = queue["pi4"]
        assert (look.known, look.free, look.waiting) == (len(servers), asked["free"], asked["pending"])


def test_a_tracker_s_devices_are_counted() -> None:
    three = tracker_that_knows(["pi4", "pi5", "pi4", "pi4"], {"pi4": {"free": 0, "pending": 0}})
    with listening(three, "pi4") as address:
        assert devices_at(address) == 3
    with listening(tracker_that_knows(["pi5"], {}), "pi4") as address:
        assert devices_at(address) == 1, "whoever opens a session says that there is none"
    assert devices_at(_NOBODY) == 1
    assert devices_at(replace(_NOBODY, key="pi4")) == 1


def test_this_machine_is_known_by_its_addresses() -> None:
    for host in ("127.0.0.1", "127.0.1.1", "localhost", "0.0.0.0"):
        assert is_this_machine(DeviceAddress(host=host, port=9090))
    assert not is_this_machine(DeviceAddress(host="127.0.0.1", port=9190, key="pi4")), "its devices may be anywhere"
    for host in ("203.0.113.9", "no.such.host.invalid", "a..b"):
        assert not is_this_machine(DeviceAddress(host=host, port=9090))


def test_what_is_no_tracker_is_told_so() -> None:
    with listening(lambda client: client.sendall(client.recv(4)[::-1]), "pi4") as address:
        look = reach(address)
    assert look.state is DeviceState.UNFIT
    assert look.sentence.endswith("is no tracker: leave out /pi4 for a device.")


def test_nobody_and_no_host_are_absent() -> None:
    assert reach(_NOBODY).state is DeviceState.ABSENT
    look = reach(parse_address("no.such.host.invalid:9090"))
    assert look.state is DeviceState.ABSENT
    assert look.answer_s is None
    assert reach(DeviceAddress(host="a..b", port=1)).state is DeviceState.ABSENT


def test_no_session_is_opened_where_none_can_be() -> None:
    with pytest.raises(DeviceLost, match="Nobody listens"):
        open_session(_NOBODY, 1.0)
    with listening(silent) as address, pytest.raises(DeviceLost, match="works for somebody else"):
        open_session(address, 1.0)


def test_a_tracker_s_busy_device_is_queued_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def request(key: str, priority: int, limit_s: float, max_retry: int) -> str:
        asked.append((key, limit_s))
        if len(asked) > 1:
            raise RuntimeError("Cannot request pi4 after 1 retry, last_error:timed out")
        return "a session"

    tracker = SimpleNamespace(request=request, _sock=SimpleNamespace(settimeout=lambda seconds: None))
    monkeypatch.setattr("tvm.rpc.connect_tracker", lambda host, port: tracker)
    busy = tracker_that_knows(["pi4"], {"pi4": {"free": 0, "pending": 2}})
    with listening(busy, "pi4") as address:
        assert open_session(address, 7.0) == "a session"
        with pytest.raises(DeviceLost, match="and 2 wait for one"):
            open_session(address, 7.0)
    assert asked == [("pi4", 7.0)] * 2


def test_what_breaks_a_session_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    class RPCError(RuntimeError):
        pass

    broken = RuntimeError("code=kShutdown")
    with pytest.raises(TimeoutError, match="within 2 s"), watched(_NOBODY, 2.0, -10.0):
        raise broken
    with pytest.raises(DeviceLost, match="Nobody listens"), watched(_NOBODY, 1e9, 0.0):
        raise broken
    with pytest.raises(RPCError), watched(_NOBODY, 1e9, 0.0):
        raise RPCError("undefined symbol")
    with (
        listening(device_that_says(0xFF271)) as address,
        pytest.raises(DeviceCrash, match="took its process"),
        watched(address, 1e9, 0.0),
    ):
        raise broken


def test_an_error_of_a_device_crosses_processes() -> None:
    error = pickle.loads(pickle.dumps(DeviceLost("it is off")))
    assert (type(error), str(error), error.stage) == (DeviceLost, "it is off", "device")


@pytest.mark.slow
def test_a_device_tells_what_it_is(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = parse_address(device)
    monkeypatch.setattr(device_sessions, "ANSWER_S", 20.0)
    found = machine_of(address)
    assert found["machine"]["cpu"]
    assert found["threads"] >= 1
    assert found["versions"].keys() == {"tcl-studio", "apache-tvm"}
    assert {"flops", "bandwidth_bytes_s"} == peaks_of(address, 1).keys()

    monkeypatch.setattr("tcl_core.versions.installed_versions", lambda: (("apache-tvm", "0.1"),))
    with pytest.raises(UserError, match=r"has apache-tvm .*, this machine 0\.1: install the same version there"):
        machine_of(address)


def test_a_server_of_tvm_s_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stock:
        def get_function(self, name: str) -> None:
            raise AttributeError(f"Module has no function '{name}'")

    monkeypatch.setattr(device_sessions, "open_session", lambda address, limit_s: Stock())
    with pytest.raises(UserError, match="an RPC server of TVM's own"):
        machine_of(_NOBODY)
