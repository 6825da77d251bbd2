"""Displays and system libraries, on systems that are only described."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tcl_core.hardware import display

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is nothing to check elsewhere")


def only(*missing: str):
    def load(library: str) -> object:
        if library in missing:
            raise OSError(library)
        return object()

    return load


@pytest.mark.parametrize(
    ("environ", "shown"),
    [
        ({}, False),
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({"QT_QPA_PLATFORM": "offscreen"}, True),
        ({"QT_QPA_PLATFORM": "xcb"}, False),
        ({"QT_QPA_PLATFORM": "wayland;xcb"}, False),
        ({"QT_QPA_PLATFORM": "vnc:port=5901"}, True),
    ],
)
def test_whether_a_window_can_be_shown(environ, shown):
    problem = display.display_problem(environ)

    assert (problem is None) is shown
    assert shown or "main.py tune" in (problem or "")


@pytest.mark.parametrize(
    ("environ", "xcb"),
    [
        ({"DISPLAY": ":0"}, True),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, False),
        ({"WAYLAND_DISPLAY": "wayland-0", "QT_QPA_PLATFORM": "offscreen"}, False),
    ],
)
def test_what_an_x_display_needs_is_asked_for_with_one(environ, xcb):
    assert display.needs_xcb(environ) is xcb


def test_missing_libraries_become_their_packages_each_once():
    load = only("libglib-2.0.so.0", "libgthread-2.0.so.0", "libEGL.so.1", "libxcb-cursor.so.0")

    assert display.missing_packages(window=False, load=load) == ("libglib2.0-0", "libegl1")
    assert display.missing_packages(window=True, load=load) == ("libglib2.0-0", "libegl1", "libxcb-cursor0")
    assert display.library_problem(window=False, load=load) == (
        "System libraries that Qt needs are missing: install them with `apt-get install libglib2.0-0 libegl1`."
    )


def test_nothing_missing_is_no_problem():
    assert display.library_problem(window=True, load=only()) is None


def test_it_needs_no_package():
    """`.ci/run` asks it with a bare interpreter."""
    code = "from tcl_core.hardware import display; print(*display.missing_packages(window=False))"
    root = Path(__file__).parents[3]
    subprocess.run([sys._base_executable, "-S", "-c", code], cwd=root, check=True, capture_output=True)
