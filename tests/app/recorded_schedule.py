"""Replayed records of one task, as an engine tells them: five loops and two blocks, eight steps, TensorIR, source."""

from __future__ import annotations

from dataclasses import replace

import recorded_run

from tcl_core.domain import Candidate, Rationale, Record, Source
from tcl_core.events import Event
from tcl_core.schedule_events import (
    CodeText,
    Influence,
    InspectSchedule,
    Language,
    Place,
    PlaceKind,
    ScheduleInspected,
    ScheduleView,
    ScoreExplained,
    SourceGenerated,
    Step,
)

TASK = recorded_run.tasks()[0]
BEST_S = 4e-4


def candidate(tile: int) -> Candidate:
    return Candidate(task_key=TASK.key, sketch=1, decisions=((tile, 64 // tile), (2,)))


def places(tile: int) -> tuple[Place, ...]:
    loop = PlaceKind.SERIAL
    return (
        Place(parent=-1, kind=PlaceKind.PARALLEL, name="i_0", extent=tile, steps=(2, 3, 6), made_by=3),
        Place(parent=0, kind=loop, name="i_1", extent=64 // tile, steps=(2, 3), made_by=3),
        Place(parent=1, kind=loop, name="k", extent=96, steps=()),
        Place(parent=2, kind=PlaceKind.VECTORISED, name="j", extent=48, steps=(7,)),
        Place(parent=3, kind=PlaceKind.BLOCK, name="matmul", reads=("a[v_i, v_k]",), writes=("c[v_i, v_j]",)),
        Place(parent=0, kind=loop, name="ax0", extent=64 // tile, steps=(4,), made_by=4),
        Place(parent=5, kind=PlaceKind.BLOCK, name="relu", steps=(4,)),
    )


def steps(tile: int) -> tuple[Step, ...]:
    factors = f"{tile}·{64 // tile}"
    return (
        Step(name="GetSBlock", arguments="matmul"),
        Step(name="GetLoops", arguments="around matmul"),
        Step(name="SamplePerfectTile", arguments="i into 2", decision=factors, domain=0, places=(0, 1)),
        Step(name="Split", arguments=f"i into {tile} × {64 // tile}", places=(0, 1)),
        Step(name="ReverseComputeAt", arguments="relu under i_0", places=(0, 5, 6)),
        Step(name="SampleCategorical", arguments="one of 0, 16, 64", decision="64", domain=1),
        Step(name="Parallel", arguments="i_0", postprocessing=True, places=(0,)),
        Step(name="Vectorize", arguments="j", postprocessing=True, places=(3,)),
    )


def tensor_ir(tile: int) -> CodeText:
    inner = 64 // tile
    lines = (
        "@T.prim_func",
        "def main(a, b, c):",
        f"    for i_0 in T.parallel({tile}):",
        f"        for i_1, k in T.grid({inner}, 96):",
        "            for j in T.vectorized(48):",
        '                with T.sblock("matmul"):',
        "                    c[v_i, v_j] = c[v_i, v_j] + a[v_i, v_k] * b[v_k, v_j]  # product",
        f"        for ax0 in range({inner}):",
        '            with T.sblock("relu"):',
        "                d[v_i] = T.max(c[v_i], 0.0)",
        *((f"    # {tile} rows",) if tile == 4 else ()),
    )
    linked: tuple[tuple[int, ...], ...] = ((), (), (0,), (1, 2), (3,), (4,), (4,), (5,), (6,), (6,), ())
    return CodeText(language=Language.TENSORIR, lines=lines, places=linked[: len(lines)], start=2)


def source(long: bool = False) -> tuple[CodeText, ...]:
    llvm = ("define @lambda {", "for_body_i_0:", "  %1 = load i32", "}", "; the end", *("  ret",) * (4000 * long))
    assembly = (".L__tvm_parallel_lambda:", "\tpushq\t%rbp", "\tretq")
    return (
        CodeText(
            language=Language.LLVM,
            lines=llvm,
            places=((0,), (0,), (0,), (0,), *((),) * (len(llvm) - 4)),
            note="Linked by the loop names in labels.",
        ),
        CodeText(language=Language.ASSEMBLY, lines=assembly, places=((0,),) * 3, note="Keeps no loop names."),
    )


def view(tile: int, *, sketch: int = 1) -> ScheduleView:
    record = Record(
        candidate=replace(candidate(tile), sketch=sketch),
        platform=recorded_run.PLATFORM.fingerprint,
        trace_json="",
        structural_hash=f"{tile:016x}",
        latencies_s=(BEST_S if tile == 8 else 9.2e-4,),
        failure=None,
        rationale=Rationale(score=1.25, representativeness=0.4, diversity=0.3, uncertainty=0.2),
        cut_off=False,
        source=Source.SEARCH,
        round=4,
        measured_at=recorded_run.START,
    )
    return ScheduleView(
        record=record,
        platform=recorded_run.PLATFORM,
        task_name=TASK.name,
        anchor=TASK.anchor,
        best_s=BEST_S,
        places=places(tile),
        steps=steps(tile),
        tensor_ir=tensor_ir(tile),
    )


def explained(request: int) -> ScoreExplained:
    return ScoreExplained(
        request=request,
        score=1.5,
        influences=(
            Influence(step=2, contribution=0.5, alternatives=6, best=None, best_gain=0.0),
            Influence(step=5, contribution=-0.25, alternatives=2, best=(1,), best_gain=0.1),
        ),
        note="Model: mamba, as the workspace's runs have trained it.",
    )


def answers(question: InspectSchedule) -> list[Event]:
    """What an engine says: the best record has a tile of 8, any other one of 4."""
    shown = view(8 if question.candidate is None else 4)
    if question.candidate is not None:
        shown = replace(shown, record=replace(shown.record, candidate=question.candidate))
    return [
        ScheduleInspected(request=question.request, view=shown),
        SourceGenerated(request=question.request, texts=source()),
        explained(question.request),
    ]
