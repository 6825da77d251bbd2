"""What-ifs through a real engine: in the pause of a run, after it, and what the workspace keeps of them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from tcl_core.checkpoints.start import shipped_path
from tcl_core.domain import Candidate, Record, Source
from tcl_core.events import (
    EngineReady,
    Event,
    Finished,
    PauseRun,
    RecordMeasured,
    ResumeRun,
    RoundFinished,
    StartRun,
    StopRun,
)
from tcl_core.store import Workspace
from tcl_core.what_if_events import (
    Desk,
    MeasureWhatIf,
    OpenWhatIf,
    ScoreWhatIf,
    WhatIfMeasured,
    WhatIfOpened,
    WhatIfRefused,
    WhatIfScored,
)
from tests.end_to_end.conftest import Served, config


def last(events: list[Event], kind: type[Event]) -> Event:
    return next(event for event in reversed(events) if isinstance(event, kind))


def neighbours(desk: Desk) -> list[Candidate]:
    """What differs from the record in one decision."""
    own = desk.record.candidate
    return [
        replace(own, decisions=(*own.decisions[:slot], value, *own.decisions[slot + 1 :]))
        for slot, control in enumerate(desk.controls)
        for value in control.values[:6]
        if value != own.decisions[slot]
    ]


def unmeasured(served: Served, workspace: Path, desk: Desk) -> Candidate:
    """A legal neighbour without a record."""
    for candidate in neighbours(desk):
        served.pipe.send(
            ScoreWhatIf(request=2, workspace=str(workspace), platform=desk.record.platform, candidate=candidate)
        )
        answer = last(served.wait_for(WhatIfScored), WhatIfScored)
        assert isinstance(answer, WhatIfScored)
        if answer.replayed == candidate and answer.record is None:
            assert answer.prediction.score is not None and answer.prediction.measured
            return candidate
    raise AssertionError("every neighbour is measured or illegal")


def measure(served: Served, workspace: Path, desk: Desk) -> Record:
    candidate = unmeasured(served, workspace, desk)
    served.pipe.send(
        MeasureWhatIf(request=3, workspace=str(workspace), platform=desk.record.platform, candidate=candidate)
    )
    events = served.wait_for(WhatIfMeasured)
    told, answer = last(events, RecordMeasured), events[-1]
    assert isinstance(told, RecordMeasured) and isinstance(answer, WhatIfMeasured)
    assert not answer.known and not any(isinstance(event, WhatIfRefused) for event in events)
    assert told.record.candidate == candidate and told.record.source is Source.PERSON
    return told.record


def test_what_ifs_in_a_pause_and_after_the_run(served: Served, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    served.wait_for(EngineReady)
    served.pipe.send(StartRun(config=config(workspace, 10_000)))
    searched = last(served.wait_for(RoundFinished), RoundFinished)
    assert isinstance(searched, RoundFinished)
    served.pipe.send(PauseRun())
    time.sleep(1.0)
    question = OpenWhatIf(
        request=1, workspace=str(workspace), platform=platform_of(workspace), task_key=searched.state.task.key
    )
    served.pipe.send(question)
    opened = last(served.wait_for(WhatIfOpened), WhatIfOpened)
    assert isinstance(opened, WhatIfOpened)
    scored = served.wait_for(WhatIfScored)[-1]
    assert isinstance(scored, WhatIfScored) and "as this run has trained it so far" in scored.prediction.note
    in_pause = measure(served, workspace, opened.desk)

    served.pipe.send(ResumeRun())
    served.wait_for(RecordMeasured)
    served.pipe.send(StopRun())
    served.wait_for(Finished)
    served.pipe.send(replace(question, request=4))
    again = last(served.wait_for(WhatIfOpened), WhatIfOpened)
    assert isinstance(again, WhatIfOpened)
    assert [one.candidate for one in again.desk.made] in ([in_pause.candidate], [])
    scored = served.wait_for(WhatIfScored)[-1]
    idle = measure(served, workspace, again.desk)
    with Workspace.open(workspace, read_only=True) as kept:
        # It was stopped before its first lesson.
        ships = shipped_path(*kept.platforms())
        assert isinstance(scored, WhatIfScored) and f"from {ships.name}" in scored.prediction.note
        persons = [record for record in kept.records() if record.source is Source.PERSON]
    assert persons == [in_pause, idle]


def platform_of(workspace: Path) -> str:
    with Workspace.open(workspace, read_only=True) as kept:
        return kept.platforms()[0].fingerprint
