"""How a kernel's rows are shared out to threads, each of which is given neighbouring ones."""

from __future__ import annotations

_MANY = 4
"""So many parts a thread, and it matters little whether they come out even."""


def most_rows(rows: int, threads: int) -> int:
    """The most neighbouring rows for one thread so that all have some; all rows where that leaves only single ones."""
    shared = max(each for each in range(1, rows + 1) if rows % each == 0 and (each == 1 or each * threads <= rows))
    return shared if shared > 1 else rows


def is_even(parts: int, threads: int) -> bool:
    """Whether so many equal parts keep all threads busy to the end, or nearly."""
    return parts % threads == 0 or parts >= _MANY * threads
