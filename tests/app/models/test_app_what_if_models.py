"""What-ifs without widgets: splits that stay legal, undo, what is said, and the list of what was measured."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import recorded_what_if as recorded
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from app.models import what_if_wording as wording
from app.models.run_state import Activity, EngineHealth, RunState
from app.models.tile_choices import factors_at, split_with
from app.models.what_if import WhatIf
from tcl_core.domain import Source
from tcl_core.schedule_events import PlaceKind
from tcl_core.what_if_events import LoopUse, Prediction, WhatIfMeasured

SPLITS = recorded.splits(64)


@given(st.sampled_from(SPLITS), st.integers(0, 2), st.data())
def test_a_chosen_factor_gives_a_legal_split_that_has_it(
    current: tuple[int, ...], place: int, data: st.DataObject
) -> None:
    factor = data.draw(st.sampled_from(factors_at(SPLITS, place)))
    split = split_with(SPLITS, current, place, factor)
    assert split in SPLITS and split[place] == factor and math.prod(split) == 64
    if factor == current[place]:
        assert split == current


def test_the_nearest_factor_follows() -> None:
    assert split_with(SPLITS, (8, 4, 2), 0, 16) == (16, 2, 2)
    assert split_with(SPLITS, (8, 4, 2), 2, 4) == (8, 2, 4)
    assert split_with(SPLITS, (8, 4, 2), 0, 64) == (64, 1, 1)
    with pytest.raises(ValueError, match="empty"):
        split_with(SPLITS, (8, 4, 2), 0, 5)


@pytest.fixture
def what_if(qapp: object) -> WhatIf:
    made = WhatIf()
    made.open(recorded.desk())
    return made


def test_each_turn_is_undone_and_done_again(what_if: WhatIf) -> None:
    seen: list[object] = []
    what_if.turned.connect(lambda: seen.append(what_if.decisions))
    what_if.turn(0, (16, 2, 2))
    what_if.turn(2, (3,))
    what_if.turn(2, (3,))
    assert what_if.undo.count() == 2 and what_if.undo.undoText() == "unroll"
    what_if.undo.undo()
    assert what_if.candidate == recorded.turned(0, (16, 2, 2))
    what_if.go_back()
    assert what_if.candidate == recorded.OWN
    what_if.undo.undo()
    assert what_if.decisions[0] == (16, 2, 2)
    assert len(seen) == 5
    what_if.open(recorded.desk())
    assert not what_if.undo.canUndo()


def test_an_answer_to_other_decisions_is_none(what_if: WhatIf) -> None:
    what_if.scored = recorded.scored(1, recorded.OWN)
    assert what_if.answer is what_if.scored
    what_if.turn(2, (3,))
    assert what_if.answer is None
    what_if.undo.undo()
    assert what_if.answer is what_if.scored


def test_what_was_measured_is_listed_with_what_it_changed(what_if: WhatIf) -> None:
    candidate = recorded.turned(0, (16, 2, 2))
    what_if.turn(0, (16, 2, 2))
    what_if.scored = recorded.scored(1, candidate)
    record = recorded.record(candidate, latency_s=3e-4, source=Source.PERSON)
    measured = WhatIfMeasured(request=2, record=record, known=False, best_s=3e-4)
    what_if.take_measured(measured, what_if.scored.prediction)
    table = what_if.made
    cells = [str(table.index(0, column).data()) for column in range(table.columnCount())]
    assert cells == ["1", "i 16·2·2", "1.25, 12th", "300 µs", "the best"]
    hint = str(table.index(0, 1).data(Qt.ItemDataRole.ToolTipRole))
    assert hint.splitlines() == ["tile of loop i in matmul: 16·2·2, was 8·4·2", "300 µs, the best of its task"]
    assert what_if.answer is not None and what_if.answer.record == record
    assert what_if.desk is not None and what_if.desk.best_s == 3e-4
    what_if.take_measured(replace(measured, known=True), None)
    assert table.rowCount() == 1
    slower = recorded.record(recorded.turned(2, (0,)), latency_s=6e-4, source=Source.PERSON)
    what_if.take_measured(replace(measured, record=slower), None)
    assert table.index(1, 4).data() == "2.00×" and table.index(1, 2).data() == "1.25"


def test_earlier_what_ifs_are_listed_and_taken_over(what_if: WhatIf) -> None:
    earlier = recorded.record(recorded.turned(3, (1,)), source=Source.PERSON)
    what_if.open(recorded.desk((earlier,)))
    assert what_if.made.rowCount() == 1
    what_if.take_over(what_if.made.made(0).record.candidate)
    assert what_if.decisions[3] == (1,) and what_if.undo.canUndo()
    assert not what_if.fits(replace(earlier.candidate, sketch=0))
    assert not what_if.fits(recorded.turned(3, (7,)))


@pytest.mark.parametrize(
    ("ahead", "measured", "text"),
    [
        (11, 160, "12th of 160 measured"),
        (20, 160, "21st of 160 measured"),
        (0, 160, "above all 160 measured"),
        (160, 160, "below all 160 measured"),
        (0, 1, "above the only one measured"),
        (1, 1, "below the only one measured"),
        (0, 0, "no other record to rank it among"),
    ],
)
def test_a_rank_is_a_phrase(ahead: int, measured: int, text: str) -> None:
    assert wording.rank(Prediction(score=1.0, ahead=ahead, measured=measured)) == text
    assert not wording.rank(Prediction(score=None, ahead=ahead, measured=measured))


def test_ordinals() -> None:
    assert [wording.ordinal(one) for one in (1, 2, 3, 4, 11, 12, 13, 22, 1003)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "22nd", "1,003rd"),
    ]


def test_loops_are_told_by_how_they_run() -> None:
    uses = (
        LoopUse(kind=PlaceKind.PARALLEL, name="i", extent=32),
        LoopUse(kind=PlaceKind.VECTORISED, name="j", extent=8),
        LoopUse(kind=PlaceKind.VECTORISED, name="j", extent=8),
        LoopUse(kind=PlaceKind.BOUND, name="k", extent=4, axis="threadIdx.x"),
    )
    assert wording.loops(uses) == "parallel: i 32; vectorised: j 8; threadIdx.x: k 4"


def test_measuring_is_held_with_a_reason(qapp: object) -> None:
    run = RunState()

    def held(**changed: object) -> str:
        facts = {"answer": None, "measuring": False, "runnable": True} | changed
        return wording.held(run=run, **facts)  # type: ignore[arg-type]

    assert held() == "The engine is starting."
    run.engine, run.activity = EngineHealth.READY, Activity.RUNNING
    assert held() == ""
    assert held(measuring=True) == "A what-if is being measured."
    assert held(runnable=False).startswith("This machine cannot run")
    assert held(answer=recorded.scored(1, recorded.OWN)) == "It is measured already."
    assert "no schedule" in held(answer=recorded.scored(1, recorded.turned(0, recorded.ILLEGAL)))
    run.activity = Activity.TEACHING
    assert held() == "The engine is at work on a checkpoint."
