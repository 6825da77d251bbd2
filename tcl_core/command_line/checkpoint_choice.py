"""Which checkpoint a command line means: a number or name as ``checkpoints list`` shows it, or a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcl_core.checkpoints.shelf import find
from tcl_core.command_line.paths import absolute
from tcl_core.config import COLD
from tcl_core.store import Workspace
from tcl_core.store.workspace import DATABASE


@contextmanager
def reading(workspace: str | None) -> Iterator[Workspace | None]:
    """The workspace of a command that names one or none.

    Raises:
        UserError: there is no such workspace, or it cannot be read.
    """
    if workspace is None:
        yield None
        return
    with Workspace.open(Path(workspace), create=False, read_only=True) as opened:
        yield opened


def checkpoint_file(text: str | None, workspace: str | Path | None) -> str | None:
    """The file of a checkpoint, from the root on; None and `COLD` stay what they are.

    Args:
        workspace: where names and numbers are looked for, besides what ships; it may be yet to be made.

    Raises:
        UserError: there is none of that name and no such file, or several go by the name.
    """
    if text is None or text == COLD:
        return text
    made = workspace is not None and (Path(workspace) / DATABASE).exists()
    with reading(str(workspace) if made else None) as opened:
        return absolute(find(opened, text).path)
