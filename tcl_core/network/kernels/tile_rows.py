"""How many rows of a product there should be for the tiles that registers hold to divide them (`space/register_tiles`).

Of 17, 73 or 1,599 columns of a picture nothing good divides, and a tile of one row reads the weights anew for each.
"""

from __future__ import annotations

_SHORT_VECTOR = 8
_OF_SHORT, _OF_LONG = (4, 5, 6), tuple(range(4, 15))
"""Rows that 16 and 32 registers hold beside two or more columns."""
_FEWEST = 10
"""7 and 9 are as fast by themselves, beside one column (2 threads of a Zen 3): 195 us for 7, 214 for 8; 147 and 152."""
_MOST_COLUMNS = 0.16
"""A share, of 13, which become 15."""


def with_few_more(rows: int, lanes: int, most: float) -> int:
    """The fewest rows from so many on that tiles divide, by a share of `most` more at most; as many where none are."""
    good = _OF_SHORT if lanes <= _SHORT_VECTOR else _OF_LONG
    enough = (more for more in range(rows, int(rows * (1 + most)) + 1) if any(more % each == 0 for each in good))
    return next(enough, rows)


def columns_in_tiles(columns: int, lanes: int) -> int:
    """How many columns of a picture a convolution computes, so many of which it is asked for."""
    return with_few_more(columns, lanes, _MOST_COLUMNS) if columns >= _FEWEST else columns


def block_of(lanes: int, channels: int) -> int:
    """By how many of them so many channels are blocked; 0 for not at all."""
    return next((size for size in (lanes, lanes // 2) if size and channels % size == 0), 0)


def are_blocks_of(plain: tuple[int, ...] | None, blocked: tuple[int, ...] | None) -> bool:
    """Whether the second shape is the first, [batch, channels, height, width], with its channels in blocks."""
    if plain is None or blocked is None or (len(plain), len(blocked)) != (4, 5):
        return False
    batch, chunks, height, width, lanes = blocked
    return plain == (batch, chunks * lanes, height, width)
