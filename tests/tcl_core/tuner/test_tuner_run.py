"""When a run learns: when enough is new, and from the rest before it ends."""

from __future__ import annotations

from pathlib import Path

from quick_run import heaviest, quick_run

from tcl_core.checkpoints import describe
from tcl_core.config import Budget
from tcl_core.events import Event, PhaseChanged, RecordMeasured, RoundFinished
from tcl_core.tuner.lesson import WORTHWHILE
from tcl_core.tuner.opening import Opened

TRIALS = WORTHWHILE + 4


def test_a_lesson_waits_until_enough_is_new_and_none_is_left_out(opened: Opened, tmp_path: Path) -> None:
    events = quick_run(tmp_path, opened, Budget(trials=TRIALS), heaviest(opened, 3))
    new, lessons = 0, 0
    for event in events:
        new += isinstance(event, RecordMeasured)
        if isinstance(event, RoundFinished):
            assert learned_just_before(events, event) == (new >= WORTHWHILE)
            lessons += new >= WORTHWHILE
            new = 0 if new >= WORTHWHILE else new
    assert lessons == 1
    own = tmp_path / "checkpoints" / f"{opened.platform.fingerprint}-random.safetensors"
    kept = describe(own).origin
    assert kept is not None and kept.records == TRIALS


def learned_just_before(events: list[Event], end: RoundFinished) -> bool:
    before = events[events.index(end) - 1]
    return isinstance(before, PhaseChanged) and before.stage.value == "learn"
