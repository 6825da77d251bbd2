"""Independent parts of one computation on as many threads as torch uses, each of which computes its part alone.

A ranker's pass over some sequences is forty operations of tens of microseconds and up. Torch's own way, all threads on
each operation, waits for the slowest of them forty times: 76 us a candidate on two threads against 35 us.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """`work` of every part, in their order. While it runs, torch uses one thread an operation in the whole process.

    What torch keeps for each thread (inference mode, no_grad) is for `work` to set.

    Raises:
        Whatever `work` raises of the first part that fails.
    """
    before = torch.get_num_threads()
    threads = min(before, len(parts))
    if threads <= 1:
        return [work(part) for part in parts]
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads, thread_name_prefix="side-by-side") as pool:
            return list(pool.map(work, parts))
    finally:
        torch.set_num_threads(before)


def shares(count: int, least: int) -> list[slice]:
    """`count` rows in near-equal shares, one for each thread of torch's, of at least `least` rows where there are."""
    parts = max(1, min(torch.get_num_threads(), count // least))
    edges = [count * part // parts for part in range(parts + 1)]
    return [slice(low, high) for low, high in pairwise(edges)]
