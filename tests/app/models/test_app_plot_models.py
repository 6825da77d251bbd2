"""What the plots show: records by serial number, rounds, time by stage, the tables behind them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import recorded_run
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from app.models import best_line, plot_tables, plot_wording
from app.models.measured_records import MeasuredRecords
from app.models.plot_series import EstimateSeries, ScoreSeries
from app.models.round_series import RoundSeries
from app.models.stage_times import StageTimes
from tcl_core import events
from tcl_core.domain import Failure, Record, Source, Stage, TaskState

TEMPLATE = next(e.record for e in recorded_run.RecordedRun().events() if isinstance(e, events.RecordMeasured))
TASK = recorded_run.tasks(1)[0]


def test_one_trial_is_one() -> None:
    assert plot_wording.best_card(1.0, 3.0, 1e-3) == "1.00 ms\nafter 1 trial, 0:03"
    assert plot_wording.best_card(1200.0, 3.0, 1e-3) == "1.00 ms\nafter 1,200 trials, 0:03"


def test_a_network_of_one_task_is_told_of_as_one() -> None:
    state = TaskState(task=TASK)
    assert plot_wording.best_note([state], "", shown=False) == "the only task has no record so far"
    assert plot_wording.scatter_note(1, 0, all_drawn=True) == "1 record with a predicted score"
    assert plot_wording.scatter_note(2000, 1, all_drawn=False).splitlines() == [
        "2,000 records with a predicted score",
        "The newest are drawn as points, all of them as a shade.",
        "1 record without one",
    ]


def record(key: str, latency_s: float | None, score: float | None = 0.5, **changes: object) -> Record:
    return replace(
        TEMPLATE,
        candidate=replace(TEMPLATE.candidate, task_key=key, decisions=((4, 8, 2), (3,))),
        latencies_s=(latency_s,) if latency_s else (),
        failure=None if latency_s else Failure(stage=Stage.MEASURE, cause="timeout"),
        rationale=replace(TEMPLATE.rationale, score=score, representativeness=0.25, diversity=None),
        cut_off=False,
        **changes,
    )


def progress(at: float, elapsed_s: float) -> events.Progress:
    return events.Progress(
        at=at,
        trials=0,
        failed=0,
        elapsed_s=elapsed_s,
        fraction=0.0,
        eta_low_s=0.0,
        eta_high_s=0.0,
        candidates_scored=0,
        estimate_s=0.5,
    )


def phase(at: float, stage: Stage) -> events.PhaseChanged:
    return events.PhaseChanged(at=at, stage=stage)


def finished_round(key: str, rho: float | None) -> events.RoundFinished:
    state = TaskState(task=replace(TASK, key=key), trials=3)
    return events.RoundFinished(round=0, state=state, rank_correlation=rho, search_s=0.4, learn_s=0.5)


def test_a_record_is_kept_without_its_trace_and_found_again() -> None:
    records = MeasuredRecords()
    records.append(record("a", 4e-3))
    records.append(record("a", None, source=Source.PERSON))
    records.append(record("a", 1e-3, structural_hash="beef"))
    first, second, third = records.summaries()
    assert (first.latency_s, first.best_s, first.candidate.decisions) == (4e-3, 1e-3, ((4, 8, 2), (3,)))
    assert (second.latency_s, second.cause, second.source) == (None, "timeout", Source.PERSON)
    assert (third.serial, third.structural_hash, third.source) == (2, "beef", Source.SEARCH)
    assert third.rationale.representativeness == 0.25
    assert third.rationale.diversity is None
    assert first.candidate.decisions[0] is third.candidate.decisions[0], "equal decisions are kept once"
    assert not list(records.summaries("b"))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.floats(1e-6, 1.0)), max_size=60))
def test_improvements_fall_and_end_at_the_best(rows: list[tuple[str, float | None]]) -> None:
    records = MeasuredRecords()
    for key, latency_s in rows:
        records.append(record(key, latency_s))
    for key in "ab":
        latencies = records.latencies_s(records.improvements(key))
        assert np.all(np.diff(latencies) < 0)
        measured = [latency_s for own, latency_s in rows if own == key and latency_s]
        assert latencies[-1:].tolist() == ([min(measured)] if measured else [])


def test_improvements_and_their_times_belong_to_the_run_that_is_on() -> None:
    records = MeasuredRecords()
    records.append(record("a", 5e-3))
    records.note_time(70.0)
    records.begin_run()
    for latency_s, elapsed_s in ((4e-3, 2.0), (2e-3, 3.0)):
        records.append(record("a", latency_s))
        records.append(record("b", latency_s))
        records.note_time(elapsed_s)
    serials = records.improvements("a")
    assert serials.tolist() == [1, 3]
    assert records.elapsed_s(serials).tolist() == [2.0, 3.0]
    assert records.trials(serials).tolist() == [1.0, 3.0]
    assert (records.run_trials, records.run_elapsed_s) == (4, 3.0)


def test_a_continued_run_goes_on_from_the_best_of_earlier_runs(qtbot: QtBot) -> None:
    series = ScoreSeries()
    series.begin_run([TaskState(task=replace(TASK, key="a"), trials=9, best_s=1e-3), TaskState(task=TASK)])
    for latency_s, elapsed_s in ((4e-3, 2.0), (2e-3, 3.0)):
        series.add(record("a", latency_s))
        series.records.note_time(elapsed_s)
    assert series.points("a").y.tolist() == [0.25, 0.5], "no star"
    assert "2.00× its task's best" in plot_wording.record_card(series.records.summary(1), "task")
    line = best_line.of_task(series.records, "a")
    assert (line.trials.tolist(), line.elapsed_s.tolist(), line.best_ms.tolist()) == ([0, 2], [0, 3], [1.0, 1.0])
    series.add(record("a", 5e-4))
    series.records.note_time(4.0)
    assert series.points("a").y.tolist() == [0.125, 0.25, 1.0]
    line = best_line.of_task(series.records, "a")
    assert (line.trials.tolist(), line.best_ms.tolist()) == ([0, 3, 3], [1.0, 0.5, 0.5])
    series.begin_run(())
    assert best_line.of_task(series.records, "a") is best_line.EMPTY, "nothing is drawn before a record"
    series.add(record("a", 2e-3))
    assert best_line.of_task(series.records, "a").best_ms.tolist() == [0.5, 0.5]


def test_bests_of_earlier_runs_hold_before_a_run(qtbot: QtBot) -> None:
    series = ScoreSeries()
    series.know_bests([("a", 1e-3), ("b", None)])
    series.add(record("a", 2e-3, source=Source.PERSON))
    assert series.records.summary(0).best_s == 1e-3
    assert best_line.of_task(series.records, "a").best_ms.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rows", [((40e-3, 0.9), (20e-3, 0.5), (10e-3, None)), ((10e-3, None), (40e-3, 0.9))])
def test_the_plot_and_the_table_behind_it_know_one_best(
    qtbot: QtBot, rows: tuple[tuple[float, float | None], ...]
) -> None:
    series = ScoreSeries()
    for latency_s, score in rows:
        series.points()  # drawn meanwhile
        series.add(record("a", latency_s, score))
    table = plot_tables.of_records(series.records, str, "")
    column = table.header.index("relative_speed")
    told = [row[column] for row, (_, score) in zip(table.rows, rows, strict=True) if score is not None]
    assert series.points().y.tolist() == told


def test_a_round_has_what_was_carried_over_and_not_what_a_person_measured() -> None:
    records = MeasuredRecords()
    for source, score in ((Source.SEARCH, 1.0), (Source.CARRIED, 2.0), (Source.DRAWN, 4.0), (Source.PERSON, 3.0)):
        records.append(record("a", 1e-3, score, source=source))
    scores, _ = records.close_round()
    assert scores.tolist() == [1.0, 2.0, 4.0]
    assert "carried over" in plot_wording.origin(records.summary(1))
    assert "at random" in plot_wording.origin(records.summary(2))


def test_a_rounds_pairwise_accuracy_comes_from_its_own_scored_records(qtbot: QtBot) -> None:
    records, rounds = MeasuredRecords(), RoundSeries()
    for score, latency_s in ((3.0, 1e-3), (2.0, 2e-3), (None, 9e-3), (2.5, None)):
        records.append(record("a", latency_s, score))
    rounds.add(finished_round("a", 0.5), *records.close_round())
    rounds.add(finished_round("b", None), *records.close_round())
    first, second = rounds.points()
    assert first.scored == 3
    assert first.pairwise_accuracy == pytest.approx(2 / 3), "the failure was scored above a success"
    assert first.rank_correlation == 0.5
    assert second.scored == 0
    assert math.isnan(second.rank_correlation)
    assert math.isnan(second.pairwise_accuracy)
    assert rounds.points("b") == (second,)


def test_the_recent_rank_correlation_is_the_mean_of_the_last_nine_rounds_by_their_records(qtbot: QtBot) -> None:
    rounds = RoundSeries()
    assert rounds.recent_correlation() is None
    for rho, count in ((None, 1), (-1.0, 32), *[(0.5, 3)] * 7, (None, 2), (0.9, 32)):
        rounds.add(finished_round("a", rho), np.arange(float(count)), np.arange(1.0, count + 1))
    assert rounds.recent_correlation() == pytest.approx((7 * 3 * 0.5 + 32 * 0.9) / (7 * 3 + 32)), "two are too long ago"


def test_time_goes_to_the_stage_the_run_was_in_and_a_pause_costs_nothing(qtbot: QtBot) -> None:
    times = StageTimes()
    times.begin_phase(phase(100.0, Stage.SEARCH))
    times.begin_phase(phase(102.0, Stage.MEASURE))
    times.take_progress(progress(105.0, 5.0))
    times.take_progress(progress(165.0, 6.0))  # a minute's pause, of which the run's clock knows nothing
    times.begin_phase(phase(167.0, Stage.LEARN))
    assert dict(times.seconds) == {Stage.SEARCH: 2.0, Stage.MEASURE: 6.0}
    times.take_progress(progress(168.0, 9.0))
    assert dict(times.seconds)[Stage.LEARN] == 1.0
    assert not times.exact


def test_the_end_of_a_run_brings_exact_times(qtbot: QtBot) -> None:
    times = StageTimes()
    for event in recorded_run.RecordedRun().events():
        match event:
            case events.PhaseChanged():
                times.begin_phase(event)
            case events.Progress():
                times.take_progress(event)
            case events.Finished():
                live = dict(times.seconds)
                times.finish(event)
    assert list(live) == [Stage.SEARCH, Stage.MEASURE]
    assert dict(times.seconds)[Stage.COMPILE] == 88.0
    assert times.exact
    times.clear()
    assert times.seconds == ()


def test_a_run_that_measured_no_times_itself_has_those_that_were_seen_to_its_end(qtbot: QtBot) -> None:
    times = StageTimes()
    told: list[None] = []
    times.changed.connect(lambda: told.append(None))
    times.flush()
    assert not told, "nothing has changed"
    times.begin_phase(phase(100.0, Stage.SEARCH))
    times.take_progress(progress(103.0, 3.0))
    finished = next(event for event in recorded_run.RecordedRun().events() if isinstance(event, events.Finished))
    times.finish(replace(finished, at=105.0, seconds_by_stage=()))
    assert times.seconds == ((Stage.SEARCH, 5.0),) and not times.exact
    times.flush()
    times.flush()
    assert len(told) == 1


def test_an_estimate_that_stays_the_same_only_moves_the_end_of_the_line(qtbot: QtBot) -> None:
    series = EstimateSeries()
    for second in range(1000):
        series.add(progress(float(second), float(second)))
    assert series.elapsed_s.tolist() == [0.0, 999.0]
    series.add(replace(progress(1000.0, 1000.0), estimate_s=0.25))
    assert series.estimate_ms.tolist() == [500.0, 500.0, 250.0]


def test_lines_of_the_untuned_network_outlive_a_run_and_the_tuned_one_does_not(qtbot: QtBot) -> None:
    series = EstimateSeries()
    series.set_library(recorded_run.library())
    series.begin_run()
    assert [line.name for line in series.references] == ["untuned TVM", "onnxruntime"]
    series.clear()
    assert series.references == ()


def test_scatter_names_its_points_and_reranks_only_what_changed(qtbot: QtBot) -> None:
    series = ScoreSeries()
    for key, score in (("a", 1.0), ("b", 5.0), ("a", None), ("a", 3.0)):
        series.add(record(key, 1e-3, score))
    assert series.points().serials.tolist() == [0, 1, 3]
    assert series.points("a").serials.tolist() == [0, 3]
    series.add(record("a", 5e-4, 2.0))
    points = series.points()
    assert points.x == pytest.approx([1 / 6, 0.5, 5 / 6, 0.5])
    assert points.y.tolist() == [0.5, 1.0, 0.5, 1.0]


@given(st.lists(st.lists(st.integers(0, 20).map(float), min_size=1, max_size=40), min_size=1, max_size=8), st.data())
def test_ranks_while_scores_arrive_are_those_of_whole_rounds_at_once(
    rounds: list[list[float]], data: st.DataObject
) -> None:
    series = ScoreSeries()
    for number, scores in enumerate(rounds):
        for score in scores:
            series.add(replace(record("a", 1e-3, score), round=number))
            if data.draw(st.booleans()):
                series.points()
    exact = [(scipy.stats.rankdata(scores) - 0.5) / len(scores) for scores in rounds]
    assert series.points().x == pytest.approx(np.concatenate(exact))


def test_a_card_names_task_sketch_decisions_latency_score_and_parts() -> None:
    records = MeasuredRecords()
    records.append(record("a", 92e-6, 1.25))
    records.append(record("a", 46e-6))
    records.append(record("a", None))
    slow, best, failed = (plot_wording.record_card(each, "fused_matmul") for each in records.summaries())
    assert slow.splitlines()[0] == "fused_matmul"
    assert "sketch 0, round 1" in slow
    assert "4·8·2 | 3" in slow
    assert "92.0 µs, 2.00× its task's best" in slow
    assert "score 1.25   R 0.25   D –   U –" in slow
    assert "the best of its task" in best
    assert "failed: timeout" in failed


def test_many_decisions_are_counted_where_they_do_not_fit() -> None:
    records = MeasuredRecords()
    full = record("a", 1e-3)
    many = tuple((number, 16, 16, 4) for number in range(40))
    records.append(replace(full, candidate=replace(full.candidate, decisions=many)))
    card = plot_wording.record_card(records.summary(0), "task")
    assert len(card.splitlines()) == 7
    shown = card.count("·16·16·4")
    assert f"… {40 - shown} more" in card
    assert max(map(len, card.splitlines())) < 70


@pytest.mark.parametrize(
    ("learn_s", "last"), [(0.5, "2 scored records, searched in 0.4 s, learned in 0.5 s"), (0.0, "searched in 0.4 s")]
)
def test_a_round_tells_of_a_lesson_only_where_there_was_one(learn_s: float, last: str) -> None:
    rounds = RoundSeries()
    event = replace(finished_round("a", 0.5), learn_s=learn_s)
    rounds.add(event, np.array([0.1, 0.2]), np.array([2e-3, 1e-3]))
    assert plot_wording.round_card(rounds.points("")[0], "fused_matmul").endswith(last)
    one = replace(rounds.points("")[0], scored=1)
    assert "\n1 scored record, searched" in plot_wording.round_card(one, "fused_matmul")


def test_tables_have_a_cell_for_every_column(qtbot: QtBot) -> None:
    scores, rounds, estimates, times = ScoreSeries(), RoundSeries(), EstimateSeries(), StageTimes()
    for event in recorded_run.RecordedRun().events():
        match event:
            case events.RecordMeasured():
                scores.add(event.record)
            case events.RoundFinished():
                rounds.add(event, *scores.records.close_round())
            case events.Progress():
                estimates.add(event)
                scores.records.note_time(event.elapsed_s)
            case events.Finished():
                times.finish(event)
    estimates.set_library(recorded_run.library())
    tables = (
        plot_tables.of_records(scores.records, str, ""),
        plot_tables.of_records(scores.records, str, TASK.key),
        plot_tables.of_rounds(rounds, str, ""),
        plot_tables.of_best(best_line.of_network(estimates), "network"),
        plot_tables.of_best(best_line.of_task(scores.records, TASK.key), TASK.name),
        plot_tables.of_stages(times),
    )
    lengths = []
    for table in tables:
        rows = list(table.rows)
        assert {len(row) for row in rows} == {len(table.header)}
        lengths.append(len(rows))
    assert lengths[:3] == [360, 24, 30]
    assert lengths[-1] == 4
