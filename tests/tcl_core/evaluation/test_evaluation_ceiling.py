"""What noise leaves of top-1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tcl_core.dataset.base import Dataset, Measured
from tcl_core.evaluation.ceiling import ceiling
from tcl_core.evaluation.groups import Groups
from tests.tcl_core.evaluation.conftest import STRONG, TEST


def with_repeats(dataset: Dataset, repeat: Callable[[int, Measured], tuple[float, ...]]) -> Dataset:
    records = {
        key: tuple(replace(one, repeated_s=repeat(index, one)) for index, one in enumerate(found))
        for key, found in dataset.records.items()
    }
    return replace(dataset, records=records)


def weighted(dataset: Dataset, pick: Callable[[list[float]], float], flags: tuple[bool, ...] = (False, True)) -> float:
    """Seconds of the test networks where each task takes what `pick` makes of its records that were cut off, or not."""
    return sum(
        weight
        * pick([one.latencies_s[0] for one in dataset.records[key, STRONG] if one.latencies_s and one.cut_off in flags])
        for network in dataset.networks[2:]
        for key, weight in network.weights
    )


def test_without_noise_a_repeat_ranks_perfectly(dataset: Dataset) -> None:
    found = ceiling(Groups(dataset), STRONG, dataset.networks[2:], seed=0, draws=5)
    assert found is not None
    assert found.direct == pytest.approx(1)
    assert found.simulated.to_json() == pytest.approx([1, 0])
    assert found.direct_tasks == len(TEST)


def test_noise_lowers_it(dataset: Dataset) -> None:
    def noisy(_index: int, one: Measured) -> tuple[float, ...]:
        """The second measurement turns the order round."""
        return (1e-8 / one.latencies_s[0],) if one.latencies_s else ()

    found = ceiling(Groups(with_repeats(dataset, noisy)), STRONG, dataset.networks[2:], seed=0, draws=20)
    assert found is not None
    assert found.direct is not None and found.direct < 1
    assert found.simulated.mean < 1 and found.simulated.sd > 0
    again = ceiling(Groups(with_repeats(dataset, noisy)), STRONG, dataset.networks[2:], seed=0, draws=20)
    assert found == again
    other = ceiling(Groups(with_repeats(dataset, noisy)), STRONG, dataset.networks[2:], seed=1, draws=20)
    assert other is not None and other.direct == found.direct and other.simulated != found.simulated


def test_noise_of_other_networks_counts_where_the_judged_ones_have_no_repeats_of_their_own(dataset: Dataset) -> None:
    judged = {key for network in dataset.networks[2:] for key, _ in network.weights}

    def with_noise(there: bool) -> Dataset:
        """Repeats without noise on the judged tasks or on none of them, wild ones on the others."""
        records = {
            key: tuple(
                replace(one, repeated_s=one.latencies_s if there else ())
                if key[0] in judged
                else replace(one, repeated_s=(one.latencies_s[0] * (4 if index % 2 else 1),) if one.latencies_s else ())
                for index, one in enumerate(found)
            )
            for key, found in dataset.records.items()
        }
        return replace(dataset, records=records)

    own = ceiling(Groups(with_noise(there=True)), STRONG, dataset.networks[2:], seed=0, draws=20)
    borrowed = ceiling(Groups(with_noise(there=False)), STRONG, dataset.networks[2:], seed=0, draws=20)
    assert own is not None and own.own and own.simulated.mean == pytest.approx(1)
    assert borrowed is not None and not borrowed.own and borrowed.simulated.mean < 1


@pytest.mark.parametrize(("repeated", "own"), [(8, True), (7, False)])
def test_the_judged_tasks_need_eight_ratios_of_records_that_were_not_cut_off(
    dataset: Dataset, repeated: int, own: bool
) -> None:
    left = repeated
    records = {}
    for key, found in dataset.records.items():
        kept = []
        for one in found:
            # Another platform's repeats, and those of what was cut off, are there all the same.
            counted = key[1] == STRONG and not one.cut_off and bool(one.latencies_s)
            kept.append(
                replace(one, repeated_s=() if counted and (key[0] not in TEST or not left) else one.latencies_s)
            )
            left -= counted and key[0] in TEST and left > 0
        records[key] = tuple(kept)
    found = ceiling(Groups(replace(dataset, records=records)), STRONG, dataset.networks[2:], seed=0, draws=2)
    assert found is not None and found.own is own
    ours = {key: each for key, each in records.items() if key[1] == STRONG and (key[0] in TEST or not own)}
    assert found.repeated == sum(bool(one.repeated_s) for each in ours.values() for one in each)


def test_without_repeats_it_is_not_known(dataset: Dataset) -> None:
    assert ceiling(Groups(with_repeats(dataset, lambda *_: ())), STRONG, dataset.networks[2:], seed=0) is None
    once = with_repeats(dataset, lambda index, one: () if index else one.latencies_s)
    alone = ceiling(Groups(once), STRONG, dataset.networks[2:], seed=0, draws=2)
    assert alone is not None and (alone.direct, alone.direct_tasks) == (None, 0)


def test_a_repeat_that_turns_the_order_round_finds_the_slowest(dataset: Dataset) -> None:
    def turned(_index: int, one: Measured) -> tuple[float, ...]:
        return (1e-8 / one.latencies_s[0],) if one.latencies_s else ()

    found = ceiling(Groups(with_repeats(dataset, turned)), STRONG, dataset.networks[2:], seed=0, draws=2)
    assert found is not None
    assert found.direct == pytest.approx(weighted(dataset, min) / weighted(dataset, max))


def test_the_second_measurement_ranks_and_the_first_one_judges(dataset: Dataset) -> None:
    """Measured again, the best of each task are the slowest by far: the next best are chosen, as fast as they were."""

    def slowed(_index: int, one: Measured) -> tuple[float, ...]:
        own = dataset.records[one.candidate.task_key, one.platform]
        best_s = min(other.latencies_s[0] for other in own if other.latencies_s)
        return tuple(100 * latency if latency == best_s else latency for latency in one.latencies_s)

    def next_best(latencies: list[float]) -> float:
        return min(set(latencies) - {min(latencies)})

    found = ceiling(Groups(with_repeats(dataset, slowed)), STRONG, dataset.networks[2:], seed=0, draws=2)
    assert found is not None
    assert found.direct == pytest.approx(weighted(dataset, min) / weighted(dataset, next_best))


def test_records_that_were_cut_off_take_the_noise_of_their_like(dataset: Dataset) -> None:
    def noisy(_index: int, one: Measured) -> tuple[float, ...]:
        return tuple((1e-3 if one.cut_off else 1.0) * latency for latency in one.latencies_s)

    found = ceiling(Groups(with_repeats(dataset, noisy)), STRONG, dataset.networks[2:], seed=0, draws=5)
    assert found is not None
    best_s, found_s = weighted(dataset, min), weighted(dataset, min, (True,))
    assert best_s < found_s
    assert found.simulated.to_json() == pytest.approx([best_s / found_s, 0])


def test_a_task_without_a_success_is_left_out(dataset: Dataset) -> None:
    failed = tuple(one for one in dataset.records["t", STRONG] if one.failure)
    some = replace(dataset, records={**dataset.records, ("t", STRONG): failed})
    found = ceiling(Groups(some), STRONG, dataset.networks[2:], seed=0, draws=2)
    assert found is not None
    assert found.direct_tasks == 1
