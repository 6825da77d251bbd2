"""A record opened for what-ifs, as an engine tells it: two tiles, an unroll and a compute location."""

from __future__ import annotations

from dataclasses import replace

import recorded_schedule

from tcl_core.domain import Candidate, Decision, DecisionKind, Record, Source
from tcl_core.events import Event, RecordMeasured
from tcl_core.schedule_events import PlaceKind
from tcl_core.what_if_events import (
    Control,
    Desk,
    LoopUse,
    MeasureWhatIf,
    OpenWhatIf,
    Prediction,
    ScoreWhatIf,
    WhatIfMeasured,
    WhatIfOpened,
    WhatIfScored,
)

TASK = recorded_schedule.TASK
BEST_S = recorded_schedule.BEST_S
NOTE = "Model: mamba, as the workspace's runs have trained it."
ILLEGAL: Decision = (1, 1, 64)
"""A tile that replay rejects."""
MOVED: Decision = (64, 1, 1)
"""A tile that replay changes to `READ_BACK`."""
READ_BACK: Decision = (32, 2, 1)


def splits(extent: int) -> tuple[Decision, ...]:
    powers = [1 << place for place in range(extent.bit_length())]
    return tuple((a, b, extent // a // b) for a in powers for b in powers if extent % (a * b) == 0)


CONTROLS = (
    Control(kind=DecisionKind.TILE, what="tile", block="matmul", loop="i", values=splits(64)),
    Control(kind=DecisionKind.TILE, what="tile", block="matmul", loop="j", values=splits(32)),
    Control(
        kind=DecisionKind.CATEGORY,
        what="unroll",
        block="",
        loop="",
        values=((0,), (1,), (2,), (3,)),
        labels=("off", "up to 16 steps", "up to 64 steps", "up to 512 steps"),
    ),
    Control(
        kind=DecisionKind.LOCATION,
        what="compute location",
        block="relu",
        loop="",
        values=((-1,), (0,), (1,)),
        labels=("at the root", "under loop i_0", "under loop j_0"),
    ),
)
OWN = Candidate(task_key=TASK.key, sketch=1, decisions=((8, 4, 2), (4, 4, 2), (1,), (0,)))


def record(candidate: Candidate = OWN, *, latency_s: float = 6e-4, source: Source = Source.SEARCH) -> Record:
    known = recorded_schedule.view(4).record
    return replace(known, candidate=candidate, latencies_s=(latency_s,), source=source)


def desk(made: tuple[Record, ...] = ()) -> Desk:
    return Desk(record=record(), task_name=TASK.name, runnable=True, controls=CONTROLS, best_s=BEST_S, made=made)


def turned(slot: int, value: Decision) -> Candidate:
    return replace(OWN, decisions=(*OWN.decisions[:slot], value, *OWN.decisions[slot + 1 :]))


def prediction(candidate: Candidate) -> Prediction:
    return Prediction(
        score=1.0 + candidate.decisions[0][0] / 64, ahead=11, measured=160, alike_s=(5e-4, 9e-4), note=NOTE
    )


def scored(request: int, candidate: Candidate) -> WhatIfScored:
    first = candidate.decisions[0]
    if first == ILLEGAL:
        lacking = Prediction(score=None, note=NOTE)
        return WhatIfScored(
            request=request, candidate=candidate, replayed=None, cause="a primitive does not apply", prediction=lacking
        )
    replayed = replace(candidate, decisions=(READ_BACK, *candidate.decisions[1:])) if first == MOVED else candidate
    return WhatIfScored(
        request=request,
        candidate=candidate,
        replayed=replayed,
        loops=(
            LoopUse(kind=PlaceKind.PARALLEL, name="i_0_j_0_fused", extent=32),
            LoopUse(kind=PlaceKind.VECTORISED, name="j_2", extent=2),
        ),
        prediction=prediction(replayed),
        record=record() if candidate == OWN else None,
    )


def answers(command: OpenWhatIf | ScoreWhatIf | MeasureWhatIf) -> list[Event]:
    """What an engine says."""
    match command:
        case OpenWhatIf():
            return [WhatIfOpened(request=command.request, desk=desk()), scored(command.request, OWN)]
        case ScoreWhatIf():
            return [scored(command.request, command.candidate)]
    new = record(command.candidate, latency_s=3e-4, source=Source.PERSON)
    return [
        RecordMeasured(record=new),
        WhatIfMeasured(request=command.request, record=new, known=False, best_s=3e-4),
    ]
