"""How many of something, as a sentence has it: of one thing the word is another than of several."""

from __future__ import annotations


def counted(count: int, noun: str, several: str = "") -> str:
    """A number and its noun: "1 record", "1,288 records".

    Args:
        noun: of one.
        several: of another number, where that is not the noun with an s.
    """
    return f"1 {noun}" if count == 1 else f"{count:,} {several or f'{noun}s'}"


def all_of(count: int, noun: str) -> str:
    """How a sentence on all of something begins: "The only record", "All 1,288 records"."""
    return f"The only {noun}" if count == 1 else f"All {counted(count, noun)}"
