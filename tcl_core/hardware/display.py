"""Whether a window can open here: a display, and the system libraries Qt loads. Standard library only.

Qt itself ends the process with a page of text when its plugin lacks a library; these checks come first and name the
packages. They are asked before any package is installed, by `main.py` and `.ci/run`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping

OFFSCREEN_LIBRARIES = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
}
"""What Qt's libraries need (their NEEDED entries), and the Debian packages that have it."""

XCB_LIBRARIES = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
"""What the plugin for X displays needs on top."""


def missing_packages(*, window: bool, load: Callable[[str], object] = ctypes.CDLL) -> tuple[str, ...]:
    """Debian packages of the libraries that cannot be loaded; empty elsewhere than on Linux.

    Args:
        window: for an X display, or offscreen only.
        load: opens a library by its soname; raises OSError when it is not there.
    """
    if sys.platform != "linux":
        return ()
    libraries = {**OFFSCREEN_LIBRARIES, **(XCB_LIBRARIES if window else {})}
    missing = []
    for library, package in libraries.items():
        try:
            load(library)
        except OSError:
            missing.append(package)
    return tuple(dict.fromkeys(missing))


def library_problem(*, window: bool, load: Callable[[str], object] = ctypes.CDLL) -> str | None:
    """One sentence that names the missing packages, or None."""
    missing = missing_packages(window=window, load=load)
    if not missing:
        return None
    return f"System libraries that Qt needs are missing: install them with `apt-get install {' '.join(missing)}`."


def needs_xcb(environ: Mapping[str, str]) -> bool:
    """Whether Qt will open its window through X."""
    asked = environ.get("QT_QPA_PLATFORM", "").split(";")[0].split(":")[0]
    return sys.platform == "linux" and asked in {"", "xcb"} and not environ.get("WAYLAND_DISPLAY")


def display_problem(environ: Mapping[str, str]) -> str | None:
    """One sentence when no window can be shown, with what to do in a terminal instead; or None."""
    asked = environ.get("QT_QPA_PLATFORM", "").split(";")[0].split(":")[0]
    if sys.platform != "linux" or asked not in {"", "xcb", "wayland"}:
        return None
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return None
    return "There is no display for the studio: `python3 main.py tune` does the same work in this terminal."
