"""Who lends to a task, and what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tuner_records import record, task_of

from tcl_core.domain import Candidate, DecisionDomain, DecisionKind, LoopAxis, Network, Platform, Sketch, Task
from tcl_core.store import Workspace
from tcl_core.tuner.relatives import borrow, stored_relatives

TILES = {64: ((1, 64), (2, 32), (4, 16), (8, 8)), 128: ((2, 64), (4, 32), (8, 16), (16, 8))}


def task(key: str, extent: int, anchor: str = "matmul") -> Task:
    return task_of(key, axes=(LoopAxis(extent=extent, kind="spatial"),), anchor=anchor)


def sketches(key: str, values: tuple[tuple[int, ...], ...]) -> tuple[Sketch, ...]:
    domain = DecisionDomain(instruction=0, kind=DecisionKind.TILE, values=values)
    trace = '[[["SamplePerfectTile",["l0"],[2,64],["v1","v2"]]],[]]'
    return (Sketch(task_key=key, index=0, trace_json=trace, domains=(domain,)),)


class Lender:
    """A relative whose best is told to it."""

    def __init__(self, task: Task, *tiles: tuple[int, ...]) -> None:
        self.task = task
        self.sketches = sketches(task.key, TILES[64])
        self._best = tuple(Candidate(task.key, 0, (tile,)) for tile in tiles)

    def best(self, count: int) -> Sequence[Candidate]:
        return self._best[:count]


def tiles(candidates: Sequence[Candidate]) -> list[tuple[int, ...]]:
    return [candidate.decisions[0] for candidate in candidates]


def test_the_nearest_lend_first_and_each_its_best() -> None:
    far, near = Lender(task("far", 8192), (8, 8)), Lender(task("near", 64), (4, 16), (1, 64))
    own = sketches("own", TILES[128])
    borrowed = borrow(task("own", 128), own, [far, near])
    assert tiles(borrowed) == [(8, 16), (16, 8), (2, 64)]
    assert {candidate.task_key for candidate in borrowed} == {"own"}


def test_a_task_lends_nothing_to_itself_nor_to_another_operator() -> None:
    own = task("own", 64)
    lenders = [Lender(own, (4, 16)), Lender(task("conv", 64, "conv2d"), (4, 16))]
    assert borrow(own, sketches("own", TILES[64]), lenders) == []


def test_the_same_candidate_is_borrowed_once_and_of_few_tasks() -> None:
    crowd = [Lender(task(f"t{place}", 64), (4, 16), (8, 8)) for place in range(4)]
    beyond = Lender(task("beyond", 8192), (1, 64))
    assert tiles(borrow(task("own", 64), sketches("own", TILES[64]), [beyond, *crowd])) == [(4, 16), (8, 8)]


def test_other_networks_of_the_workspace_lend(tmp_path: Path, cpu_platform: Platform) -> None:
    known, failed, unlike = task("known", 64), task("failed", 64), task("unlike", 64, "conv2d")
    network = Network(name="n", path="/n.onnx", digest="d", inputs=(), outputs=())
    fingerprint = cpu_platform.fingerprint
    with Workspace.open(tmp_path) as workspace:
        workspace.add_platform(cpu_platform)
        workspace.add_network(network, [known, failed, unlike], fingerprint)
        for each in (known, failed, unlike):
            workspace.add_sketches(fingerprint, sketches(each.key, TILES[64]))
        for key, tile, latency_s in (
            ("known", (8, 8), 3e-3),
            ("known", (4, 16), 1e-3),
            ("known", (2, 32), None),
            ("failed", (8, 8), None),
            ("unlike", (8, 8), 1e-3),
        ):
            one = record(latency_s, candidate=Candidate(key, 0, (tile,)))
            workspace.add_record(replace(one, platform=fingerprint))
        own = task("own", 128)
        counts = workspace.record_counts(fingerprint)
        lenders = stored_relatives(workspace, fingerprint, [own], counts)
        assert [lender.task.key for lender in lenders] == ["known"]
        assert tiles(borrow(own, sketches("own", TILES[128]), lenders)) == [(8, 16), (16, 8)]
        assert stored_relatives(workspace, fingerprint, [own, known], counts) == ()
