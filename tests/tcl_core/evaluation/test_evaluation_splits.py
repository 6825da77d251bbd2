"""No task is in two sets, and rotations test every network once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.dataset.base import DatasetNetwork, Split
from tcl_core.evaluation.splits import TaskSplit, rotations, split_tasks

KEYS = tuple("abcdefgh")


def network(name: str, split: Split, keys: tuple[str, ...]) -> DatasetNetwork:
    return DatasetNetwork(name=name, digest=name, source="", split=split, weights=tuple((key, 1) for key in keys))


many = st.lists(
    st.tuples(st.sampled_from(Split), st.lists(st.sampled_from(KEYS), unique=True, max_size=5).map(tuple)), max_size=7
).map(lambda found: tuple(network(str(index), *each) for index, each in enumerate(found)))


def disjoint(split: TaskSplit) -> bool:
    counts = Counter((*split.train, *split.validation, *split.test))
    return all(count == 1 for count in counts.values())


@given(many)
def test_every_task_is_in_one_set_and_held_out_goes_first(networks: tuple[DatasetNetwork, ...]) -> None:
    split = split_tasks(networks)
    assert disjoint(split)
    assert {*split.train, *split.validation, *split.test} == {key for one in networks for key, _ in one.weights}
    for one in networks:
        keys = {key for key, _ in one.weights}
        if one.split is Split.TEST:
            assert keys <= set(split.test) and one in split.test_networks
        elif one.split is Split.VALIDATION:
            assert not keys & set(split.train) and one in split.validation_networks


@given(many, st.integers(0, 5))
def test_rotations_test_and_validate_every_network_once(networks: tuple[DatasetNetwork, ...], seed: int) -> None:
    if len(networks) < 3:
        with pytest.raises(ValueError, match="3 networks"):
            rotations(networks, seed)
        return
    turns = rotations(networks, seed)
    assert turns == rotations(networks, seed)
    for purpose in (Split.TEST, Split.VALIDATION):
        assert Counter(digest for turn in turns for digest, split in turn.items() if split is purpose) == Counter(
            one.digest for one in networks
        )
    for turn in turns:
        assert set(turn.values()) == set(Split)
        assert disjoint(split_tasks(networks, turn))


def test_the_seed_deals_the_networks() -> None:
    networks = [network(str(index), Split.TRAIN, (str(index),)) for index in range(12)]
    assert rotations(networks, 0) != rotations(networks, 1)
    assert len(rotations(networks, 0)) == 5
