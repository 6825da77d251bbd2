"""No task is in two sets, and what is held out goes first."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tcl_core.dataset.base import DatasetNetwork, Split
from tcl_core.evaluation.splits import TaskSplit, split_tasks

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
