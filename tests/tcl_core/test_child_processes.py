"""A child ends with its parent, however that ends, and leaves stops to it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys

import psutil
import pytest
from process_ends import all_gone

from tcl_core.child_processes import loading

PARENT = """
import multiprocessing, os, sys, time
from tcl_core.child_processes import obey_parent

def child():
    obey_parent()
    print(os.getpid(), flush=True)
    time.sleep(60)

if __name__ == "__main__":
    multiprocessing.get_context("fork").Process(target=child).start()
    time.sleep(60)
"""


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_with_a_parent_that_is_killed(kill: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        for stop in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(child.pid, stop)
        assert not psutil.wait_procs([child], timeout=0.2)[0], "a stop is the parent's to obey"
        parent.send_signal(kill)
        assert all_gone([child])


def test_a_child_that_nobody_stops_obeys_after_a_while() -> None:
    """`multiprocessing` waits at its exit for children that it sent SIGTERM."""
    code = "from tcl_core import child_processes as c\nc._GRACE_S = 1\nc.leave_stops_to_parent()\n"
    code += "import time\nprint(flush=True)\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGTERM)
        assert child.wait() == -signal.SIGALRM


def test_what_is_loaded_is_left_alone_by_the_collector() -> None:
    kept = [[]]
    try:
        with loading():
            assert not gc.isenabled()
            kept.append([])
        assert gc.isenabled()
        assert not {id(each) for each in kept} & {id(each) for each in gc.get_objects()}
    finally:
        gc.unfreeze()


def test_the_collector_is_back_where_loading_failed() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError
    assert gc.isenabled()
    gc.unfreeze()
