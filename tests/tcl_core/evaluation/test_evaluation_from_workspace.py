"""A workspace becomes a dataset, and one that holds nothing to learn from is refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.dataset import Split, assign_splits, content_digest, read_dataset, write_dataset
from tcl_core.domain import (
    Candidate,
    DecisionDomain,
    DecisionKind,
    Failure,
    Network,
    Platform,
    Rationale,
    Record,
    Sketch,
    Source,
    Stage,
    Task,
)
from tcl_core.errors import UserError
from tcl_core.evaluation.from_workspace import dataset_from
from tcl_core.store import Workspace

HERE, THERE = ("a1", "cafe01"), ("a1", "beef02")
TRACEBACK = 'File "/home/somebody/x.venv/site-packages/tvm/base.py", line 3: C:\\Users\\me\\k.cc and/or 1/2 GB'


def task(key: str, weight: int = 1) -> Task:
    return Task(
        key=key,
        name=f"fused_{key}",
        weight=weight,
        module_json="{}",
        flops=1.0,
        bytes_moved=1.0,
        dtype="float32",
        axes=(),
        arguments=(),
        anchor="m",
    )


def network(name: str) -> Network:
    return Network(name=name, path=f"/models/{name}.onnx", digest=f"d-{name}", inputs=(), outputs=())


def record(number: int, task_key: str = "a1", on: str = "cafe01", sketch: int = 0, **changes: object) -> Record:
    made = Record(
        candidate=Candidate(task_key, sketch, ((number,),)),
        platform=on,
        trace_json="[]",
        structural_hash="",
        latencies_s=(0.25 * (number + 1),),
        failure=None,
        rationale=Rationale(),
        cut_off=False,
        source=Source.COLLECTED,
        round=0,
        measured_at=0.0,
    )
    return replace(made, **changes)


def failed(number: int, **changes: object) -> Record:
    failure = Failure(stage=Stage.COMPILE, cause="an exception", message=TRACEBACK)
    return record(number, latencies_s=(), failure=failure, **changes)


def sketch(task_key: str) -> Sketch:
    domain = DecisionDomain(instruction=0, kind=DecisionKind.CATEGORY, values=((0,), (1,), (2,), (3,)))
    return Sketch(task_key=task_key, index=0, trace_json="[[],[]]", domains=(domain,))


@pytest.fixture
def workspace(tmp_path: Path, cpu_platform: Platform) -> Iterator[Workspace]:
    """Three networks with two measured tasks between them, on two platforms."""
    with Workspace.open(tmp_path / "work") as opened:
        for fingerprint in ("cafe01", "beef02", "unused"):
            opened.add_platform(replace(cpu_platform, fingerprint=fingerprint))
        opened.add_network(network("one"), (task("a1", 2), task("c3"), task("a1", 3)))
        opened.add_network(network("two"), (task("a1", 7), task("b2")))
        opened.add_network(network("three"), (task("b2", 4),))
        opened.add_network(network("unmeasured"), (task("c3"),))
        for key, fingerprint in (HERE, THERE, ("b2", "cafe01")):
            opened.add_sketches(fingerprint, [sketch(key)])
        yield opened


def fill(workspace: Workspace) -> None:
    workspace.add_records([record(1), failed(2), record(0), record(3, "b2"), record(1, on="beef02", cut_off=True)])
    workspace.add_repeat(record(0).candidate, "cafe01", (0.5, 0.75))


def refused(workspace: Workspace) -> str:
    with pytest.raises(UserError) as caught:
        dataset_from(workspace, {}, {})
    assert caught.value.stage == "dataset"
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_everything_that_was_measured_is_there(workspace: Workspace, tmp_path: Path) -> None:
    fill(workspace)
    made = dataset_from(workspace, {}, {"two": "ours"})
    assert {group: len(records) for group, records in made.records.items()} == {HERE: 3, THERE: 1, ("b2", "cafe01"): 1}
    assert [item.candidate for item in made.records[HERE]] == [
        item.candidate for item in (record(1), failed(2), record(0))
    ]
    assert [item.repeated_s for item in made.records[HERE]] == [(), (), (0.5, 0.75)]
    assert made.records[THERE][0].cut_off
    assert {*made.platforms} == {"cafe01", "beef02"}
    assert {key: item.weight for key, item in made.tasks.items()} == {"a1": 7, "b2": 4}
    assert made.sketches == {group: (sketch(group[0]),) for group in made.records}
    assert [(each.name, each.source, dict(each.weights)) for each in made.networks] == [
        ("one", "one.onnx", {"a1": 5}),
        ("two", "ours", {"a1": 7, "b2": 1}),
        ("three", "three.onnx", {"b2": 4}),
    ]
    assert made.digest == content_digest(made)
    write_dataset(tmp_path / "data", made)
    assert read_dataset(tmp_path / "data") == made


def test_messages_name_no_folders(workspace: Workspace) -> None:
    fill(workspace)
    failure = dataset_from(workspace, {}, {}).records[HERE][1].failure
    assert failure is not None
    assert failure.message == 'File "base.py", line 3: k.cc and/or 1/2 GB'


def test_on_one_platform_networks_are_held_out_by_the_names_of_all(workspace: Workspace) -> None:
    fill(workspace)
    (platform,) = (each for each in workspace.platforms() if each.fingerprint == "beef02")
    made = {each.name: each.split for each in dataset_from(workspace, {}, {}, only=platform).networks}
    of_all = assign_splits(("one", "two", "three", "unmeasured"), {})
    assert made == {name: of_all[name] for name in ("one", "two")} != assign_splits(made, {})


def test_splits_are_given_or_made(workspace: Workspace) -> None:
    fill(workspace)
    made = dataset_from(workspace, {}, {})
    assert {each.split for each in made.networks} == {*Split}
    given = dataset_from(workspace, {"three": Split.TEST}, {})
    assert {each.name: each.split for each in given.networks}["three"] is Split.TEST
    with pytest.raises(UserError, match="No network is called 'unmeasured'"):
        dataset_from(workspace, {"unmeasured": Split.TEST}, {})


def test_imported_records_stay_out(workspace: Workspace) -> None:
    fill(workspace)
    before = dataset_from(workspace, {}, {})
    workspace.add_record(record(3, sketch=-7, source=Source.IMPORTED))
    assert dataset_from(workspace, {}, {}) == before


def test_records_without_their_sketches(workspace: Workspace) -> None:
    fill(workspace)
    workspace.add_record(record(0, "b2", on="beef02"))
    sentence = refused(workspace)
    assert "fused_b2" in sentence
    assert "main.py collect" in sentence


def test_nothing_to_learn_from(workspace: Workspace) -> None:
    assert "holds no records of its own" in refused(workspace)
    workspace.add_record(record(3, source=Source.IMPORTED))
    assert "holds no records of its own" in refused(workspace)
    workspace.add_records([failed(0), failed(1)])
    assert "All 2 records" in refused(workspace)
    assert "(an exception)" in refused(workspace)


def test_a_record_that_cannot_be_learned_from(workspace: Workspace) -> None:
    workspace.add_record(record(0, latencies_s=(0.0,)))
    assert "not a positive number of seconds" in refused(workspace)
