"""The guards of `conftest.py`, on a suite written to offend them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OFFENDERS = """
import logging, multiprocessing, subprocess, sys, threading, time
import pytest

SLEEP = "import time; time.sleep(60)"


def test_log():
    logging.getLogger("tcl_core.x").warning("stray")


def test_quiet_log():
    logging.getLogger("tcl_core.x").info("quiet")


def test_foreign_log():
    logging.getLogger("tvm.x").warning("foreign")


def test_expected_log(caplog):
    logging.getLogger("tcl_core.x").warning("expected")
    assert caplog.messages == ["expected"]


def test_thread():
    threading.Thread(target=time.sleep, args=(8,), daemon=True, name="lives on").start()


@pytest.mark.keeps_threads
def test_kept_thread():
    threading.Thread(target=time.sleep, args=(8,), daemon=True).start()


def test_ended_thread():
    threading.Thread(target=time.sleep, args=(0.2,)).start()


def test_servant():
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=time.sleep, args=(0,))
    process.start()
    process.join()


def test_ended_process():
    subprocess.run([sys.executable, "-c", ""], check=True)


def test_orphans():
    process = subprocess.Popen([sys.executable, "-c", SLEEP])
    process.returncode = 0  # no warning of its own about the child
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP + ' # grandchild'!r}])"
    subprocess.run([sys.executable, "-c", parent], check=True)
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("offenders")
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "test_offenders.py").write_text(OFFENDERS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = keeps_threads\n")
    # Read by the eye of a regular expression, whatever is asked for of the suite around it.
    command = [sys.executable, "-m", "pytest", "-rA", "--color=no", "-p", "no:cacheprovider", str(folder)]
    plain = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True, check=False).stdout


def test_offences_are_told_by_name(report):
    assert set(re.findall(r"^ERROR test_offenders.py::(\w+)", report, re.MULTILINE)) == {
        "test_log",
        "test_thread",
        "test_orphans",  # the last test, at whose end the session ends
    }
    assert "WARNING tcl_core.x: stray" in report
    assert "threads left alive: lives on" in report


def test_even_a_process_whose_parent_is_dead_is_found(report):
    left = re.findall(r"^E?\s*(\d+) \(parent (\d+)\): .*time.sleep\(60\)( # grandchild)?", report, re.MULTILINE)

    assert {bool(grandchild) for _, _, grandchild in left} == {False, True}
