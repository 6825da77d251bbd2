"""Folders for what is only passing: their names tell whose they are, so that who ends a process by force can tidy up.

A network of gigabytes passes through such a folder while it is opened.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from pathlib import Path

import psutil

from tcl_core.errors import UserError

_OWNER = re.compile(r"tcl-[a-z]+-(\d{1,9})-")
_A_DAY_S = 24 * 60 * 60


def passing_folder(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """A folder of this process, gone at the end of the `with`.

    Raises:
        UserError: none can be made: no temporary folder takes anything.
    """
    try:
        return tempfile.TemporaryDirectory(prefix=f"tcl-{purpose}-{os.getpid()}-")
    except OSError as error:
        raise UserError(
            "setup",
            f"No temporary folder can be made ({error.strerror}); name a folder that can be written in TMPDIR.",
        ) from error


def tidy_up_after(pid: int) -> None:
    """Remove the folders that a process had no time to remove. It must be over."""
    for folder in Path(tempfile.gettempdir()).glob(f"tcl-*-{pid}-*"):
        shutil.rmtree(folder, ignore_errors=True)  # of somebody else, whose process had this number on another machine


def tidy_up_after_the_dead() -> None:
    """Remove what this user's processes left that nobody saw end: of those that ran out of memory, say.

    Only what is a day old: containers and machines that share the folder number their processes for themselves.
    """
    try:
        temporary = Path(tempfile.gettempdir())
    except OSError:  # there is none, as who needs one says
        return
    for folder in temporary.glob("tcl-*-*-*"):
        owner = _OWNER.match(folder.name)
        if owner and not psutil.pid_exists(int(owner[1])) and _is_old_and_ours(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_old_and_ours(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:  # another process of ours has just removed it
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and time.time() - found.st_mtime > _A_DAY_S
