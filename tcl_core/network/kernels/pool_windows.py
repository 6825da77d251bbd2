"""Which pixels of a row an adaptive pool takes together."""

from __future__ import annotations

from typing import Any


def window(extent: int, results: int, at: Any) -> tuple[Any, Any]:
    """Where the window of a result begins and where it ends, in a row of so many pixels: as PyTorch has it.

    Args:
        at: number of the result, or what stands for it in a tensor expression; begin and end are of its kind.
    """
    return at * extent // results, ((at + 1) * extent + results - 1) // results
