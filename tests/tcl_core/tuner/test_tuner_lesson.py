"""What a lesson holds: all of little, a bounded part of much, always the round's own task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tuner_records import record, task_of

from tcl_core.batches import TaskGroup
from tcl_core.domain import Record, TaskState
from tcl_core.tuner.lesson import FIRST, MOST, MOST_OF_TASK, WORTHWHILE, is_due, lesson, some

NO_MODEL = cast(Any, None)


class Seedless(np.random.Generator):
    """A generator that must not be asked."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def permutation(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nothing is to be drawn")

    choice = permutation


@dataclass(frozen=True)
class Work:
    """A task with records, as far as a lesson looks at one."""

    key: str
    records: Sequence[Record]

    @property
    def state(self) -> TaskState:
        best_s = min((one.latency_s for one in self.records if one.latency_s is not None), default=None)
        return TaskState(task=cast(Any, None), trials=len(self.records), best_s=best_s)

    def group(self, _: object, records: Sequence[Record]) -> TaskGroup:
        return TaskGroup(task_key=self.key, batches=(), labels=np.zeros(len(records), np.float32))


def works(*sizes: int) -> dict[str, Any]:
    return {str(at): Work(str(at), [record(1e-3 + at)] * size) for at, size in enumerate(sizes)}


def test_little_is_read_as_a_whole_in_order_and_nothing_is_drawn() -> None:
    groups = lesson(works(3, 0, 5), "2", NO_MODEL, Seedless())
    assert [(group.task_key, len(group.labels)) for group in groups] == [("0", 3), ("2", 5)]


def test_a_task_without_a_success_teaches_nothing() -> None:
    failed = {"0": cast(Any, Work("0", [record(None)] * 4))}
    assert lesson(failed, "0", NO_MODEL, Seedless()) == []


@given(
    sizes=st.lists(st.integers(1, 3 * MOST_OF_TASK), min_size=1, max_size=40),
    now=st.integers(0, 39),
    seed=st.integers(0, 9),
)
def test_a_lesson_is_bounded_and_holds_the_rounds_own_task(sizes: list[int], now: int, seed: int) -> None:
    key = str(now % len(sizes))
    groups = lesson(works(*sizes), key, NO_MODEL, np.random.default_rng(seed))
    assert sum(len(group.labels) for group in groups) <= MOST
    assert max(len(group.labels) for group in groups) <= MOST_OF_TASK
    assert key in {group.task_key for group in groups}


def test_the_same_seed_gives_the_same_lesson_and_another_another() -> None:
    many = works(*[MOST_OF_TASK] * 30)

    def drawn(seed: int) -> list[str]:
        return [group.task_key for group in lesson(many, None, NO_MODEL, np.random.default_rng(seed))]

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(drawn(1)) == MOST // MOST_OF_TASK


@pytest.mark.parametrize("seed", range(3))
def test_of_many_records_the_fastest_half_stays_and_the_order(seed: int) -> None:
    latencies_s = np.random.default_rng(seed).permutation(100).tolist()
    records = [record(None), *(record(1e-3 * (1 + latency)) for latency in latencies_s)]
    kept = some(records, 20, np.random.default_rng(seed))
    assert len(kept) == 20
    fastest = sorted(one.latency_s for one in kept if one.latency_s is not None)[:10]
    assert fastest == pytest.approx([1e-3 * (1 + at) for at in range(10)])
    places = [records.index(one) for one in kept]
    assert places == sorted(places)


def test_first_rounds_do_not_wait_for_lessons() -> None:
    tried, untried = TaskState(task=task_of("a"), trials=2), TaskState(task=task_of("b"))
    assert not is_due(FIRST - 1, [tried], trained=False)
    assert is_due(FIRST, [tried, tried], trained=False)
    assert not is_due(FIRST, [tried, untried], trained=False)
    assert is_due(WORTHWHILE, [tried, untried], trained=False), "networks of hundreds of tasks would never learn"


def test_a_model_that_has_learned_waits_for_more() -> None:
    tried = TaskState(task=task_of("a"), trials=2)
    assert not is_due(WORTHWHILE - 1, [tried], trained=True)
    assert is_due(WORTHWHILE, [tried], trained=True)
