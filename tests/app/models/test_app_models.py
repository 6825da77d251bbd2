"""Models: shares and sorting of tasks, failures by cause, plot series, wording."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import recorded_run
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSortFilterProxyModel, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.models import quantities, wording
from app.models.failure_tree import KEPT, FailureTreeModel
from app.models.growing_array import GrowingArray
from app.models.log_table import Entry, EntryKind, LogTableModel
from app.models.plot_series import FIFTHS, EstimateSeries, ScoreSeries
from app.models.row_table import SORT_ROLE
from app.models.run_request import RunRequest
from app.models.run_state import OpenedNetwork
from app.models.task_columns import TaskColumn
from app.models.task_table import FRACTION_ROLE, KEY_ROLE, TaskTableModel
from tcl_core import events
from tcl_core.checkpoint_events import EarlierFailure
from tcl_core.domain import Candidate, Failure, Record, RecordCount, Stage, TaskState
from tcl_core.graphs import NodeKind

FONT = int(Qt.ItemDataRole.FontRole)
RECORDS = [event.record for event in recorded_run.RecordedRun().events() if isinstance(event, events.RecordMeasured)]


@pytest.fixture
def tasks(qtbot: QtBot) -> TaskTableModel:
    model = TaskTableModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    tester.setParent(model)
    model.set_tasks(recorded_run.tasks())
    return model


def cell(model: TaskTableModel, row: int, column: TaskColumn, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
    return model.index(row, column).data(role)


def test_unmeasured_tasks_show_dashes_and_sort_by_operations(tasks: TaskTableModel) -> None:
    assert cell(tasks, 0, TaskColumn.BEST) == "–"
    assert cell(tasks, 0, TaskColumn.SHARE) == "–"
    proxy = QSortFilterProxyModel()
    proxy.setSourceModel(tasks)
    proxy.setSortRole(SORT_ROLE)
    proxy.sort(TaskColumn.SHARE, Qt.SortOrder.DescendingOrder)
    first = proxy.index(0, 0).data(KEY_ROLE)
    heaviest = max(recorded_run.tasks(), key=lambda task: task.weight * task.flops)
    assert first == heaviest.key


def test_records_fill_best_trials_failures_and_shares(tasks: TaskTableModel) -> None:
    for record in RECORDS:
        tasks.add_record(record)
    tasks.flush()
    of_first = [record for record in RECORDS if record.candidate.task_key == recorded_run.tasks()[0].key]
    best_s = min(record.latency_s for record in of_first if record.latency_s is not None)
    assert cell(tasks, 0, TaskColumn.TRIALS) == str(len(of_first))
    assert cell(tasks, 0, TaskColumn.FAILED) == str(sum(record.failure is not None for record in of_first))
    assert cell(tasks, 0, TaskColumn.BEST, SORT_ROLE) == pytest.approx(best_s * 1e6)
    assert cell(tasks, 0, TaskColumn.RATE, SORT_ROLE) == pytest.approx(67.1e6 / best_s / 1e9)
    shares = [cell(tasks, row, TaskColumn.SHARE, FRACTION_ROLE) for row in range(tasks.rowCount())]
    assert sum(share for share in shares if isinstance(share, float)) == pytest.approx(1.0)


def test_flush_announces_the_rows_that_changed_at_once(tasks: TaskTableModel, qtbot: QtBot) -> None:
    rows = [TaskState(task=task, best_s=1e-3) for task in recorded_run.tasks()]
    tasks.set_states(rows)
    ranges = []
    tasks.dataChanged.connect(lambda top, bottom: ranges.append((top.row(), bottom.row())))
    for best_s, active in ((1e-3, ""), (1e-3, ""), (5e-4, ""), (5e-4, rows[5].task.key), (5e-4, rows[7].task.key)):
        tasks.update_state(replace(rows[3], trials=1, best_s=best_s))
        tasks.set_active(active)
        tasks.flush()
    assert ranges == [(3, 3), (0, 14), (5, 5), (5, 7)], "a better latency changes the shares of all"


def test_a_task_without_a_tick_is_left_out_and_one_always_stays(tasks: TaskTableModel, qtbot: QtBot) -> None:
    role = Qt.ItemDataRole.CheckStateRole
    keys = [task.key for task in recorded_run.tasks()]
    assert tasks.include == ()
    with qtbot.waitSignal(tasks.choice_changed):
        assert tasks.setData(tasks.index(2, 0), Qt.CheckState.Unchecked.value, role)
    assert tasks.include == (*keys[:2], *keys[3:])
    assert cell(tasks, 2, TaskColumn.TASK, int(role)) == Qt.CheckState.Unchecked
    assert "leaves it out" in str(cell(tasks, 2, TaskColumn.TASK, int(Qt.ItemDataRole.ToolTipRole)))
    assert not tasks.setData(tasks.index(2, 1), Qt.CheckState.Checked.value, role), "only the first column has a box"
    tasks.choose([keys[4]])
    assert tasks.include == (keys[4],)
    assert not tasks.setData(tasks.index(4, 0), Qt.CheckState.Unchecked.value, role)
    assert tasks.include == (keys[4],)
    tasks.choose_all()
    assert tasks.include == ()


def test_counts_of_other_records_leave_nothing_of_a_run(tasks: TaskTableModel) -> None:
    first, second, *_ = tasks.states
    for state in (first, second):
        tasks.update_state(
            replace(state, trials=9, failures=1, best_s=1e-3, history_s=(2e-3, 1e-3), first_s=2e-3, exhausted=True)
        )
    tasks.set_gains([(first.task.key, 1e-6), (second.task.key, 1e-6)])
    tasks.set_task_trials([(first.task.key, 64)])
    same = RecordCount(trials=9, failures=1, best_s=1e-3)
    tasks.set_counts([(first.task.key, replace(same, trials=4)), (second.task.key, same)])
    assert tasks.states[0] == TaskState(task=first.task, trials=4, failures=1, best_s=1e-3)
    assert tasks.index(0, TaskColumn.GAIN).data() == "–" and tasks.task_trials == ((first.task.key, 64),)
    assert tasks.states[1].first_s == 2e-3 and tasks.states[1].exhausted, "they are still the run's own records"
    tasks.forget_work()
    assert tasks.states[1] == TaskState(task=second.task)
    assert tasks.index(1, TaskColumn.GAIN).data() == "–" and tasks.task_trials == ((first.task.key, 64),)


def test_a_run_of_some_tasks_keeps_the_others_on_screen(tasks: TaskTableModel) -> None:
    keys = [task.key for task in recorded_run.tasks()]
    tasks.update_state(replace(tasks.states[0], trials=7))
    tasks.set_states([replace(state, trials=3) for state in tasks.states[1:3]])
    assert [state.trials for state in tasks.states[:4]] == [7, 3, 3, 0]
    assert tasks.include == tuple(keys[1:3])
    tasks.set_tasks(recorded_run.tasks())
    assert tasks.include == ()


def test_a_task_has_a_budget_of_its_own_until_it_is_emptied(tasks: TaskTableModel, qtbot: QtBot) -> None:
    keys, edit = [task.key for task in recorded_run.tasks()], int(Qt.ItemDataRole.EditRole)
    assert (cell(tasks, 3, TaskColumn.LIMIT), cell(tasks, 3, TaskColumn.LIMIT, edit)) == ("no limit", 0)
    with qtbot.waitSignal(tasks.choice_changed):
        assert tasks.setData(tasks.index(3, TaskColumn.LIMIT), 48)
    tasks.setData(tasks.index(5, TaskColumn.LIMIT), 1200)
    assert cell(tasks, 5, TaskColumn.LIMIT) == "1,200"
    hint = int(Qt.ItemDataRole.ToolTipRole)
    assert "at most 48 candidates" in str(cell(tasks, 3, TaskColumn.TASK, hint))
    tasks.setData(tasks.index(3, TaskColumn.LIMIT), 1)
    assert "at most 1 candidate of it" in str(cell(tasks, 3, TaskColumn.TASK, hint))
    tasks.setData(tasks.index(3, TaskColumn.LIMIT), 48)
    assert tasks.task_trials == ((keys[3], 48), (keys[5], 1200))
    tasks.choose(keys[4:])
    assert tasks.task_trials == ((keys[5], 1200),), "a task that is left out needs none"
    tasks.setData(tasks.index(5, TaskColumn.LIMIT), 0)
    assert tasks.task_trials == ()
    assert not tasks.setData(tasks.index(5, TaskColumn.TRIALS), 7), "no other number is a person's to change"


def test_a_task_that_a_run_leaves_out_keeps_its_budget(tasks: TaskTableModel) -> None:
    keys = [task.key for task in recorded_run.tasks()]
    tasks.set_task_trials([(keys[0], 20), (keys[1], 30), (keys[2], 40)])
    tasks.set_states(tasks.states[1:3])
    tasks.set_task_trials([(keys[1], 50)])
    assert tasks.task_trials == ((keys[1], 50),), "as the run says, of those that it tunes"
    tasks.choose_all()
    assert tasks.task_trials == ((keys[0], 20), (keys[1], 50))


def test_the_predicted_gain_is_shown_and_sorted(tasks: TaskTableModel) -> None:
    keys = [task.key for task in recorded_run.tasks()]
    assert cell(tasks, 0, TaskColumn.GAIN) == "–"
    tasks.set_gains([(keys[0], 12.5e-6), (keys[1], math.inf), (keys[2], 0.0), ("elsewhere", 1.0)])
    assert [cell(tasks, row, TaskColumn.GAIN) for row in range(4)] == ["12.5", "unknown", "0.00", "–"]
    proxy = QSortFilterProxyModel()
    proxy.setSourceModel(tasks)
    proxy.setSortRole(SORT_ROLE)
    proxy.sort(TaskColumn.GAIN, Qt.SortOrder.DescendingOrder)
    assert [proxy.index(row, 0).data(KEY_ROLE) for row in range(3)] == [keys[1], keys[0], keys[2]]


def test_numbers_are_on_the_right_and_the_busy_task_is_bold(tasks: TaskTableModel) -> None:
    alignment = cell(tasks, 0, TaskColumn.BEST, int(Qt.ItemDataRole.TextAlignmentRole))
    assert Qt.AlignmentFlag(alignment) & Qt.AlignmentFlag.AlignRight  # type: ignore[arg-type]
    tasks.set_active(recorded_run.tasks()[3].key)
    assert cell(tasks, 3, TaskColumn.TASK, FONT).bold()  # type: ignore[attr-defined]
    for other in (cell(tasks, 2, TaskColumn.TASK, FONT), cell(tasks, 3, TaskColumn.FLOPS, FONT)):
        assert other is None, "numbers in bold have no room, and are cut in their middle"
    assert "busy" in str(cell(tasks, 3, TaskColumn.TASK, int(Qt.ItemDataRole.ToolTipRole)))


def test_failures_are_grouped_by_cause_and_keep_their_message(qtbot: QtBot) -> None:
    model = FailureTreeModel()
    for number in range(KEPT + 5):
        model.add(
            Failure(stage=Stage.MEASURE, cause="timeout", message=f"late {number}\nby far"), "fused_softmax", number
        )
    model.add(Failure(stage=Stage.COMPILE, cause="timeout"), "fused_mean", 7000)
    assert model.rowCount() == 2, "the same cause in another stage is another group"
    group = model.index(0, 0)
    assert (model.rowCount(group), model.index(0, 2).data()) == (KEPT, KEPT + 5)
    assert not any(item.isEditable() for item in (model.item(0), model.item(0, 2), model.item(0).child(0)))
    assert model.message(model.index(0, 0, group)) == f"late {KEPT + 4}\nby far"
    assert model.message(model.index(1, 2)) == "timeout"
    assert (model.serial(model.index(0, 0, group)), model.serial(group)) == (KEPT + 4, None)
    assert model.total == KEPT + 6
    totals: list[int] = []
    model.modelReset.connect(lambda: totals.append(model.total))
    model.clear_all()
    assert model.total == model.rowCount() == 0
    assert totals == [0], "what listens counts none any more"


def earlier(number: int, cause: str, alike: int) -> EarlierFailure:
    failure = Failure(stage=Stage.MEASURE, cause=cause, message=f"{cause} {number}")
    return EarlierFailure(candidate=Candidate("a1", 0, ((number,),)), failure=failure, alike=alike)


def test_failures_of_earlier_sessions_are_counted_once_and_can_be_read(qtbot: QtBot) -> None:
    model = FailureTreeModel()
    told = [earlier(9, "timeout", 30), earlier(8, "timeout", 30), earlier(7, "crash", 1)]
    totals: list[int] = []
    model.rowsInserted.connect(lambda: totals.append(model.total))
    model.set_earlier(told, str.upper)
    timeouts = model.index(0, 0)
    assert (model.total, model.rowCount(), totals[-1]) == (31, 2, 31)
    assert (model.index(0, 2).data(), model.rowCount(timeouts)) == (30, 2)
    first = model.index(0, 0, timeouts)
    assert (first.data(), model.message(first), model.serial(first)) == ("A1", "timeout 9", None)
    assert model.candidate(first) == told[0].candidate and model.candidate(timeouts) is None
    assert model.message(timeouts) == "timeout 9"
    for number in (10, 11):
        model.add(earlier(number, "timeout", 0).failure, "fused_mean", number)
    assert model.total == 33
    newer = [earlier(number, "timeout", 32) for number in (11, 10, 9, 8)]
    model.set_earlier([*newer, told[2]], str.upper)
    assert model.total == 33, "the workspace holds this session's too"
    rows = [model.index(row, 0, timeouts) for row in range(model.rowCount(timeouts))]
    assert [model.message(row) for row in rows] == [f"timeout {number}" for number in (11, 10, 9, 8)]
    assert [model.serial(row) for row in rows] == [11, 10, None, None]


def test_what_earlier_runs_failed_at_is_told_after_this_session_has_failed_too(qtbot: QtBot) -> None:
    model = FailureTreeModel()
    model.add(earlier(3, "timeout", 0).failure, "fused_mean", 0)
    model.set_earlier([earlier(number, "timeout", 40) for number in (3, 2, 1)], str)
    rows = [model.index(row, 0, model.index(0, 0)) for row in range(3)]
    assert [model.message(row) for row in rows] == ["timeout 3", "timeout 2", "timeout 1"]
    assert (model.total, model.serial(rows[0]), model.serial(rows[1])) == (40, 0, None)


def scored(key: str, score: float | None, latency_s: float | None) -> Record:
    template = RECORDS[0]
    failure = None if latency_s else Failure(stage=Stage.MEASURE, cause="timeout")
    return replace(
        template,
        candidate=replace(template.candidate, task_key=key),
        latencies_s=(latency_s,) if latency_s else (),
        failure=failure,
        rationale=replace(template.rationale, score=score),
        cut_off=False,
    )


def test_scatter_of_one_task_is_rank_of_score_against_best_over_latency(qtbot: QtBot) -> None:
    series = ScoreSeries()
    for score, latency_s in ((0.2, 4e-3), (0.9, 1e-3), (0.5, None), (None, 1e-3)):
        series.add(scored("a", score, latency_s))
    points = series.points("a")
    assert points.x == pytest.approx([1 / 6, 5 / 6, 0.5])
    assert points.y.tolist() == [0.25, 1.0, 0.0]
    assert points.unscored == 1
    assert len(series.points("unknown").x) == 0


def test_scatter_ranks_scores_inside_their_round_in_order_of_measurement(qtbot: QtBot) -> None:
    series = ScoreSeries()
    rounds = (("a", 0, 1.0), ("b", 1, 500.0), ("a", 0, 3.0), ("b", 1, 100.0), ("a", 2, 2.0))
    for key, number, score in rounds:
        series.add(replace(scored(key, score, 1e-3), round=number))
    assert series.points().x.tolist() == [0.25, 0.75, 0.75, 0.25, 0.5]
    series.begin_run(())
    series.add(replace(scored("a", 0.0, 1e-3), round=2))
    assert series.points("a").x.tolist() == [0.25, 0.75, 0.5, 0.5]


def test_the_line_through_the_scatter_is_the_median_of_each_fifth_that_has_enough_points(qtbot: QtBot) -> None:
    series = ScoreSeries()
    for score in range(50):
        series.add(scored("a", float(score), 1e-3 / (score + 1)))
    assert series.points().trend == pytest.approx([0.11, 0.31, 0.51, 0.71, 0.91])
    for number in range(10):
        for score in range(FIFTHS - 1):
            series.add(replace(scored("a", float(score), 2e-5), round=number + 1))
    for score in range(FIFTHS):
        series.add(scored("b", float(score), 1e-3))
    assert series.points("a").trend == pytest.approx([0.11, 0.31, 0.51, 0.71, 0.91])
    assert np.isnan(series.points("b").trend).all()


def test_series_announce_once_a_flush(qtbot: QtBot) -> None:
    series, calls = ScoreSeries(), []
    series.changed.connect(lambda: calls.append(1))
    for record in RECORDS[:50]:
        series.add(record)
    series.flush()
    series.flush()
    assert len(calls) == 1


def test_estimate_series_starts_with_the_first_estimate(qtbot: QtBot) -> None:
    series = EstimateSeries()
    for event in recorded_run.RecordedRun().events():
        if isinstance(event, events.Progress):
            series.add(event)
    assert len(series.estimate_ms) == len(series.elapsed_s) == len(series.trials) > 0
    assert np.all(np.diff(series.estimate_ms) <= 1e-12)
    series.set_library(recorded_run.library())
    assert [line.name for line in series.references] == ["untuned TVM", "onnxruntime", "tuned"]


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)), max_size=300))
def test_growing_array_holds_what_was_appended(rows: list[tuple[float, float]]) -> None:
    array = GrowingArray(2)
    for row in rows:
        array.append(*row)
    assert len(array) == len(rows)
    assert array.values.tolist() == [list(row) for row in rows]


def test_log_is_newest_first_and_bounded(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.models.log_table.KEPT", 3)
    log = LogTableModel()
    for number in range(5):
        log.add(Entry(at=0.0, kind=EntryKind.NOTICE, sentence=f"{number}"))
    assert [log.index(row, 2).data() for row in range(log.rowCount())] == ["4", "3", "2"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, "–"), (1.5e-3, "1.50 ms"), (92e-6, "92.0 µs"), (1.784, "1.78 s"), (3e-9, "3.00 ns"), (0.412, "412 ms")],
)
def test_latencies_are_written_in_the_unit_that_suits_them(seconds: float | None, said: str) -> None:
    assert quantities.latency(seconds) == said


def test_operations_that_are_none_are_0_and_few_are_counted(tasks: TaskTableModel) -> None:
    assert [quantities.flop(value) for value in (0.0, 25.0, 1.23e7)] == ["0 FLOP", "25 FLOP", "12.3 MFLOP"]
    shown = []
    for flops in (0.0, 5_000.0, 34_500.0, 4.2e11):
        tasks.set_tasks([replace(recorded_run.tasks()[0], flops=flops)])
        shown.append(cell(tasks, 0, TaskColumn.FLOPS))
    assert shown == ["0", "< 0.01", "0.0345", "420,000"]


def test_clocks() -> None:
    assert (quantities.trials(1), quantities.trials(1288)) == ("1 trial", "1,288 trials")
    assert quantities.clock(7) == "0:07"
    assert quantities.clock(3723) == "1:02:03"
    assert (quantities.percent(0.297), quantities.percent(0.2971, 1)) == ("30 %", "29.7 %")
    assert quantities.clock_range(60, 125) == "1:00 to 2:05"
    assert quantities.clock_range(60.1, 60.2) == "1:00"


@given(st.floats(1e-3, 1e12))
def test_digits_keep_the_value(value: float) -> None:
    assert float(quantities.digits(value).replace(",", "")) == pytest.approx(value, rel=6e-3)


def test_digits_are_three_where_they_stand_side_by_side() -> None:
    assert [quantities.digits(value) for value in (0.0412, 0.19, 0.442, 1.0, 10.0)] == [
        "0.0412", "0.190", "0.442", "1.00", "10.0",
    ]  # fmt: skip


def test_time_that_nobody_can_know_is_left_out() -> None:
    known = events.Progress(
        trials=0, failed=0, elapsed_s=2.0, fraction=0.0, eta_low_s=0.0, eta_high_s=9.0, candidates_scored=0,
        estimate_s=None,
    )  # fmt: skip
    assert wording.time_left(known) == "0:00 to 0:09 left"
    assert wording.time_left(replace(known, eta_high_s=math.inf)) == ""


def test_request_becomes_the_runs_configuration() -> None:
    request = RunRequest(minutes=None, trials=64, sampler="topk", cost_model="xgb", seed=7)
    config = request.config("a.onnx", "/w")
    assert (config.budget.minutes, config.budget.trials) == (None, 64)
    assert (config.sampler.name, config.cost_model.name, config.seed) == ("topk", "xgb", 7)
    assert (config.network, config.workspace) == ("a.onnx", "/w")


def test_a_network_of_one_task_and_one_call_is_told_of_as_such() -> None:
    event = recorded_run.opened()
    opened = OpenedNetwork(network=event.network, platform=event.platform, report=event.report)
    (state,) = (TaskState(task=task) for task in event.tasks[:1])
    assert wording.network_facts(opened, [state]).startswith("1 task · ")
    node = next(node for node in event.graph.nodes if node.kind is NodeKind.CALL)
    assert wording.graph_facts(replace(event.graph, nodes=(node,), repeats=()), None) == "1 call of 1 task"


def test_network_details_name_inputs_and_issues() -> None:
    event = recorded_run.opened()
    opened = OpenedNetwork(network=event.network, platform=event.platform, report=event.report)
    details = wording.network_details(opened)
    assert "image float32[1, 3, 64, 64]" in details and "operators: Conv ×9, MatMul ×14" in details
    assert "/pool/AveragePool (AveragePool)" in details
