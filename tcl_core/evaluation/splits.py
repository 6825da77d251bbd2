"""Which tasks teach, which are used for choices, and which test: always whole networks.

A task that occurs in a test network is in no other set, and one that occurs in a validation network is not in training:
equal tasks of two networks share a key, and what was trained on must not be tested. Choices (settings, when to stop)
only ever see validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tcl_core.dataset.base import DatasetNetwork, Split


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


def split_tasks(networks: Sequence[DatasetNetwork]) -> TaskSplit:
    """Task keys by purpose."""

    def of(split: Split) -> tuple[DatasetNetwork, ...]:
        return tuple(one for one in networks if one.split is split)

    test = _keys(of(Split.TEST), frozenset())
    validation = _keys(of(Split.VALIDATION), frozenset(test))
    return TaskSplit(
        train=_keys(of(Split.TRAIN), frozenset((*test, *validation))),
        validation=validation,
        test=test,
        validation_networks=of(Split.VALIDATION),
        test_networks=of(Split.TEST),
    )


def _keys(networks: Sequence[DatasetNetwork], taken: frozenset[str]) -> tuple[str, ...]:
    keys = dict.fromkeys(key for network in networks for key, _ in network.weights)
    return tuple(key for key in keys if key not in taken)
