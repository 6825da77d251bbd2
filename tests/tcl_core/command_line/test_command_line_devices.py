"""``devices`` and ``serve`` in the terminal."""

from __future__ import annotations

import errno
import json
import os
import socket
import zipfile
from pathlib import Path

import pytest

from tcl_core.command_line.main import BAD_INPUT, DONE, main
from tcl_core.devices import DeviceLook, DeviceState

FREE = DeviceLook(
    address="pi:9090",
    state=DeviceState.FREE,
    answer_s=0.0123,
    cpu="Cortex-A72",
    cores=4,
    versions=(("apache-tvm", "0.27"),),
)
QUEUED = DeviceLook(
    address="desk:9190/pi4", state=DeviceState.BUSY, sentence="No pi4 is free.", known=3, free=0, waiting=2
)


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {look.address: look for look in (FREE, QUEUED)}
    monkeypatch.setattr("tcl_core.device_looks.look_at", known.__getitem__)


def test_devices_are_shown_with_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "pi:9090", "desk:9190/pi4"]) == DONE
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["pi:9090", "free", "12.3", "ms", "-", "-", "Cortex-A72", "4", "0.27"] in lines
    assert ["desk:9190/pi4", "busy", "-", "0", "of", "3", "2", "-", "-", "-"] in lines
    assert ["No", "pi4", "is", "free."] in lines


def test_devices_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "pi:9090", "--json"]) == DONE
    (found,) = json.loads(capsys.readouterr().out)["devices"]
    assert (found["state"], found["answer_s"], found["versions"]) == ("free", 0.0123, {"apache-tvm": "0.27"})


def test_the_server_is_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "server.pyz"
    assert main(["serve", "--pack", str(out), "--port", "9999"]) == DONE
    assert "python3 server.pyz --port 9999" in capsys.readouterr().out
    assert zipfile.is_zipfile(out)
    assert out.stat().st_mode & 0o777 == 0o755
    for folder, why in (("none", "No such file or directory"), ("server.pyz", "Not a directory")):
        assert main(["serve", "--pack", str(tmp_path / folder / "server.pyz")]) == BAD_INPUT
        assert f"cannot be written ({why}); name another file with --pack" in capsys.readouterr().err


def test_a_full_disk_leaves_the_packed_server_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    older, write = tmp_path / "server.pyz", Path.write_bytes
    older.write_text("older")

    def write_some(path: Path, data: bytes) -> int:
        if path.suffix != ".pyz":
            return write(path, data)
        write(path, data[:99])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", write_some)
    assert main(["serve", "--pack", str(older)]) == BAD_INPUT
    assert "server.pyz cannot be written (No space left on device); name another" in capsys.readouterr().err
    assert older.read_text() == "older"
    assert main(["serve", "--pack", str(tmp_path / "new.pyz")]) == BAD_INPUT
    assert [path.name for path in tmp_path.iterdir()] == ["server.pyz"]


def test_what_cannot_be_served_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--host", "127.0.0.1", "--port", port]) == BAD_INPUT
    assert f"cannot be served at 127.0.0.1:{port} (Address already in use)" in capsys.readouterr().err
    assert main(["serve", "--tracker", "desk:9190"]) == BAD_INPUT
    assert "add --key NAME); see `main.py serve --help`" in capsys.readouterr().err
    assert main(["serve", "--key", "pi4"]) == BAD_INPUT
    assert "add --tracker HOST:PORT, or leave out --key" in capsys.readouterr().err
