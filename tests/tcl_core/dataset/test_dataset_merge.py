from __future__ import annotations

import pytest
from dataset_samples import dataset, measured, network, platform, sketch, task

from tcl_core.dataset import Split, content_digest, merge_datasets
from tcl_core.errors import UserError

HERE, THERE = ("a1", "cafe01"), ("a1", "beef02")
ELSEWHERE = {
    "platforms": {"beef02": platform("beef02")},
    "sketches": {THERE: (sketch(),)},
    "records": {THERE: (measured(on="beef02"),)},
}


def test_platforms_are_put_side_by_side() -> None:
    first, second = dataset(), dataset(**ELSEWHERE, tasks={"a1": task(weight=7)})
    merged = merge_datasets([first, second])
    assert [*merged.platforms] == ["cafe01", "beef02"]
    assert merged.records == {**first.records, **second.records}
    assert merged.sketches == {**first.sketches, **second.sketches}
    assert merged.tasks == {"a1": task(weight=7)}
    assert merged.networks == (network(),)
    assert merged.digest == content_digest(merged)


def test_one_alone_stays_itself() -> None:
    assert merge_datasets([dataset()]) == dataset()


def test_records_of_the_same_task_and_platform_are_joined() -> None:
    again = measured(2, latencies_s=(9.0,))
    merged = merge_datasets([dataset(), dataset(records={HERE: (again, measured(32))})])
    assert merged.records[HERE] == (*dataset().records[HERE], measured(32))


def test_networks_are_joined_with_what_was_measured_of_them() -> None:
    other = dataset(
        tasks={"b2": task("b2")},
        sketches={("b2", "cafe01"): (sketch("b2"),)},
        records={("b2", "cafe01"): (measured(task_key="b2"),)},
        networks=(network(weights=(("b2", 5),)), network("more", Split.TEST, weights=(("b2", 1),))),
    )
    merged = merge_datasets([dataset(), other])
    assert [(each.name, each.weights) for each in merged.networks] == [
        ("net", (("a1", 3), ("b2", 5))),
        ("more", (("b2", 1),)),
    ]


def test_what_cannot_be_merged() -> None:
    renamed = dataset(**ELSEWHERE | {"sketches": {THERE: (sketch(block="T_add"),)}}, tasks={"a1": task(block="T_add")})
    for others, words in (
        ([], "nothing to merge"),
        ([dataset(), dataset(networks=(network(split=Split.TEST),))], "for train in one dataset and for test"),
        ([dataset(), dataset(sketches={HERE: (sketch(block="other"),)})], "other sketches on the platform cafe01"),
        ([dataset(), renamed], "calls a block 'T_add'"),
    ):
        with pytest.raises(UserError, match=words) as caught:
            merge_datasets(others)
        assert caught.value.stage == "dataset"


def test_other_modules_with_the_same_block_names_are_fine() -> None:
    same_blocks = task().module_json.replace("}", ', "variables": ["x"]}')
    other = dataset(**ELSEWHERE, tasks={"a1": task(block='matmul", "x')})
    assert same_blocks != task().module_json
    assert merge_datasets([dataset(), other]).tasks["a1"] == task()
