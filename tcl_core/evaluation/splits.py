"""Which tasks teach, which are used for choices, and which test: always whole networks.

A task that occurs in a test network is in no other set, and one that occurs in a validation network is not in training:
equal tasks of two networks share a key, and what was trained on must not be tested. Choices (settings, when to stop)
only ever see validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tcl_core.dataset.base import DatasetNetwork, Split

_FOLDS = 5
_LEAST = 3

Assignment = Mapping[str, Split]
"""What each network is for, by its digest."""


@dataclass(frozen=True, kw_only=True)
class TaskSplit:
    """Task keys by purpose, each in the order of the networks, and the held-out networks themselves.

    The three sets of keys are disjoint. A network keeps all its tasks: in `validation_networks` those are left out of a
    figure that are not in `validation`.
    """

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    validation_networks: tuple[DatasetNetwork, ...]
    test_networks: tuple[DatasetNetwork, ...]


def split_tasks(networks: Sequence[DatasetNetwork], assigned: Assignment | None = None) -> TaskSplit:
    """Task keys by purpose; `assigned` takes the place of the networks' own splits."""

    def of(split: Split) -> tuple[DatasetNetwork, ...]:
        return tuple(one for one in networks if (assigned[one.digest] if assigned else one.split) is split)

    test = _keys(of(Split.TEST), frozenset())
    validation = _keys(of(Split.VALIDATION), frozenset(test))
    return TaskSplit(
        train=_keys(of(Split.TRAIN), frozenset((*test, *validation))),
        validation=validation,
        test=test,
        validation_networks=of(Split.VALIDATION),
        test_networks=of(Split.TEST),
    )


def rotations(networks: Sequence[DatasetNetwork], seed: int) -> tuple[Assignment, ...]:
    """Leave-networks-out: every network is tested once and serves for validation once.

    With few networks the result of one split hangs on which they are; a rotation averages over that. Networks are
    dealt by the seed onto at most five folds; fold i tests, the next one validates, the others teach.

    Raises:
        ValueError: fewer than three networks.
    """
    if len(networks) < _LEAST:
        raise ValueError(f"a rotation needs {_LEAST} networks, not {len(networks)}")
    folds = min(_FOLDS, len(networks))
    digests = sorted(network.digest for network in networks)
    dealt = np.random.default_rng(seed).permutation(len(digests))
    fold_of = {digests[index]: place % folds for place, index in enumerate(dealt)}
    purposes = {0: Split.TEST, 1: Split.VALIDATION}
    return tuple(
        {digest: purposes.get((fold - turn) % folds, Split.TRAIN) for digest, fold in fold_of.items()}
        for turn in range(folds)
    )


def _keys(networks: Sequence[DatasetNetwork], taken: frozenset[str]) -> tuple[str, ...]:
    keys = dict.fromkeys(key for network in networks for key, _ in network.weights)
    return tuple(key for key in keys if key not in taken)
