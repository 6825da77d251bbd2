"""A watcher's commands on checkpoints, carried out on a small real workspace."""

from __future__ import annotations

from pathlib import Path

import library_samples
import pytest

from tcl_core.checkpoint_events import (
    CheckpointDone,
    Deed,
    EarlierWork,
    ExportCheckpoint,
    ImportCheckpoint,
    LearnPlatform,
    ListWorkspace,
    PassFinished,
    RemoveCheckpoint,
    RestoreCheckpoint,
    SetDefault,
    TrainingPhase,
    TrainingStopped,
    TrainModel,
    WorkspaceListed,
)
from tcl_core.config import CostModelConfig, LearnerConfig, ModelConfig, OfflineConfig, RunConfig
from tcl_core.errors import UserError
from tcl_core.events import CancelToken, CheckpointCommand, Event
from tcl_core.store import Workspace
from tcl_core.training.commands import carry_out
from tests.tcl_core.training.conftest import CANDIDATES

SMALL = CostModelConfig(model=ModelConfig(width=16, layers=1, heads=2))
SHORT = LearnerConfig(progress=OfflineConfig(epochs=2), compress=OfflineConfig(epochs=2))


def obey(command: CheckpointCommand, cancel: CancelToken | None = None) -> list[Event]:
    """All events of a command, those sent meanwhile first."""
    sent: list[Event] = []
    answers = list(carry_out(command, sent.append, cancel or CancelToken()))
    return sent + answers


def listed(workspace: Path) -> WorkspaceListed:
    (event,) = obey(ListWorkspace(workspace=str(workspace)))
    assert isinstance(event, WorkspaceListed) and not event.problem
    return event


def done(events: list[Event]) -> CheckpointDone:
    assert isinstance(events[-1], CheckpointDone), events[-1]
    return events[-1]


def train(workspace: Path, cancel: CancelToken | None = None, epochs: int = 3) -> list[Event]:
    command = TrainModel(
        workspace=str(workspace), platform="test-cpu", cost_model=SMALL, offline=OfflineConfig(epochs=epochs)
    )
    return obey(command, cancel)


def test_a_workspace_is_listed_with_platforms_and_runs(collected: Path) -> None:
    with Workspace.open(collected) as workspace:
        config = RunConfig(network=None, workspace=str(collected), seed=5)
        run = workspace.start_run(config, "digest-beta", "test-cpu")
        workspace.finish_run(run, "trials", 64, 3, 20.0, (("search", 4.0),))
    event = listed(collected)
    assert {one.platform.fingerprint: one.records for one in event.platforms} == {
        "test-cpu": 3 * CANDIDATES,
        "test-cpu-1": 3 * CANDIDATES,
    }
    (past,) = event.runs
    assert (past.network, past.config, past.trials, past.seconds) == ("beta", config, 64, 20.0)


def test_earlier_work_on_a_network_is_told(collected: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    out.mkdir()
    with Workspace.open(collected) as workspace:
        for path in (str(out), str(tmp_path / "gone")):
            run = workspace.start_run(RunConfig(network=None, workspace="w"), "digest-beta", "test-cpu")
            workspace.note_library(run, library_samples.report(path=path))
        keys = {task.key for task in workspace.tasks("digest-beta")}

    def asked(workspace: Path, network: str, platform: str = "test-cpu") -> EarlierWork:
        (event,) = obey(ListWorkspace(workspace=str(workspace), network=network, platform=platform))
        assert isinstance(event, WorkspaceListed) and event.earlier is not None
        return event.earlier

    work = asked(collected, "digest-beta")
    assert {key: count.trials for key, count in work.counts} == dict.fromkeys(keys, CANDIDATES)
    assert all(count.best_s for _, count in work.counts)
    assert work.library == library_samples.report(path=None), "the newest; its folder is gone"
    failed = sum(count.failures for _, count in work.counts)
    assert failed and {(told.failure.cause, told.alike) for told in work.failures} == {("timeout", failed)}
    assert listed(collected).earlier is None
    for nothing in (asked(collected, "unknown"), asked(tmp_path / "no workspace", "digest-beta")):
        assert (nothing.counts, nothing.library) == ((), None)


def test_a_workspace_that_is_not_there_yet_has_what_ships(tmp_path: Path) -> None:
    event = listed(tmp_path / "not yet")
    assert all(one.kind == "shipped" for one in event.checkpoints)
    assert not event.runs and not (tmp_path / "not yet").exists()


def test_a_folder_that_is_no_workspace_is_a_problem_not_an_error(tmp_path: Path) -> None:
    (event,) = obey(ListWorkspace(workspace=str(tmp_path)))
    assert isinstance(event, WorkspaceListed) and str(tmp_path) in event.problem


def test_training_tells_every_pass_and_what_it_kept(collected: Path) -> None:
    events = train(collected)
    passes = [event for event in events if isinstance(event, PassFinished)]
    assert [one.epoch for one in passes] == [1, 2, 3] and {one.epochs for one in passes} == {3}
    assert any(isinstance(event, TrainingPhase) and "test CPU" in event.text for event in events)
    assert done(events).deed is Deed.TRAINED and "top-1" in done(events).sentence
    (facts,) = listed(collected).checkpoints
    assert (facts.kind, facts.model, facts.path) == ("trained", "mamba", done(events).path)
    assert facts.records == CANDIDATES and "top1" in dict(facts.metrics) and facts.fits and facts.digest


def test_a_stopped_training_keeps_its_best_pass(collected: Path) -> None:
    cancel = CancelToken()
    sent: list[Event] = []

    def send(event: Event) -> None:
        sent.append(event)
        if isinstance(event, PassFinished) and event.epoch == 2:
            cancel.stop()

    command = TrainModel(
        workspace=str(collected), platform="test-cpu", cost_model=SMALL, offline=OfflineConfig(epochs=50)
    )
    (answer,) = carry_out(command, send, cancel)
    assert isinstance(answer, CheckpointDone) and answer.sentence.startswith("Stopped after 2 passes")
    assert Path(answer.path).is_file() and len(listed(collected).checkpoints) == 1


@pytest.mark.parametrize(("last", "began"), [(2, "Stopped"), (99, "Trained")])
def test_a_training_without_a_better_pass_does_not_say_that_it_learned(
    last: int, began: str, collected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = done(train(collected)).path
    monkeypatch.setattr("tcl_core.cost_model.offline.Appraisal.value", 0.5)
    cancel, passes = CancelToken(), 0

    def send(event: Event) -> None:
        nonlocal passes
        passes += isinstance(event, PassFinished)
        if passes == last:
            cancel.stop()

    offline = OfflineConfig(epochs=50, patience=4)
    command = TrainModel(
        workspace=str(collected), platform="test-cpu", cost_model=SMALL, checkpoint=first, offline=offline
    )
    (answer,) = carry_out(command, send, cancel)
    assert isinstance(answer, CheckpointDone) and answer.sentence.startswith(
        f"{began} after {passes} passes over {CANDIDATES} records of 1 task; none is better than what it began with, "
        "which is kept: checkpoint "
    )
    assert passes == min(last, offline.patience)


def test_a_training_stopped_before_its_first_pass_says_so(collected: Path) -> None:
    cancel = CancelToken()
    cancel.stop()
    assert isinstance(train(collected, cancel)[-1], TrainingStopped)
    assert not listed(collected).checkpoints


def test_training_on_an_unknown_platform_is_refused(collected: Path) -> None:
    with pytest.raises(UserError, match="no platform nowhere"):
        obey(TrainModel(workspace=str(collected), platform="nowhere"))


def test_learning_makes_a_child_that_names_its_parent(collected: Path) -> None:
    def learn(platform: str, parent: str | None) -> CheckpointDone:
        command = LearnPlatform(
            workspace=str(collected), platform=platform, parent=parent, cost_model=SMALL, learner=SHORT
        )
        return done(obey(command))

    first = learn("test-cpu", None)
    second = learn("test-cpu-1", first.path)
    parent, child = listed(collected).checkpoints
    assert (parent.path, child.path) == (first.path, second.path)
    assert child.parent == parent.digest and child.model == "ckd" and child.kind == "learned"
    assert child.lineage == ("test CPU", "test CPU, 1 thread")


def test_a_default_is_set_and_taken_back(collected: Path) -> None:
    train(collected)
    (facts,) = listed(collected).checkpoints
    answer = done(obey(SetDefault(workspace=str(collected), name=facts.key, platform="test-cpu")))
    assert answer.deed is Deed.DEFAULT and "test CPU" in answer.sentence
    assert listed(collected).checkpoints[0].chosen == ("test-cpu",)
    done(obey(SetDefault(workspace=str(collected), name=None, platform="test-cpu")))
    assert listed(collected).checkpoints[0].chosen == ()


def test_a_checkpoint_goes_out_and_in_and_away(collected: Path, tmp_path: Path) -> None:
    train(collected)
    (facts,) = listed(collected).checkpoints
    out = tmp_path / "out.safetensors"
    exported = obey(ExportCheckpoint(workspace=str(collected), name=facts.key, out=str(out)))
    assert done(exported).deed is Deed.EXPORTED and out.is_file()
    other = tmp_path / "other"
    imported = obey(ImportCheckpoint(workspace=str(other), path=str(out)))
    (copy,) = listed(other).checkpoints
    assert done(imported).path == copy.path and copy.digest == facts.digest
    removed = obey(RemoveCheckpoint(workspace=str(other), name=copy.key))
    assert done(removed).deed is Deed.REMOVED
    assert not listed(other).checkpoints and not Path(copy.path).exists()
    back = obey(RestoreCheckpoint(workspace=str(other), path=str(out), place=copy.path, noted=True))
    assert done(back).deed is Deed.RESTORED and listed(other).checkpoints == (copy,)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it.safetensors").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"it\.safetensors"):
        obey(ImportCheckpoint(workspace=str(tmp_path / "w"), path=str(tmp_path / "it.safetensors")))
