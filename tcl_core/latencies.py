"""Latencies as a person reads them: what takes a few nanoseconds has three digits, too, and not 0.0."""

from __future__ import annotations

import math

_DIGITS = 3


def microseconds(seconds: float) -> str:
    """Without the unit, to one decimal or more."""
    return _to(1, seconds * 1e6)


def milliseconds(number: float) -> str:
    """Of so many milliseconds, to three decimals or more."""
    return _to(3, number)


def _to(decimals: int, value: float) -> str:
    """With so many decimals, and more where they are not three digits."""
    leading = math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:,.{max(decimals, _DIGITS - 1 - leading)}f}"
