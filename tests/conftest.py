"""Guards of the whole suite: stray logs, threads left alive and orphaned processes fail it. What is written is plain.

Expected log messages are asked for with pytest's own `caplog` fixture; Qt's own warnings fail through pytest-qt
(`qt_log_level_fail`). A test whose threads belong to a fixture of a wider scope is marked `keeps_threads`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Iterator

# Read when the libraries load, so before any test module: see `main.py` for the first three.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import hypothesis
import psutil
import pytest

# Deadlines measure the machine's load; a fixed seed makes every run the same.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, max_examples=60, database=None)
hypothesis.settings.load_profile("suite")

PATIENCE_S = 3.0
RUN_MARK = "TCL_STUDIO_TEST_RUN"
# What rich, argparse and pytest go by.
LOOKS = ("COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
# Loggers of libraries that warn in normal use.
FOREIGN_LOGGERS = ("tvm", "torch", "onnx", "onnxruntime", "xgboost", "hypothesis", "faulthandler")
# Threads that libraries keep for the life of a process.
FOREIGN_THREADS = ("tqdm", "pytest_timeout", "pydevd", "asyncio_", "torch", "QueueFeederThread")


@pytest.fixture(autouse=True, scope="session")
def plain_output() -> Iterator[None]:
    """What is written is looked at as in a pipe, whatever a person or a CI wants this suite's own output to be like."""
    with pytest.MonkeyPatch.context() as patch:
        for name in LOOKS:
            patch.delenv(name, raising=False)
        yield


class _Collector(logging.Handler):
    """Keeps warnings and worse of our own and of unknown loggers."""

    def __init__(self) -> None:
        super().__init__(level=logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.split(".", maxsplit=1)[0] not in FOREIGN_LOGGERS:
            self.messages.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@pytest.fixture(autouse=True)
def no_stray_logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that logs a warning nobody expects."""
    collector = _Collector()
    logging.getLogger().addHandler(collector)
    yield
    logging.getLogger().removeHandler(collector)
    if "caplog" not in request.fixturenames and collector.messages:
        pytest.fail("logged, and not expected with caplog:\n" + "\n".join(collector.messages), pytrace=False)


@pytest.fixture(autouse=True)
def no_live_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread alive."""
    before = set(threading.enumerate())
    yield
    if request.node.get_closest_marker("keeps_threads"):
        return
    until = time.monotonic() + PATIENCE_S
    while (alive := _new_threads(before)) and time.monotonic() < until:
        time.sleep(0.01)
    if alive:
        names = ", ".join(sorted(thread.name for thread in alive))
        pytest.fail(f"threads left alive: {names}; join them, or mark the test keeps_threads", pytrace=False)


def _new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    return [
        thread
        for thread in threading.enumerate()
        if thread not in before
        and thread.is_alive()
        # Foreign threads (Qt's, TVM's) that once called into Python show up as dummies that never end.
        and not isinstance(thread, threading._DummyThread)
        and not thread.name.startswith(FOREIGN_THREADS)
    ]


@pytest.fixture(autouse=True, scope="session")
def no_orphans() -> Iterator[None]:
    """Fail the session when a process it started outlives it, even one whose own parent is dead.

    Every descendant inherits a mark in its environment, and so is found wherever the system has re-parented it.
    """
    mark = os.environ[RUN_MARK] = uuid.uuid4().hex
    yield
    until = time.monotonic() + PATIENCE_S
    while (alive := _marked_processes(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    told = [_describe(process) for process in alive]
    for process in alive:
        _end(process)
    if told:
        pytest.fail("processes left behind by the tests:\n" + "\n".join(told), pytrace=False)


def _marked_processes(mark: str) -> list[psutil.Process]:
    """Processes of this session but itself and multiprocessing's own servants, which end with it."""
    return [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid() and _carries(process, mark) and not _is_servant(process)
    ]


def _carries(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(RUN_MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def _is_servant(process: psutil.Process) -> bool:
    """A forkserver or resource tracker of this very process. A forkserver's workers look like it, one step further."""
    try:
        command = " ".join(process.cmdline())
        return process.ppid() == os.getpid() and ("forkserver" in command or "resource_tracker" in command)
    except psutil.Error:
        return True


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid} (parent {process.ppid()}): {' '.join(process.cmdline())[:300]}"
    except psutil.Error:
        return f"{process.pid}"


def _end(process: psutil.Process) -> None:
    """End a process that may have ended by itself."""
    try:
        process.kill()
    except psutil.Error:
        return
