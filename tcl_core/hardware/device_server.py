"""A device server: TVM's RPC server on a machine that is to be tuned for, with what it lacks. Runs on that machine.

Beside TVM's own functions it tells what the machine is and how fast. Packed into one file by `main.py serve --pack` it
needs Python, apache-tvm and psutil there, and nothing of the studio but what is imported here.

Whoever reaches its port can run any code on the machine, as with every RPC server of TVM's.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import logging
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tcl_core
from tcl_core.child_processes import die_with
from tcl_core.devices import BEGIN, FACTS, PEAKS
from tcl_core.hardware import detect
from tcl_core.hardware.device_options import add_options
from tcl_core.tvm_threads import SPIN_COUNT, stay_apart_from_pool

_WAITING = 64
_AS_MANY_AS_ASKED = 0
"""A mode of TVM's pool, for cores that are all alike."""

_LOG = logging.getLogger("device server")

Serving = Callable[[socket.socket, Any, dict[str, float], Any], None]


def serve(options: argparse.Namespace) -> None:
    """Serve until the process is interrupted or told to end; no session outlives it.

    Raises:
        OSError: the port is taken.
        ValueError: a tracker without a key or a key without a tracker, or no address of one; more threads than cores.
        RuntimeError: no tracker answers there, for a minute.
    """
    tracker = _tracker(options.tracker, options.key)
    threads = _threads(options.threads)
    # Read once, when a session's pool of threads starts.
    os.environ["TVM_NUM_THREADS"] = str(threads)
    os.environ["TVM_THREAD_POOL_SPIN_COUNT"] = SPIN_COUNT
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # for the peaks; see `main.py`
    # TVM imports torch where it is installed, and nobody needs it here; see `measure.nursery`.
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]  # the documented way to refuse an import
    import tvm_ffi
    from tvm.rpc import server

    for name, function in ((BEGIN, begin), (FACTS, facts), (PEAKS, peaks)):
        tvm_ffi.register_global_func(name, function, override=True)
    server.logger.setLevel(logging.WARNING)  # below it tells of every session
    server._serve_loop = obeying(server._serve_loop)
    server._serving = outliving(server._serving)
    signal.signal(signal.SIGTERM, _end)
    # A session needs the functions above and a socket, as TVM's server means it to; not Python 3.14's default any more.
    multiprocessing.set_start_method("fork", force=True)
    with _listening(options.host, options.port) as sock:
        port = sock.getsockname()[1]
        _LOG.info("serving %d threads at port %d; whoever reaches it can run code here", threads, port)
        try:
            server._listen_loop(sock, port, options.key or "", tracker, None, None)
        finally:
            for session in multiprocessing.active_children():
                session.kill()


def _end(_number: int, _frame: object) -> None:
    """As Ctrl+C does; SIGINT itself is ignored by what a shell's script begins in the background."""
    raise KeyboardInterrupt


def _listening(host: str, port: int) -> socket.socket:
    """TVM's own lets one client wait: any further one that asks whether the device is free would hear nothing."""
    sock = socket.create_server((host, port), backlog=_WAITING)
    sock.settimeout(None)
    return sock


def _threads(asked: int | None) -> int:
    cores = detect.detect().cores
    if asked is not None and not 1 <= asked <= cores:
        raise ValueError(f"{asked} threads were asked for, of 1 to {cores} that this machine has")
    return asked or cores


def _tracker(text: str | None, key: str | None) -> tuple[str, int] | None:
    if text is None and key:  # such a server would take no client that comes by itself, and be sent none
        raise ValueError("a tracker sends clients by a key: add --tracker HOST:PORT, or leave out --key")
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f'"{text}" is no address of a tracker: write HOST:PORT')
    if not key:
        raise ValueError("a tracker wants to know what kind of device this is: add --key NAME")
    return host, int(port)


def outliving(serving: Serving) -> Serving:
    """TVM's handling of one session, which outlives what the session runs.

    A kernel that crashes takes its session's process with it. TVM 0.27's server then ends its only thread by an
    exception (`tvm/rpc/server.py`, `_serving`) and stays as a process that answers nobody. This can go when that does.
    """

    def serve_one(sock: socket.socket, address: Any, options: dict[str, float], libraries: Any) -> None:
        home = Path.cwd()
        try:
            serving(sock, address, options, libraries)
        except (RuntimeError, OSError) as error:  # the latter where the client is gone, and cannot be told
            _LOG.warning("a session from %s ended: %s", address, error)
        finally:
            os.chdir(home)
            sock.close()

    return serve_one


def obeying(loop: Callable[..., None]) -> Callable[..., None]:
    """A session's own process, which ends when it is told to, even in the middle of a kernel that never does: it has
    the server's handlers of signals, and Python would run them after the kernel.

    It ends with a server that is killed, too. It has the server's sockets: the port would go on taking clients that
    nobody answers, and a new server could not have it.
    """
    server = os.getpid()

    def serve_loop(*arguments: Any) -> None:
        if sys.platform == "linux":
            die_with(server)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl+C is for the server, which ends its sessions
        loop(*arguments)

    return serve_loop


def begin(threads: int) -> None:
    """Of a session: so many threads for its kernels, and this one, which hands them out, on a core of its own where
    there is one; see `tvm_threads`. It lasts as long as the session.
    """
    import tvm_ffi

    tvm_ffi.get_global_func("runtime.config_threadpool")(_AS_MANY_AS_ASKED, threads)
    stay_apart_from_pool()


def facts() -> str:
    """JSON of this machine: the fields of `detect.Machine`, LLVM's name and triple, and what is installed."""
    from tvm.target import codegen

    machine = detect.detect()
    return json.dumps(
        {
            "machine": {**asdict(machine), "flags": sorted(machine.flags)},
            "llvm_cpu": detect.llvm_host_cpu(),
            "triple": str(codegen.llvm_get_system_triple()),
            "threads": int(os.environ["TVM_NUM_THREADS"]),
            "versions": {
                "tcl-studio": tcl_core.__version__,
                "apache-tvm": importlib.metadata.version("apache-tvm"),
            },
        }
    )


def peaks(threads: int) -> str:
    """JSON of the measured peaks with so many threads, in FLOP/s and bytes/s; of nothing without onnxruntime there."""
    try:
        from tcl_core.hardware.peaks import measure_peaks
    except ImportError:
        return "{}"
    return json.dumps(asdict(measure_peaks(threads, l3_bytes=detect.detect().l3_bytes)))


def run() -> None:
    """The packed file's command line."""
    parser = argparse.ArgumentParser(
        prog="device_server", description="Let TCL Studio tune for this machine from another one."
    )
    add_options(parser)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        serve(parser.parse_args())
    except (OSError, ValueError, OverflowError, RuntimeError) as error:
        parser.exit(2, f"{error}\n")
    except KeyboardInterrupt:
        parser.exit(130)
