"""Which networks are held out where nobody has said it: by their names alone, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from tcl_core.dataset.base import Split
from tcl_core.errors import UserError

_HELD_OUT = 5
"""One network in this many is for testing, and one for validation."""


def assign_splits(names: Iterable[str], assigned: Mapping[str, Split]) -> dict[str, Split]:
    """A split for each network, by name; networks of one name, with other shapes say, share it.

    Rule: of n names, ``max(1, n // 5)`` are for testing and as many for validation, those in `assigned` counted. The
    names left are taken in the order of their SHA-256: first for testing until that is filled, then for validation,
    the rest for training. So three networks or more have one of each, two are one for testing and one for training,
    and a single one is for training.

    Raises:
        UserError: `assigned` has a name that `names` has not.
    """
    every = sorted(set(names), key=lambda name: sha256(name.encode()).digest())
    for name in assigned:
        if name not in every:
            raise UserError(
                "dataset", f"No network is called '{name}'; the networks are {', '.join(sorted(every)) or 'none'}."
            )
    share = max(1, len(every) // _HELD_OUT)
    taken = list(assigned.values())
    wanted = {Split.TEST: share if len(every) >= 2 else 0, Split.VALIDATION: share if len(every) >= 3 else 0}
    queue = [split for split, count in wanted.items() for _ in range(count - taken.count(split))]
    free = [name for name in every if name not in assigned]
    queue += [Split.TRAIN] * len(free)
    return {**assigned, **dict(zip(free, queue, strict=False))}
