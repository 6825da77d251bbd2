"""MetaSchedule's JSON database: both directions, a broken line costs itself, and TVM agrees about the format."""

from __future__ import annotations

import base64
import dataclasses
import json
import struct
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from store_samples import failed, furnish, network, platform, record, sketch, task

from tcl_core.domain import (
    OWN_OPERATORS,
    Candidate,
    DecisionDomain,
    DecisionKind,
    Rationale,
    Record,
    Sketch,
    Source,
    Stage,
    TensorSpec,
)
from tcl_core.errors import UserError
from tcl_core.store import ExportOutcome, Workspace, export_records, import_records
from tcl_core.store.metaschedule import TUNING_RECORDS, WORKLOADS
from tcl_core.tvm_import import import_tensor_intrinsics

POSTPROCESSING = [["EnterPostproc", [], [], []], ["Parallel", ["l9"], [], []]]
DECISIONS = [[0, [2, 32]], [1, 1]]
DEEP = reduce(lambda inside, _: [inside], range(600 if sys.version_info < (3, 12) else 1200), [])
"""JSON is read and written as deep as this, and looked through in Python no longer: up to 3.11 that takes two of its
frames a level, and JSON one of the same thousand."""


def trace(index: int = 0, decisions: list[Any] = DECISIONS) -> list[Any]:
    return [json.loads(sketch(index=index).trace_json)[0] + POSTPROCESSING, decisions]


def tuned(number: int, **changes: object) -> Record:
    return record(number, trace_json=json.dumps(trace(decisions=[[0, [number, 64 // number]], [1, 1]])), **changes)


def lines(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text().splitlines(keepends=True)


@pytest.fixture
def exported(workspace: Workspace, tmp_path: Path) -> Path:
    workspace.add_sketches("cafe01", [sketch(index=0), sketch(index=1), sketch("b2")])
    workspace.add_records(
        [
            tuned(1, latencies_s=(0.001, 0.0030000000000000001)),
            tuned(2, task_key="b2"),
            dataclasses.replace(failed(3), trace_json=tuned(3).trace_json),
            dataclasses.replace(failed(4), trace_json="", structural_hash=""),
        ]
    )
    assert export_records(workspace, tmp_path / "out", platform="cafe01").exported == 3
    return tmp_path / "out"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace that knows the tasks, and sketch 0 of task a1 only."""
    with Workspace.open(tmp_path / "fresh") as opened:
        furnish(opened)
        opened.add_sketches("cafe01", [sketch(index=0)])
        yield opened


def test_what_is_written(exported: Path) -> None:
    workloads = [json.loads(line) for line in lines(exported, WORKLOADS)]
    assert [int(structural_hash) for structural_hash, _ in workloads] == [0xA1, 0xB2]
    module = task("a1").module_json.encode()
    assert base64.b64decode(workloads[0][1]) == struct.pack("<Q", len(module)) + module
    records = [json.loads(line) for line in lines(exported, TUNING_RECORDS)]
    assert [workload for workload, _ in records] == [0, 1, 0]
    its_trace, seconds, target, arguments = records[0][1]
    assert its_trace == json.loads(tuned(1).trace_json)
    assert seconds == [0.001, 0.003]
    assert target == json.loads(platform().target_json)
    assert arguments == [["TENSOR", "float32", [64, 512]]]
    assert records[2][1][1] == [1e10]
    assert sorted(path.name for path in exported.iterdir()) == [TUNING_RECORDS, WORKLOADS]


def test_records_are_written_one_by_one(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: WeakSet[Record] = WeakSet()
    numbers: list[int] = []
    each_record = Workspace.each_record

    def watched(workspace: Workspace, **which: Any) -> Iterator[Record]:
        for item in each_record(workspace, **which):
            alive.add(item)
            numbers.append(len(alive))
            yield item

    monkeypatch.setattr(Workspace, "each_record", watched)
    workspace.add_records([tuned(number) for number in (1, 2, 4, 8, 16)])
    assert export_records(workspace, tmp_path, platform="cafe01").exported == 5
    assert len(numbers) == 5 and max(numbers) <= 2, "a workspace may hold millions"


def test_kernels_with_operators_of_our_own_are_counted(workspace: Workspace, tmp_path: Path) -> None:
    own = dataclasses.replace(task("c3"), module_json=json.dumps({"name": f"{OWN_OPERATORS}fast_exp"}))
    workspace.add_network(network("d3"), (own,))
    workspace.add_records([tuned(1), tuned(2, task_key="c3")])
    outcome = export_records(workspace, tmp_path, platform="cafe01")
    assert outcome == ExportOutcome(exported=2, workloads=2, own=1)


def test_what_was_written_comes_back(exported: Path, fresh: Workspace) -> None:
    outcome = import_records(fresh, exported, platform="cafe01")
    assert (outcome.imported, outcome.duplicates, outcome.failures) == (3, 0, ())
    known, unknown, broken = fresh.records()
    assert known.candidate == Candidate("a1", 0, ((1, 64), (1,)))
    assert known.latencies_s == (0.001, 0.003)
    assert (known.source, known.rationale, known.structural_hash) == (Source.IMPORTED, Rationale(), "")
    assert json.loads(known.trace_json) == json.loads(tuned(1).trace_json)
    assert unknown.candidate.sketch < 0
    assert broken.failure is not None
    assert (broken.failure.stage, broken.latencies_s) == (Stage.MEASURE, ())
    again = import_records(fresh, exported, platform="cafe01")
    assert (again.imported, again.duplicates, again.failures) == (0, 3, ())


def write(folder: Path, *contents: Any) -> Path:
    """A database whose only workload is task a1."""
    folder.mkdir(exist_ok=True)
    (folder / WORKLOADS).write_text(json.dumps([str(0xA1), "AAAA"]) + "\n")
    (folder / TUNING_RECORDS).write_text("".join(f"{json.dumps([0, content])}\n" for content in contents))
    return folder


def content(its_trace: Any, seconds: Any = (0.5,), target: Any = None) -> list[Any]:
    return [its_trace, seconds, target or {"kind": "llvm", "mcpu": "znver5", "keys": ["cpu"]}, []]


def test_the_sketch_is_the_one_with_the_same_instructions_and_legal_decisions(fresh: Workspace, tmp_path: Path) -> None:
    as_tvm_writes_it = json.loads(json.dumps(trace()).replace("0.5", "0.5000001"))
    folder = write(
        tmp_path / "db",
        content(as_tvm_writes_it),
        content(trace(decisions=[[1, 0], [0, [3, 21]]])),  # not in the domain, and out of order
        content(trace(index=5)),
        content(trace(index=6)),
        content(trace(index=6, decisions=[[0, [1, 64]], [1, 1], [4, 7]])),  # a decision of postprocessing
    )
    outcome = import_records(fresh, folder, platform="cafe01")
    assert (outcome.imported, outcome.failures) == (5, ())
    candidates = [item.candidate for item in fresh.records()]
    assert candidates[0] == Candidate("a1", 0, ((2, 32), (1,)))
    assert [item.decisions for item in candidates[1:]] == [
        ((3, 21), (0,)),
        ((2, 32), (1,)),
        ((2, 32), (1,)),
        ((1, 64), (1,)),
    ]
    numbers = [item.sketch for item in candidates[1:]]
    assert all(number < 0 for number in numbers)
    assert numbers[2] == numbers[3]
    assert len(set(numbers)) == 3


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (b'[0,[[[["GetSBlock",[],["matm', "broken line"),
        (b"\xff\xfe", "broken line"),
        (b"[" * 100_000, "broken line"),
        (b"{}", "broken line"),
        (b"[0,[[],[]]]", "broken line"),
        (json.dumps([7, content(trace())]).encode(), "broken line"),
        (json.dumps([-1, content(trace())]).encode(), "broken line"),
        (json.dumps([0, content(trace(), None)]).encode(), "not measured"),
        (json.dumps([0, content(trace(), [])]).encode(), "not measured"),
        (json.dumps([0, content(trace(), [float("nan")])]).encode(), "broken line"),
        (json.dumps([0, content(trace(), ["fast"])]).encode(), "broken line"),
        (json.dumps([0, content({})]).encode(), "broken trace"),
        (json.dumps([0, content([[{}], []])]).encode(), "broken trace"),
        (json.dumps([0, content(trace(decisions=[[0, ["x"]]]))]).encode(), "broken trace"),
        (json.dumps([0, content(trace(decisions=[[0, None]]))]).encode(), "broken trace"),
        (json.dumps([0, content(trace(decisions=[[0, float("inf")]]))]).encode(), "broken trace"),
        (
            json.dumps([0, content(trace(decisions=[[0, [1, 64]], [1, 7]]))]).replace("7", "1e400").encode(),
            "broken trace",
        ),
        (json.dumps([0, content([[["GetSBlock", [], DEEP, []]], []])]).encode(), "broken line"),
        (json.dumps([0, content(trace(), target={"kind": "cuda"})]).encode(), "another target"),
        (json.dumps([0, content(trace(), target={"kind": "llvm", "mcpu": "znver4"})]).encode(), "another target"),
        (json.dumps([0, content(trace(), target="llvm")]).encode(), "another target"),
    ],
)
def test_a_broken_line_costs_itself(fresh: Workspace, tmp_path: Path, line: bytes, cause: str) -> None:
    folder = write(tmp_path / "db", content(trace()))
    good = (folder / TUNING_RECORDS).read_bytes()
    (folder / TUNING_RECORDS).write_bytes(line + b"\n\n" + good)
    outcome = import_records(fresh, folder, platform="cafe01")
    assert outcome.imported == 1
    (failure,) = outcome.failures
    assert (failure.stage, failure.cause) == (Stage.IMPORT, cause)
    assert failure.message.startswith(f"{TUNING_RECORDS}, line 1: ")


@pytest.mark.parametrize("nested", [False, True])
def test_a_broken_workload_costs_its_records(exported: Path, fresh: Workspace, nested: bool) -> None:
    first, second = lines(exported, WORKLOADS)
    deep = json.dumps(["123", base64.b64encode(b"[" * 100_000).decode()])
    (exported / WORKLOADS).write_text((deep if nested else first[:40]) + "\n" + second)
    outcome = import_records(fresh, exported, platform="cafe01")
    assert outcome.imported == 1
    assert [failure.cause for failure in outcome.failures] == ["broken line", "unknown task", "unknown task"]


def test_a_task_is_also_known_by_its_module(exported: Path, fresh: Workspace) -> None:
    module = json.dumps(json.loads(task("a1").module_json), indent=2).encode()
    packed = base64.b64encode(struct.pack("<Q", len(module)) + module).decode()
    (exported / WORKLOADS).write_text(json.dumps(["123", packed]) + "\n" + lines(exported, WORKLOADS)[1])
    assert import_records(fresh, exported, platform="cafe01").imported == 3


def test_missing_files_are_one_sentence(fresh: Workspace, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read") as caught:
        import_records(fresh, tmp_path / "none", platform="cafe01")
    assert WORKLOADS in str(caught.value)


@pytest.mark.parametrize("written", [0, 1])
def test_an_export_that_fails_leaves_both_files_of_the_old_one(
    exported: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """The lines of one are numbers in the other: a new one beside an old one would give records to other tasks."""
    for name in (WORKLOADS, TUNING_RECORDS):
        (exported / name).write_text("the old one")
    room = [*[None] * written, OSError(28, "No space left on device")]

    def full(_: int) -> None:
        if error := room.pop(0):
            raise error

    monkeypatch.setattr("tcl_core.store.metaschedule.os.fsync", full)
    with pytest.raises(UserError, match=r"records cannot be written to .* \(No space left on device\); free"):
        export_records(workspace, exported, platform="cafe01")
    assert {path.name: path.read_text() for path in exported.iterdir()} == dict.fromkeys(
        (WORKLOADS, TUNING_RECORDS), "the old one"
    )


def test_a_file_is_no_folder_for_records_and_no_workspace(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file is no folder, so nothing can be written to .*file/below; ") as caught:
        export_records(workspace, tmp_path / "file" / "below", platform="cafe01")
    assert "workspace" not in str(caught.value).replace(str(tmp_path), "")


# The same with TVM itself


@pytest.fixture(scope="module")
def tvm_candidates() -> dict[str, Any]:
    """A matrix product, its CPU design space, and two postprocessed schedules of each sketch."""
    import tvm
    import tvm_ffi

    import_tensor_intrinsics("llvm")
    from tvm import s_tir, te
    from tvm.s_tir import meta_schedule as ms

    a, b = te.placeholder((64, 64), name="a"), te.placeholder((64, 64), name="b")
    k = te.reduce_axis((0, 64), name="k")
    product = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="matmul")
    module = tvm.IRModule({"main": te.create_prim_func([a, b, product])})
    target = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2})
    context = ms.TuneContext(mod=module, target=target, space_generator="post-order-apply", num_threads=1)
    spaces = [design.trace for design in context.generate_design_space()]
    schedules = []
    for space in spaces:
        for seed in (1, 2):
            schedule = s_tir.Schedule(module, seed=seed, debug_mask="none")
            s_tir.schedule.Trace(space.insts, {}).apply_to_schedule(schedule, remove_postproc=True)
            schedule.enter_postproc()
            assert all(step.apply(schedule) for step in context.space_generator.postprocs)
            schedules.append(schedule)
    key = f"{tvm_ffi.structural_hash(module) & (2**64 - 1):016x}"
    return {"module": module, "target": target, "spaces": spaces, "schedules": schedules, "key": key}


def as_json(tvm_trace: Any) -> str:
    return json.dumps(tvm_trace.as_json(), default=lambda number: number.value)


def as_sketch(key: str, index: int, tvm_trace: Any, schedules: list[Any]) -> Sketch:
    """The sketch with just the decisions of these schedules as its domains."""
    instructions, chosen = json.loads(as_json(tvm_trace))
    domains = []
    for position, _ in sorted(chosen):
        values = [dict(json.loads(as_json(schedule.trace))[1])[position] for schedule in schedules]
        legal = tuple(tuple(value) if isinstance(value, list) else (value,) for value in values)
        domains.append(DecisionDomain(instruction=position, kind=DecisionKind.TILE, values=legal))
    return Sketch(task_key=key, index=index, trace_json=json.dumps([instructions, []]), domains=tuple(domains))


@pytest.fixture
def with_tvm_task(tmp_path: Path, tvm_candidates: dict[str, Any]) -> Iterator[Workspace]:
    import tvm

    spec = TensorSpec(name="x", dtype="float32", shape=(64, 64))
    key, schedules = tvm_candidates["key"], tvm_candidates["schedules"]
    its_task = task(key, module_json=tvm.ir.save_json(tvm_candidates["module"]), arguments=(spec,) * 3)
    with Workspace.open(tmp_path / "tvm") as opened:
        opened.add_platform(platform(target_json='{"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2}'))
        opened.add_network(network(), (its_task,))
        opened.add_sketches(
            "cafe01",
            [
                as_sketch(key, index, space, schedules[2 * index : 2 * index + 2])
                for index, space in enumerate(tvm_candidates["spaces"])
            ],
        )
        yield opened


@pytest.mark.slow
def test_tvm_reads_what_is_exported(with_tvm_task: Workspace, tvm_candidates: dict[str, Any], tmp_path: Path) -> None:
    import tvm
    from tvm.s_tir import meta_schedule as ms

    schedules, key = tvm_candidates["schedules"], tvm_candidates["key"]
    for number, schedule in enumerate(schedules):
        latency_s = 0.010 - 0.001 * number
        mine = record(number, task_key=key, trace_json=as_json(schedule.trace), latencies_s=(latency_s,))
        with_tvm_task.add_record(mine)
    assert export_records(with_tvm_task, tmp_path / "out", platform="cafe01").exported == len(schedules)

    database = ms.database.JSONDatabase(work_dir=str(tmp_path / "out"), allow_missing=False)
    assert len(database) == len(schedules)
    assert database.has_workload(tvm_candidates["module"])
    found = database.query_tuning_record(tvm_candidates["module"], tvm_candidates["target"], "main")
    assert [float(seconds) for seconds in found.run_secs] == [0.010 - 0.001 * (len(schedules) - 1)]
    replayed = database.query_schedule(tvm_candidates["module"], tvm_candidates["target"], "main")
    tvm.ir.assert_structural_equal(replayed.mod, schedules[-1].mod)


@pytest.mark.slow
def test_what_tvm_wrote_is_imported(with_tvm_task: Workspace, tvm_candidates: dict[str, Any], tmp_path: Path) -> None:
    import tvm
    from tvm import s_tir
    from tvm.s_tir import meta_schedule as ms

    folder = tmp_path / "theirs"
    folder.mkdir()
    database = ms.database.JSONDatabase(work_dir=str(folder))
    workload = database.commit_workload(tvm_candidates["module"])
    for number, schedule in enumerate(tvm_candidates["schedules"]):
        arguments = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=False)
        seconds = [0.001 * (number + 1)]
        database.commit_tuning_record(
            ms.database.TuningRecord(schedule.trace, workload, seconds, tvm_candidates["target"], arguments)
        )
    text = (folder / TUNING_RECORDS).read_text()
    (folder / TUNING_RECORDS).write_text(text + text[: len(text) // 20])  # as a kill leaves it

    outcome = import_records(with_tvm_task, folder, platform="cafe01")
    assert outcome.imported == len(tvm_candidates["schedules"])
    assert [failure.cause for failure in outcome.failures] == ["broken line"]
    for number, (found, schedule) in enumerate(zip(with_tvm_task.records(), tvm_candidates["schedules"], strict=True)):
        assert found.candidate.sketch == number // 2
        assert found.latencies_s == (pytest.approx(0.001 * (number + 1)),)
        again = s_tir.Schedule(tvm_candidates["module"], debug_mask="none")
        s_tir.schedule.Trace.apply_json_to_schedule(json.loads(found.trace_json), again)
        tvm.ir.assert_structural_equal(again.mod, schedule.mod)
