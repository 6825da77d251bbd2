"""The sentences a person gets: an expected error names the thing that is wrong and how to mend it."""

import errno
import os
from typing import Any

_FULL = {errno.ENOSPC, errno.EDQUOT}


class UserError(Exception):
    """Bad input or a machine that lacks something: one clear sentence, exit status 2, nothing lost.

    Attributes:
        stage: where it was noticed ("network", "target", "workspace", "measure", "library", "setup", ...).
    """

    def __init__(self, stage: str, sentence: str) -> None:
        super().__init__(sentence)
        self.stage = stage

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle both parts: the default would call the constructor with the sentence alone."""
        return (type(self), (self.stage, str(self)))


class Mendable(UserError):
    """A network that opens once a person has said more of it.

    Attributes:
        shapes: a proposal by input name that would fix all open dimensions.
        end_at: tensors in front of what stands in the way, at which it can end.
    """

    def __init__(
        self, sentence: str, shapes: tuple[tuple[str, tuple[int, ...]], ...] = (), end_at: tuple[str, ...] = ()
    ) -> None:
        super().__init__("network", sentence)
        self.shapes, self.end_at = shapes, end_at

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.shapes, self.end_at))


class NodesRefused(UserError):
    """Nodes of a network stand in the way. `nodes`: their names."""

    def __init__(self, sentence: str, nodes: tuple[str, ...]) -> None:
        super().__init__("network", sentence)
        self.nodes = nodes

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.nodes))


class Interrupted(Exception):
    """The watcher asked for a stop; everything measured so far is committed. Exit status 130."""


class Unmatched(Exception):
    """A library's results differ from onnxruntime's, or nothing could be compared, as was told. Exit status 3."""


def full_disk(error: OSError) -> str | None:
    """The sentence for a file that a disk or a quota had no room for; None for any other error."""
    if error.errno not in _FULL:
        return None
    where = f"{os.fsdecode(error.filename)} cannot be written" if error.filename else "Not everything was written"
    return f"{where} ({error.strerror}); free some space, or write elsewhere."


def first_line(error: BaseException) -> str:
    """What a foreign error says, as a part of a sentence: its first line that holds anything, without its full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200].rstrip(".") if lines else type(error).__name__
