"""What is asked about a record, and what is answered: in order, with contributions that add up, or in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tcl_core.batches import Population
from tcl_core.cost_model import make_cost_model
from tcl_core.domain import Candidate, Platform, Replay, Task
from tcl_core.errors import UserError
from tcl_core.events import Event
from tcl_core.features import LAYOUT, TokenTemplate, platform_features
from tcl_core.inspection.commands import inspect
from tcl_core.inspection.influence import explain
from tcl_core.schedule_events import InspectSchedule, ScheduleInspected, ScoreExplained, SourceGenerated
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.inspection.conftest import MODEL


def ask(workspace: Path, candidate: Candidate | None = None, platform: str = "test-cpu") -> list[Event]:
    command = InspectSchedule(
        request=3, workspace=str(workspace), platform=platform, task_key="matmul", candidate=candidate
    )
    return list(inspect(command))


def test_the_best_record_is_shown_with_its_source_and_without_a_model(
    filled: Path, matmul_replays: list[Replay]
) -> None:
    inspected, source, score = ask(filled)
    assert isinstance(inspected, ScheduleInspected) and inspected.request == 3
    view = inspected.view
    assert view.record.candidate == matmul_replays[2].candidate
    assert (view.best_s, view.record.latency_s) == (1e-3, 1e-3)
    assert not view.note and not view.record.trace_json
    assert isinstance(source, SourceGenerated) and len(source.texts) == 2
    assert isinstance(score, ScoreExplained) and score.score is None
    assert score.note.startswith("No model yet")


def test_a_trained_model_says_what_each_decision_does(taught: Path, matmul_replays: list[Replay]) -> None:
    inspected, _, score = ask(taught, matmul_replays[0].candidate)
    assert isinstance(inspected, ScheduleInspected) and isinstance(score, ScoreExplained)
    steps = [number for number, step in enumerate(inspected.view.steps) if step.domain >= 0]
    assert [one.step for one in score.influences] == steps
    assert score.score is not None and any(one.contribution for one in score.influences)
    assert score.note == "Model: lstm, as the workspace's runs have trained it."


def test_a_contribution_is_the_score_less_the_mean_of_the_alternatives(
    matmul_task: Task, cpu_platform: Platform, matmul_space: DesignSpace, matmul_replays: list[Replay], taught: Path
) -> None:
    sketch, candidate = matmul_space.sketches[-1], matmul_replays[0].candidate
    model = make_cost_model(MODEL, LAYOUT, seed=0)
    model.load(next((taught / "checkpoints").iterdir()))
    explained = explain(candidate, sketch, matmul_task, cpu_platform, model)
    template = TokenTemplate(sketch, matmul_task, platform_features(cpu_platform))
    (row,), _ = DecisionSpace(sketch).rows([candidate])
    choices = np.array([[value, *row[1:]] for value in range(len(sketch.domains[0].values))], np.int32)
    scores = model.predict(template.featurise(Population(sketch=sketch.index, choices=choices))).scores
    others = np.delete(scores, row[0])
    influence = explained.influences[0]
    assert influence.alternatives == len(others) > 3
    assert influence.contribution == pytest.approx(scores[row[0]] - others.mean(), abs=1e-5)
    if influence.best is not None:
        assert influence.best_gain == pytest.approx(others.max() - scores[row[0]], abs=1e-5)
    assert all(one.alternatives <= 64 for one in explained.influences)


def test_a_record_that_did_not_compile_has_no_source(filled: Path, matmul_replays: list[Replay]) -> None:
    _, source, _ = ask(filled, matmul_replays[5].candidate)
    assert isinstance(source, SourceGenerated) and not source.texts
    assert "failed to compile (timeout)" in source.note


def test_what_is_not_there_is_said(filled: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no record of this candidate"):
        ask(filled, Candidate("matmul", 0, ()))
    with pytest.raises(UserError, match="no records of this platform"):
        ask(filled, platform="elsewhere")
    with pytest.raises(UserError, match="There is no workspace"):
        ask(tmp_path / "nowhere")
