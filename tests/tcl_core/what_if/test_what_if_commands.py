"""What is asked about a what-if, and what is answered: predicted, ranked, read back, measured, or one sentence."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tcl_core.batches import Population
from tcl_core.cost_model import make_cost_model
from tcl_core.domain import Candidate, DecisionKind, Failure, Platform, Replay, Source, Stage, Task
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken, Event, RecordMeasured
from tcl_core.features import LAYOUT, TokenTemplate, platform_features
from tcl_core.inspection.stepping import step_through
from tcl_core.inspection.tensor_ir import read_tensor_ir
from tcl_core.schedule_events import PlaceKind
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.what_if.commands import WhatIfRoom
from tcl_core.what_if_events import (
    MeasureWhatIf,
    OpenWhatIf,
    ScoreWhatIf,
    WhatIfMeasured,
    WhatIfOpened,
    WhatIfScored,
)
from tests.tcl_core.inspection.conftest import MODEL, replays


def opened(room: WhatIfRoom, workspace: Path, candidate: Candidate | None = None) -> tuple[WhatIfOpened, WhatIfScored]:
    command = OpenWhatIf(
        request=1, workspace=str(workspace), platform="test-cpu", task_key="matmul", candidate=candidate
    )
    told, scored = room.carry_out(command, None, CancelToken())
    assert isinstance(told, WhatIfOpened) and isinstance(scored, WhatIfScored)
    assert told.request == scored.request == 1
    return told, scored


def scored(room: WhatIfRoom, workspace: Path, candidate: Candidate) -> WhatIfScored:
    command = ScoreWhatIf(request=2, workspace=str(workspace), platform="test-cpu", candidate=candidate)
    (answer,) = room.carry_out(command, None, CancelToken())
    assert isinstance(answer, WhatIfScored) and answer.request == 2 and answer.candidate == candidate
    return answer


def measured(
    room: WhatIfRoom, workspace: Path, candidate: Candidate, run: object = None, cancel: CancelToken | None = None
) -> list[Event]:
    command = MeasureWhatIf(request=3, workspace=str(workspace), platform="test-cpu", candidate=candidate)
    return list(room.carry_out(command, cast(Any, run), cancel or CancelToken()))


def another(space: DesignSpace) -> Candidate:
    """A legal candidate that nobody has measured."""
    return replays(space, 7)[-1].candidate


def test_a_record_opens_as_controls_with_its_own_prediction(
    room: WhatIfRoom, taught: Path, matmul_replays: list[Replay]
) -> None:
    told, answer = opened(room, taught)
    desk = told.desk
    assert desk.record.candidate == matmul_replays[2].candidate and not desk.record.trace_json
    assert (desk.best_s, desk.made, desk.runnable) == (1e-3, (), True)
    assert len(desk.controls) == len(desk.record.candidate.decisions)
    assert answer.replayed == answer.candidate == desk.record.candidate
    assert answer.record == desk.record
    assert answer.prediction.note == "Model: lstm, as the workspace's runs have trained it."


def test_loops_that_run_otherwise_than_in_order_are_told(
    room: WhatIfRoom, filled: Path, matmul_replays: list[Replay], matmul_task: Task
) -> None:
    replay = matmul_replays[0]
    _, answer = opened(room, filled, replay.candidate)
    places, _ = read_tensor_ir(step_through(matmul_task.module_json, replay.trace_json))
    kinds = [place.kind for place in places if place.kind not in {PlaceKind.SERIAL, PlaceKind.BLOCK}]
    assert [use.kind for use in answer.loops] == kinds
    assert {PlaceKind.PARALLEL, PlaceKind.VECTORISED} <= set(kinds)


def test_score_and_rank_are_the_models_own(
    room: WhatIfRoom,
    taught: Path,
    matmul_space: DesignSpace,
    matmul_replays: list[Replay],
    matmul_task: Task,
    cpu_platform: Platform,
) -> None:
    candidate = another(matmul_space)
    prediction = scored(room, taught, candidate).prediction
    sketch = matmul_space.sketches[-1]
    choices, _ = DecisionSpace(sketch).rows([candidate, *(one.candidate for one in matmul_replays[:5])])
    template = TokenTemplate(sketch, matmul_task, platform_features(cpu_platform))
    model = make_cost_model(MODEL, LAYOUT, seed=0)
    model.load(next((taught / "checkpoints").iterdir()))
    mine, *theirs = model.predict(template.featurise(Population(sketch=sketch.index, choices=choices))).scores
    assert prediction.score == pytest.approx(mine, abs=1e-5)
    assert prediction.ahead == sum(np.array(theirs) > mine)
    assert prediction.measured == 5  # the sixth failed
    assert prediction.alike_s == (pytest.approx(1e-3), pytest.approx(5e-3))


def test_a_measured_record_is_not_ranked_against_itself(room: WhatIfRoom, taught: Path) -> None:
    _, answer = opened(room, taught)
    assert answer.prediction.measured == 4


def test_what_replay_changes_is_read_back(room: WhatIfRoom, taught: Path, matmul_space: DesignSpace) -> None:
    legal = another(matmul_space)
    slot = [domain.kind for domain in matmul_space.sketches[-1].domains].index(DecisionKind.TILE)
    asked = replace(legal, decisions=(*legal.decisions[:slot], (7, 7, 7, 7), *legal.decisions[slot + 1 :]))
    answer = scored(room, taught, asked)
    assert answer.replayed is not None and answer.replayed != asked
    assert np.prod(answer.replayed.decisions[slot]) == 64
    assert answer.prediction == scored(room, taught, answer.replayed).prediction


def test_a_record_of_the_same_program_is_the_candidates_own(
    room: WhatIfRoom, filled: Path, matmul_space: DesignSpace, matmul_replays: list[Replay]
) -> None:
    """Of other decisions, but nothing is measured for them. On the desk lies what persons made of the same sketch."""
    twin = replays(matmul_space, 8)[-1].candidate
    (foreign,) = replays(matmul_space, 1, 0)
    with Workspace.open(filled) as workspace:
        made = replace(workspace.records()[0], source=Source.PERSON, candidate=twin)
        asked = matmul_space.replay(another(matmul_space))
        assert isinstance(asked, Replay)
        workspace.add_record(replace(made, structural_hash=asked.structural_hash))
        workspace.add_record(replace(made, structural_hash="another", candidate=foreign.candidate))
    found = scored(room, filled, asked.candidate).record
    assert found is not None and found.candidate == twin
    (answer,) = measured(room, filled, asked.candidate)
    assert isinstance(answer, WhatIfMeasured) and answer.known and answer.record == found
    assert opened(room, filled, matmul_replays[0].candidate)[0].desk.made == (found,)


def test_what_is_known_is_of_the_workspace_asked_about_and_read_anew_when_a_record_is_opened(
    room: WhatIfRoom, taught: Path, matmul_space: DesignSpace, tmp_path: Path
) -> None:
    untaught, candidate = tmp_path / "untaught", another(matmul_space)
    shutil.copytree(taught, untaught, ignore=shutil.ignore_patterns("checkpoints"))
    assert scored(room, taught, candidate).prediction.score is not None
    assert scored(room, untaught, candidate).prediction.score is None
    before = opened(room, taught)[1].prediction.measured
    with Workspace.open(taught) as workspace:
        workspace.add_record(replace(workspace.records()[0], candidate=candidate, structural_hash="new"))
    assert opened(room, taught)[1].prediction.measured == before + 1


def test_decisions_without_a_schedule_are_told_and_not_measured(
    room: WhatIfRoom, taught: Path, matmul_space: DesignSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate, failure = another(matmul_space), Failure(stage=Stage.SEARCH, cause="too many threads", message="")
    monkeypatch.setattr(DesignSpace, "schedule", lambda *_: failure)
    answer = scored(room, taught, candidate)
    assert (answer.replayed, answer.cause, answer.record) == (None, "too many threads", None)
    assert answer.prediction.score is None and answer.prediction.note
    with pytest.raises(UserError, match=r"no schedule \(too many threads\); change one"):
        measured(room, taught, candidate)


def test_without_a_model_the_schedule_is_shown_all_the_same(
    room: WhatIfRoom, filled: Path, matmul_space: DesignSpace
) -> None:
    answer = scored(room, filled, another(matmul_space))
    assert answer.prediction.score is None and answer.prediction.note.startswith("No model yet")
    assert answer.replayed is not None and answer.loops and answer.record is None


def test_what_does_not_fit_is_refused(room: WhatIfRoom, filled: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no sketch with these decisions"):
        scored(room, filled, Candidate("matmul", 0, ((1,),) * 9))
    with pytest.raises(UserError, match="There is no workspace"):
        opened(room, tmp_path / "nowhere")


def test_sketches_of_another_version_are_refused(room: WhatIfRoom, filled: Path, matmul_space: DesignSpace) -> None:
    other = [replace(sketch, trace_json="[[],[]]") for sketch in matmul_space.sketches]
    space = SimpleNamespace(sketches=other)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tcl_core.what_if.lender.DesignSpace", lambda *_: space)
        with pytest.raises(UserError, match="other sketches"):
            scored(room, filled, another(matmul_space))


@pytest.mark.slow
def test_a_measured_what_if_is_a_persons_record(room: WhatIfRoom, taught: Path, matmul_space: DesignSpace) -> None:
    candidate = another(matmul_space)
    prediction = scored(room, taught, candidate).prediction
    told, answer = measured(room, taught, candidate)
    assert isinstance(told, RecordMeasured) and isinstance(answer, WhatIfMeasured) and not answer.known
    record = told.record
    assert (record.candidate, record.source, record.failure) == (candidate, Source.PERSON, None)
    assert len(record.latencies_s) == 3 and record.rationale.score == pytest.approx(prediction.score)
    assert answer.record == replace(record, trace_json="") and record.trace_json
    assert answer.best_s == min(1e-3, record.latency_s or 0.0)
    with Workspace.open(taught, read_only=True) as workspace:
        assert workspace.records()[-1] == record
    (again,) = measured(room, taught, candidate)
    assert isinstance(again, WhatIfMeasured) and again.known and again.record == answer.record
    assert scored(room, taught, candidate).record == answer.record
    further = replays(matmul_space, 8)[-1].candidate
    assert scored(room, taught, further).prediction.measured == prediction.measured + 1
    assert opened(room, taught)[0].desk.made == (answer.record,)


@pytest.mark.slow
def test_a_stop_interrupts_a_measurement_and_keeps_nothing(
    room: WhatIfRoom, taught: Path, matmul_space: DesignSpace
) -> None:
    stopped = CancelToken()
    stopped.stop()
    with pytest.raises(Interrupted):
        measured(room, taught, another(matmul_space), cancel=stopped)
    with Workspace.open(taught, read_only=True) as workspace:
        assert len(workspace.records()) == 6


def test_beside_a_run_that_is_elsewhere_nothing_is_measured(
    room: WhatIfRoom, taught: Path, matmul_space: DesignSpace
) -> None:
    with pytest.raises(UserError, match="The run that is on"):
        measured(room, taught, another(matmul_space), run=SimpleNamespace(loan=None))


def test_beside_a_run_of_another_process_records_are_opened_and_not_measured(
    room: WhatIfRoom, taught: Path, matmul_space: DesignSpace
) -> None:
    with Workspace.open(taught):
        assert opened(room, taught)[1].prediction.score is not None
        with pytest.raises(UserError, match="in use"):
            measured(room, taught, another(matmul_space))
