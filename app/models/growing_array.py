"""Rows of numbers that are only appended to: amortised O(1), read as NumPy views without a copy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """`(N, columns)` float64; capacity doubles when it is full."""

    def __init__(self, columns: int) -> None:
        self._rows = np.empty((64, columns))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, *row: float) -> None:
        """Add one row of `columns` numbers."""
        if self._count == len(self._rows):
            grown = np.empty((2 * self._count, self._rows.shape[1]))
            grown[: self._count] = self._rows
            self._rows = grown
        self._rows[self._count] = row
        self._count += 1

    @property
    def values(self) -> NDArray[np.float64]:
        """All rows so far; a view that later appends may leave behind."""
        return self._rows[: self._count]
