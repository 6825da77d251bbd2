"""What a dataset keeps of a failure: its stage, its cause and the beginning of its message."""

from __future__ import annotations

from dataclasses import replace

from tcl_core.domain import Failure

MESSAGE_LIMIT = 500
"""Characters of a message. Compilers give whole stack traces, and a thousand of them would outweigh the records."""


def lean(failure: Failure) -> Failure:
    """The failure as a dataset keeps it; one that is lean already stays as it is."""
    return replace(failure, cause=_readable(failure.cause), message=_readable(failure.message)[:MESSAGE_LIMIT])


def _readable(text: str) -> str:
    # Undecodable bytes of a worker's last words become escapes: Parquet's text is UTF-8.
    return text.encode("utf-8", "backslashreplace").decode()
