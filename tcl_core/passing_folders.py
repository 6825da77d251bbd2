"""Folders for what is only passing: their names tell whose they are, so that who ends a process by force can tidy up.

A network of gigabytes passes through such a folder while it is opened.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tcl_core.errors import UserError


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
