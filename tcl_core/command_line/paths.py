"""The paths of a command line, as they are kept: a run's configuration outlives the folder it was started in."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from tcl_core.errors import UserError


def absolute(path: str | Path) -> str:
    """A path from the root on, with its links followed; it need not exist.

    Raises:
        UserError: its links lead in a circle, or a folder on the way to it has a name that is not UTF-8.
    """
    return _checked(path, os.path.realpath(path))


def absolute_network(path: str | Path) -> str:
    """The path of a network from the root on, itself not followed where it is a link: its own name is the network's,
    and its weights lie beside it. In the cache of Hugging Face links lead to files that are named after their digest.

    Raises:
        UserError: see `absolute`.
    """
    named = Path(path)
    return _checked(path, str(Path(os.path.realpath(named.parent)) / named.name))


def _checked(path: str | Path, followed: str) -> str:
    if not is_utf8(followed):
        raise UserError("path", f"{readable(followed)} has a name that is not UTF-8; rename it.")
    try:
        Path(followed).stat()
    except OSError as error:  # whoever reads or writes there says what else is wrong
        if error.errno == errno.ELOOP:
            raise UserError("path", f"The links of {path} lead in a circle; name what they were to lead to.") from error
    return followed


def is_utf8(text: str) -> bool:
    """Whether JSON, SQLite and the terminal can hold a name: Python carries other bytes of it as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def readable(text: str) -> str:
    r"""A name with `\xff` for every byte that is not UTF-8."""
    return os.fsencode(text).decode(errors="backslashreplace")
