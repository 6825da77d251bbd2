"""Evaluation and comparison of checkpoints in their panel: the heat map, its words, and what differs between two."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import checkpoint_samples
import pytest
import recorded_run
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models import comparison, evaluation
from app.models.evaluation import EvaluationRequest
from app.models.evaluation_matrix import HEAT_ROLE
from app.models.run_state import Activity, EngineHealth
from app.models.studio import StudioModels
from app.tokens import DARK, LIGHT
from app.views.checkpoints_panel import CheckpointsPanel
from tcl_core.evaluation_events import EvaluateCheckpoints

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
WORKSPACE = "/workspaces/sample"
SECOND, FIRST = checkpoint_samples.checkpoints()[0], checkpoint_samples.checkpoints()[3]


@pytest.fixture
def models(qtbot: QtBot) -> StudioModels:
    made = StudioModels()
    made.checkpoints.set_listing(checkpoint_samples.listing(WORKSPACE))
    return made


@pytest.fixture
def panel(models: StudioModels, qtbot: QtBot) -> CheckpointsPanel:
    made = CheckpointsPanel(models)
    qtbot.addWidget(made)
    made.apply_tokens(LIGHT)
    made.resize(1000, 360)
    made.show()
    return made


def cells(panel: CheckpointsPanel) -> list[list[str]]:
    matrix = panel.evaluation.matrix
    return [[matrix.index(i, j).data() for j in range(matrix.columnCount())] for i in range(matrix.rowCount())]


def test_a_lineage_is_a_matrix_of_numbers_with_what_each_row_knows(
    models: StudioModels, panel: CheckpointsPanel
) -> None:
    models.evaluation.set_result(checkpoint_samples.evaluated(WORKSPACE))
    assert cells(panel) == [
        ["altra-learned", "◆ 0.918", "○ 0.774", "–"],
        ["epyc-learned", "● 0.905", "◆ 0.941", "–"],
    ]
    matrix = panel.evaluation.matrix
    heats = [matrix.index(i, j).data(HEAT_ROLE) for i in range(2) for j in (1, 2)]
    assert min(heats) == heats[1] == 0.0 and max(heats) == heats[3] == 1.0 and 0 < heats[0] < 1
    assert matrix.index(0, 3).data(HEAT_ROLE) is None
    headline, _, remarks = panel.evaluation.texts
    assert headline == "Forgetting 0.013 · ranked on the workspace sample"
    assert "flatter" in remarks
    panel.evaluation.metric_box.setCurrentIndex(panel.evaluation.metric_box.findData("top5"))
    assert cells(panel)[1][2] == "◆ 0.991"


def test_the_chosen_cell_says_everything_or_why_it_is_empty(models: StudioModels, panel: CheckpointsPanel) -> None:
    models.evaluation.set_result(checkpoint_samples.evaluated(WORKSPACE))
    table, matrix = panel.evaluation.table, panel.evaluation.matrix
    table.setCurrentIndex(matrix.index(1, 2))
    told = panel.evaluation.texts[1]
    assert "epyc-learned on AMD EPYC" in told and "pairwise accuracy 0.872" in told and "vit_tiny" in told
    table.setCurrentIndex(matrix.index(0, 3))
    assert "no records of an RTX 4090" in panel.evaluation.texts[1]
    assert matrix.index(0, 3).data(Qt.ItemDataRole.ToolTipRole) == panel.evaluation.texts[1]
    assert "RTX" in table.as_text()


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_every_page_is_painted(models: StudioModels, panel: CheckpointsPanel, tokens: object) -> None:
    models.evaluation.set_result(checkpoint_samples.evaluated(WORKSPACE))
    panel.apply_tokens(tokens)
    panel.evaluation.table.setCurrentIndex(panel.evaluation.matrix.index(0, 1))
    panel.table.selectRow(3)
    pictures = []
    for page in range(panel.pages.count()):
        panel.pages.setCurrentIndex(page)
        pictures.append(panel.grab().toImage())
    assert pictures[0] != pictures[1] != pictures[2]


def test_what_is_selected_can_be_evaluated(models: StudioModels, panel: CheckpointsPanel, qtbot: QtBot) -> None:
    page = panel.evaluation
    assert not page.evaluate_button.isEnabled() and "engine" in page.evaluate_button.toolTip()
    models.run.engine = EngineHealth.READY
    models.run.announce()
    panel.table.selectRow(3)
    page.lineage.setChecked(True)
    page.source.setCurrentIndex(1)
    with qtbot.waitSignal(panel.evaluate_requested) as asked:
        qtbot.mouseClick(page.evaluate_button, Qt.MouseButton.LeftButton)
    assert asked.args == [EvaluationRequest(names=("2",), lineage=True, shipped=True)]
    models.checkpoints.set_listing(checkpoint_samples.listing(WORKSPACE, platforms=()))
    page.source.setCurrentIndex(0)
    assert not page.evaluate_button.isEnabled() and "no records to rank" in page.evaluate_button.toolTip()


def test_the_numbers_are_saved(
    models: StudioModels, panel: CheckpointsPanel, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "it.csv"), ""))
    models.evaluation.set_result(checkpoint_samples.evaluated(WORKSPACE))
    panel.pages.setCurrentWidget(panel.evaluation)
    with qtbot.waitSignal(panel.saving_ended):
        qtbot.mouseClick(panel.evaluation.save_button, Qt.MouseButton.LeftButton)
    with (tmp_path / "it.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["checkpoint"], row["learned"], row["top1"]) for row in rows[:3]] == [
        ("altra-learned", "1", "0.918"),
        ("altra-learned", "0", "0.774"),
        ("altra-learned", "0", ""),
    ]
    assert "RTX" in rows[2]["reason"]


def test_an_evaluation_is_a_job_with_steps_that_can_be_stopped(
    open_studio: Callable[[EngineTarget], Studio], qtbot: QtBot
) -> None:
    studio = open_studio(checkpoint_samples.teaching)
    studio.window.open_requested.emit(None)
    view = studio.window.checkpoints_panel
    qtbot.waitUntil(lambda: view.table.model().rowCount() == 5)
    studio.window.show_panel("checkpoints")
    view.pages.setCurrentWidget(view.evaluation)
    view.table.selectRow(3)
    view.evaluation.lineage.setChecked(True)
    qtbot.mouseClick(view.evaluation.evaluate_button, Qt.MouseButton.LeftButton)
    assert studio.models.run.activity is Activity.TEACHING
    qtbot.waitUntil(lambda: "3 of 6 done" in view.progress.text)
    assert "epyc-learned on AMD EPYC" in view.progress.text and not studio.models.training.training
    qtbot.mouseClick(view.progress.stop_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: studio.models.evaluation.result is not None)
    assert studio.models.run.activity is Activity.READY and not view.progress.isVisible()
    assert studio.window.banner.text.startswith("Stopped: evaluated 2 checkpoints on 3 platforms")
    studio.checkpoints.set_workspace("/workspaces/another")
    assert studio.models.evaluation.result is None, "these figures were of another workspace"


def test_two_checkpoints_side_by_side(models: StudioModels, panel: CheckpointsPanel, qtbot: QtBot) -> None:
    page = panel.comparison
    page.compare(FIRST.path, SECOND.path)
    lines = {row.name: row for row in page.lines._rows}
    assert (lines["Parent"].first, lines["Parent"].second) == ("none", "altra-learned")
    assert lines["Cost model"].verdict == "same" and lines["Lineage"].verdict == "differs"
    assert lines["Top-1, when saved"].verdict == "+0.029"
    bigger = comparison.compared(replace(FIRST, records=100), replace(FIRST, records=250), models.evaluation, {})
    assert next(row for row in bigger if row.name == "Records").verdict == "+150 (2.50×)"
    assert lines["Knowledge top1, when saved"].first == "–"
    assert page.texts == ("epyc-learned went on from altra-learned.", "")
    models.evaluation.set_result(checkpoint_samples.evaluated(WORKSPACE))
    lines = {row.name: row for row in page.lines._rows}
    assert lines[f"Top-1 on {recorded_run.PLATFORM.name}"].verdict == "+0.167"
    assert not [name for name in lines if "RTX" in name]
    models.run.engine = EngineHealth.READY
    models.run.announce()
    with qtbot.waitSignal(panel.evaluate_requested) as asked:
        page.evaluate_button.click()
    assert asked.args == [EvaluationRequest(names=("1", "2"))]


def test_a_second_checkpoint_is_compared_with_the_first_as_soon_as_there_is_one(
    models: StudioModels, panel: CheckpointsPanel
) -> None:
    page, (first, second, *_) = panel.comparison, (checkpoint_samples.checkpoints()[n] for n in (3, 0))
    listing = checkpoint_samples.listing(WORKSPACE)
    for listed in ((first,), (second, first)):
        models.checkpoints.set_listing(replace(listing, checkpoints=listed))
    assert page.first.chosen == first and page.second.chosen == second
    page.second.choose(first.path)
    assert page.texts[0] == "Both sides show the same checkpoint: choose another on one of them."
    models.checkpoints.set_listing(replace(listing, checkpoints=(second, first)))
    assert page.second.chosen == first, "as a person chose it"


def test_relations_in_words() -> None:
    every = checkpoint_samples.checkpoints()
    second, trained, _, first, own = every
    sibling = checkpoint_samples.facts("sibling", parent=first.digest, data_hash="other")
    assert (
        comparison.relation(first, own, every) == "9f2c41d07be3-mamba went on from altra-learned, 2 checkpoints later."
    )
    assert comparison.relation(sibling, own, every) == "Both went on from altra-learned."
    assert "no ancestor in common" in comparison.relation(trained, own, every)
    assert "copy" in comparison.relation(second, replace(second, path="/copies/epyc-learned.safetensors"), every)
    assert comparison.comparable(first, second) == ""
    assert "Evaluate both" in comparison.comparable(first, sibling)


def test_one_checkpoint_alone_has_nothing_to_be_compared_with(models: StudioModels, panel: CheckpointsPanel) -> None:
    models.checkpoints.set_listing(checkpoint_samples.listing(WORKSPACE, checkpoints=(FIRST,)))
    page = panel.comparison
    assert page._stack.currentIndex() == 0 and not page.evaluate_button.isEnabled()
    assert page.lines.rowCount() == 0 and not page.save_button.isEnabled()


def test_an_outcome_in_one_sentence() -> None:
    result = checkpoint_samples.evaluated(WORKSPACE)
    assert evaluation.outcome(result) == (
        "Evaluated 2 checkpoints on 3 platforms; 2 of 6 cells are empty and say why; forgetting 0.013."
    )
    row, empty = result.rows[0], replace(result.rows[0].cells[0], metrics=())
    two = replace(result, rows=(replace(row, cells=(row.cells[0], empty)),), platforms=result.platforms[:2])
    assert "; 1 of 2 cells is empty and says why" in evaluation.outcome(two)
    alone = replace(result, rows=(replace(row, cells=(empty,)),), platforms=result.platforms[:1])
    assert "on 1 platform; the cell is empty and says why" in evaluation.outcome(alone)


def test_what_is_asked_names_the_workspace(
    open_studio: Callable[[EngineTarget], Studio], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = open_studio(checkpoint_samples.teaching)
    qtbot.waitUntil(lambda: not studio.models.run.checkpoints_held)
    sent: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(studio.engine, "send", sent.append)
        studio.checkpoints.evaluate(EvaluationRequest(names=("x",), shipped=True))
    assert sent == [EvaluateCheckpoints(workspace=None, names=("x",), shipped=True)]
