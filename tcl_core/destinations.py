"""Where what was computed goes: whether a folder takes it is asked before hours of work; files come whole or not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcl_core.errors import UserError

_TRIAL_BYTES = 1 << 20
"""About a checkpoint: a full disk still takes an empty file."""


def check_folder(folder: Path, stage: str) -> None:
    """Write and take back a trial file, where `folder` is or would be made; nothing is left behind.

    Raises:
        UserError: nothing can be written there: it is a file or lies below one, permissions, a full disk.
    """
    folder = folder.absolute()
    # A link that leads nowhere is there as well: no folder can be made in its place.
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not os.path.isdir(there):  # noqa: PTH112 - the one that raises nothing where the way to it is closed
        raise UserError(stage, f"{there} is no folder, so nothing can be written to {folder}; choose another.")
    try:
        with tempfile.TemporaryFile(dir=there) as trial:
            trial.write(bytes(_TRIAL_BYTES))
            trial.flush()
    except OSError as error:
        raise UserError(
            stage,
            f"Nothing can be written to {folder} ({error.strerror}); see to its permissions and free space, or choose "
            "another.",
        ) from error


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """Where to write, within the block, what takes the place of the file at `path` when it ends without an error: what
    was there survives a full disk. A link stays, and what it leads to is replaced. A device or a pipe, which nothing
    may take the place of, is written to itself.

    Raises:
        OSError: nothing can be written there.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = Path(os.path.realpath(path))  # `Path.resolve` raises where links go round in a circle (before Python 3.13)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=path.parent) as folder:
        whole = Path(folder) / path.name
        yield whole
        whole.replace(path)
