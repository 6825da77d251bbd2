"""The one command of the suite: order, environment and exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import suite

ENDS_SLOWLY = """
import pathlib, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("begun", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(1.0)
    pathlib.Path("ended").touch()
"""
INTERRUPTED = """
import os, signal, sys, suite
signal.signal(signal.SIGINT, signal.default_int_handler)
suite.call(("ends_slowly",), sys.argv[1], dict(os.environ))
"""


@pytest.fixture
def calls(monkeypatch):
    """Commands that were run; those whose name is in `failing` fail."""
    made: list[tuple[str, ...]] = []
    failing: dict[str, int] = {}

    def call(command, root, environ):
        made.append(tuple(command))
        assert (root, environ["QT_QPA_PLATFORM"]) == ("root", "offscreen")
        return failing.get(command[0], 0)

    monkeypatch.setattr(suite, "call", call)
    return made, failing


def test_everything_runs_and_pytest_is_last(calls):
    made, _ = calls

    assert suite.run("root", []) == 0
    assert [command[0] for command in made] == ["ruff", "ruff", "mypy", "pytest"]
    assert made[-1][1:] == suite.SIDE_BY_SIDE


def test_arguments_go_to_pytest_alone(calls):
    made, _ = calls

    assert suite.run("root", ["-k", "x"]) == 0
    assert made == [("pytest", "-k", "x")]


@pytest.mark.parametrize(("name", "status", "expected"), [("ruff", 1, 1), ("mypy", 2, 1), ("pytest", 5, 5)])
def test_one_failure_fails_all_and_stops_nothing(calls, name, status, expected):
    made, failing = calls
    failing[name] = status

    assert suite.run("root", []) == expected
    assert len(made) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="process groups of POSIX")
def test_what_is_interrupted_comes_to_its_end(tmp_path):
    (tmp_path / "ends_slowly.py").write_text(ENDS_SLOWLY)
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    packaging = Path(suite.__file__).parent
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=packaging, stdout=pipe, stderr=pipe, start_new_session=True) as started:
        assert started.stdout is not None and started.stdout.readline() == b"begun\n"
        os.killpg(started.pid, signal.SIGINT)
        _, told = started.communicate()

    assert told.endswith(b"KeyboardInterrupt\n")
    assert (tmp_path / "ended").exists()
