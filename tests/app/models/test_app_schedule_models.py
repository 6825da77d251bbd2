"""Diffs of two records, the loop tree, the trace, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import recorded_schedule as recorded
from PySide6.QtCore import QModelIndex, Qt

from app.models import schedule_diff, schedule_wording
from app.models.loop_tree import LoopTreeModel, place_hint
from app.models.open_schedules import Opened
from app.models.run_state import Activity, EngineHealth, RunState
from app.models.schedule_diff import Mark, Row, align
from app.models.trace_table import SHARE_ROLE, StepFilter, TraceColumn, TraceTableModel, influence_hint, signed
from tcl_core.domain import Failure, Stage
from tcl_core.schedule_events import SourceGenerated


def test_aligned_texts_are_level_and_marked() -> None:
    left, right = align(["a", "b", "c", "d"], ["a", "x", "y", "z", "d"])
    assert left == (Row(0), Row(1, Mark.CHANGED), Row(2, Mark.CHANGED), Row(None), Row(3))
    assert right == (Row(0), Row(1, Mark.CHANGED), Row(2, Mark.CHANGED), Row(3, Mark.ONLY), Row(4))


def test_long_texts_are_shown_without_a_diff() -> None:
    many = ["line"] * (schedule_diff.MOST_LINES + 1)
    left, right = align(many, ["other"])
    assert len(left) == len(many) and right == (Row(0),)
    assert not any(row.mark for row in left)


def test_steps_and_places_that_differ_are_marked() -> None:
    one, other = recorded.view(4), recorded.view(8)
    assert schedule_diff.step_marks(one.steps, other.steps) == {2: Mark.CHANGED, 3: Mark.CHANGED}
    assert schedule_diff.place_marks(one.places, other.places) == dict.fromkeys((0, 1, 5), Mark.CHANGED)
    assert schedule_diff.step_marks(one.steps, other.steps[:-1])[7] is Mark.ONLY
    assert schedule_diff.summary(one, other) == "1 of 2 decisions differs."
    assert schedule_diff.summary(one, one) == "Both sides show the same record."
    assert schedule_diff.summary(one, recorded.view(8, sketch=2)).startswith("Another sketch")


def test_the_tree_branches_only_where_there_is_a_choice(qapp: object) -> None:
    model, view = LoopTreeModel(), recorded.view(4)
    model.set_places(view.places, view.steps, {1: Mark.CHANGED})
    top = model.index(0, 0)
    assert top.data() == "i_0" and model.rowCount() == 1
    inside = [model.index(row, 0, top).data() for row in range(model.rowCount(top))]
    assert inside == ["≠ i_1", "↳ k", "↳ j", "↳ matmul", "ax0", "↳ relu"]
    assert model.place_of(model.index_of(4)) == 4 and model.place_of(QModelIndex()) == -1
    assert "made by step 4: Split" in str(top.data(Qt.ItemDataRole.ToolTipRole))
    once = replace(view.places[0], extent=1)
    assert place_hint(once, view.steps).splitlines()[0].endswith(", 1 iteration")
    assert model.as_text().splitlines()[:2] == ["i_0\t4\tparallel", "  ≠ i_1\t16\tserial"]


def test_the_trace_says_what_each_decision_does(qapp: object) -> None:
    model, view = TraceTableModel(), recorded.view(4)
    influences = {one.step: one for one in recorded.explained(1).influences}
    model.set_steps(view.steps, influences, {2: Mark.CHANGED})
    assert model.index(2, TraceColumn.DECISION).data() == "≠ 4·16"
    assert model.index(2, TraceColumn.SCORE).data() == "+0.50"
    assert model.index(5, TraceColumn.SCORE).data(SHARE_ROLE) == -0.5
    hint = str(model.index(5, 0).data(Qt.ItemDataRole.ToolTipRole))
    assert "below the mean of 2 other values" in hint and "would score 0.100 more" in hint
    worse = replace(influences[5], alternatives=1)
    assert " below the only other value, " in influence_hint(worse)
    better = replace(worse, contribution=0.5, best=None)
    assert influence_hint(better) == "Scores 0.500 above the only other value."
    assert [row.passes(StepFilter.CHANGES) for row in model.rows[:3]] == [False, False, True]
    assert sum(row.passes(StepFilter.DECISIONS) for row in model.rows) == 2
    assert model.as_text().splitlines()[3] == "3\tSamplePerfectTile\ti into 2\t≠ 4·16\t+0.50"
    assert [signed(value) for value in (0.314, -0.08, -0.001)] == ["+0.31", "−0.08", "0.00"]


def test_facts_and_remarks(qapp: object) -> None:
    opened = Opened(view=recorded.view(4), score=recorded.explained(1))
    assert schedule_wording.facts(opened) == (
        "920 µs, 2.30× the best · round 5 · score 1.25, 1.50 now · R 0.40  D 0.30  U 0.20"
    )
    assert "Model: mamba" in schedule_wording.facts_hint(opened) and not schedule_wording.remarks(opened)
    unscored = replace(opened, score=replace(recorded.explained(1), score=None, note="No model yet."))
    assert schedule_wording.remarks(replace(unscored, source=SourceGenerated(request=1, texts=(), note="None."))) == (
        "None. No model yet."
    )
    failed = replace(opened.view.record, latencies_s=(), failure=Failure(stage=Stage.COMPILE, cause="timeout"))
    assert schedule_wording.outcome(failed, 1e-3) == "failed to compile: timeout"


def test_what_is_awaited_depends_on_what_the_engine_does(qapp: object) -> None:
    run, waiting = RunState(), Opened(waiting=True)
    assert "starting" in schedule_wording.awaited(waiting, run)
    run.engine = EngineHealth.READY
    said = {}
    for activity in (Activity.RUNNING, Activity.PAUSED, Activity.TEACHING, Activity.READY):
        run.activity = activity
        said[activity] = schedule_wording.awaited(waiting, run)
    assert "between this round and the next" in said[Activity.RUNNING]
    assert len(set(said.values())) == 4
    assert not schedule_wording.awaited(Opened(view=recorded.view(4)), run)
