"""The device server: it outlives its sessions, and can be packed into one file."""

from __future__ import annotations

import argparse
import ast
import json
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import tcl_core
from tcl_core.hardware import device_server
from tcl_core.hardware.device_options import add_options
from tcl_core.hardware.device_pack import MODULES, pack


@pytest.mark.parametrize("error", [RuntimeError("Child process 7 exited unsuccessfully"), OSError("reset")])
def test_a_session_that_ends_badly_ends_alone(error: Exception, tmp_path: Path, monkeypatch: Any) -> None:
    words: list[str] = []
    monkeypatch.setattr(device_server._LOG, "warning", lambda text, *values: words.append(text % values))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of the session").mkdir()

    def serving(sock: socket.socket, address: Any, options: dict[str, float], libraries: Any) -> None:
        os.chdir("of the session")
        raise error

    ours, theirs = socket.socketpair()
    with ours:
        device_server.outliving(serving)(theirs, ("pi", 1), {}, None)
    assert theirs.fileno() == -1, "closed"
    assert Path.cwd() == tmp_path
    assert str(error) in words[0]


def test_a_bug_of_the_server_is_not_swallowed(tmp_path: Path) -> None:
    def serving(sock: socket.socket, address: Any, options: dict[str, float], libraries: Any) -> None:
        raise KeyError

    ours, theirs = socket.socketpair()
    with ours, pytest.raises(KeyError):
        device_server.outliving(serving)(theirs, None, {}, None)


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(arguments)


def test_a_tracker_wants_an_address_and_a_key() -> None:
    with pytest.raises(ValueError, match="write HOST:PORT"):
        device_server.serve(options("--tracker", "desk", "--key", "pi4"))
    with pytest.raises(ValueError, match="add --tracker HOST:PORT"):
        device_server.serve(options("--key", "pi4"))
    with pytest.raises(ValueError, match="add --key NAME"):
        device_server.serve(options("--tracker", "desk:9190"))


@pytest.mark.parametrize("threads", ["0", "-1", "100000"])
def test_threads_are_those_that_the_machine_has(threads: str) -> None:
    with pytest.raises(ValueError, match=rf"{threads} threads were asked for, of 1 to \d+"):
        device_server.serve(options("--threads", threads))


def test_the_pack_holds_all_that_its_modules_import() -> None:
    packed = {f"tcl_core.{module.replace('/', '.')}".removesuffix(".__init__") for module in MODULES}
    for module in MODULES:
        tree = ast.parse((Path(tcl_core.__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tcl_core"):
                parts = {f"{node.module}.{alias.name}" for alias in node.names}
                assert node.module in packed or parts <= packed, f"{module} imports {node.module}"


@pytest.mark.slow
def test_the_pack_runs_by_itself(tmp_path: Path) -> None:
    out = tmp_path / "server.pyz"
    pack(out)
    assert len(zipfile.ZipFile(out).namelist()) > len(MODULES)
    command = (sys.executable, "-I", str(out), "--host", "127.0.0.1", "--port")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = subprocess.run(
            [*command, port], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert (refused.returncode, "in use" in refused.stderr) == (2, True)
    in_background = ("/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh")
    with subprocess.Popen([*in_background, *command, "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            assert "threads at port" in server.stderr.readline()
            server.terminate()
            assert server.wait(20) == 130
        finally:
            server.kill()


def test_it_tells_what_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", "3")
    told = json.loads(device_server.facts())
    own = device_server.detect.detect()
    assert told["threads"] == 3
    assert (told["machine"]["cpu"], frozenset(told["machine"]["flags"])) == (own.cpu, own.flags)
    assert told["llvm_cpu"] == device_server.detect.llvm_host_cpu()
