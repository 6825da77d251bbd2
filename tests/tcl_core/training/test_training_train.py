"""Offline training from a workspace: the checkpoint it leaves, what it refuses, and how it is stopped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tcl_core.batches import TaskGroup
from tcl_core.checkpoints import describe
from tcl_core.config import CostModelConfig, ModelConfig, OfflineConfig, SamplerConfig
from tcl_core.cost_model import make_cost_model, torch_model
from tcl_core.cost_model.base import CostModel, EpochReport, EpochWatch, FitReport
from tcl_core.cost_model.offline import Appraisal
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.domain import CheckpointKind, Platform, Sketch, Task
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT
from tcl_core.store import Workspace
from tcl_core.training import train as training
from tcl_core.training.train import TrainConfig, TrainReport
from tests.tcl_core.training.conftest import CANDIDATES, fill

SMALL = CostModelConfig(model=ModelConfig(width=16, layers=1, heads=2))
SHORT = OfflineConfig(epochs=3)


def config(path: Path, **changes: object) -> TrainConfig:
    values: dict[str, object] = {"platform": "cpu:x86-64-v3/2", "cost_model": SMALL, "offline": SHORT}
    return TrainConfig(workspace=str(path), **(values | changes))  # type: ignore[arg-type]


def train(path: Path, cancel: CancelToken | None = None, **changes: object) -> TrainReport:
    passes: list[EpochReport] = []
    phases: list[str] = []
    return training.train(config(path, **changes), passes.append, phases.append, cancel or CancelToken())


def test_a_checkpoint_with_its_lineage_and_metrics(collected: Path, cpu_platform: Platform) -> None:
    report = train(collected)
    file = describe(report.checkpoint.path)
    assert file.model == "mamba"
    assert file.origin is not None
    assert (file.origin.kind, file.origin.platform, file.origin.lineage) == (
        CheckpointKind.TRAINED,
        cpu_platform,
        ("test CPU",),
    )
    assert file.origin.parent is None
    assert {"top1", "top5", "pairwise", "validation_top1"} <= dict(file.origin.metrics).keys()
    assert (report.tasks, report.records) == (1, CANDIDATES)
    assert len(report.test_networks) == 1
    assert report.epochs == 3
    with Workspace.open(collected, read_only=True) as workspace:
        (row,) = workspace.checkpoints()
    assert (row.id, row.path.resolve(), row.kind) == (report.number, file.path.resolve(), "trained")
    assert row.data_hash == file.origin.data_hash
    assert row.feature_version == LAYOUT.version
    make_cost_model(SMALL, LAYOUT, 0).load(file.path)


def test_the_same_seed_gives_the_same_checkpoint(collected: Path) -> None:
    first, second = train(collected), train(collected)
    assert first.checkpoint.path != second.checkpoint.path
    assert first.checkpoint.digest == second.checkpoint.digest
    assert train(collected, seed=1).checkpoint.digest != first.checkpoint.digest


def test_going_on_from_a_checkpoint_names_its_parent(collected: Path, tmp_path: Path) -> None:
    first = train(collected)
    second = train(collected, checkpoint=str(first.checkpoint.path), out=str(tmp_path / "second.safetensors"))
    assert second.checkpoint.origin is not None
    assert second.checkpoint.origin.parent == first.checkpoint.digest
    assert second.checkpoint.path == tmp_path / "second.safetensors"


def test_a_share_is_chosen_by_the_sampler(collected: Path) -> None:
    report = train(collected, share=0.25, sampler=SamplerConfig(name="rdu", exploit=0.0), steps=(0.1,))
    assert report.records == CANDIDATES // 4
    blind = train(collected, share=0.25, sampler=SamplerConfig(name="random"), steps=(0.1,))
    assert blind.records == CANDIDATES // 4


def test_only_the_platforms_own_records_are_read(collected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_other_platforms(monkeypatch, "test-cpu")
    assert train(collected).records == CANDIDATES


def forbid_other_platforms(monkeypatch: pytest.MonkeyPatch, allowed: str) -> None:
    """Make every way to another platform's records raise."""
    records, repeats, counts = Workspace.records, Workspace.repeats, Workspace.record_counts

    def guarded_records(self: Workspace, **conditions: str | bool | None) -> object:
        assert conditions.get("platform") == allowed, "a record of another platform was opened"
        return records(self, **conditions)  # type: ignore[arg-type]

    def guarded_repeats(self: Workspace, task_key: str, platform: str) -> object:
        assert platform == allowed, "a repeat of another platform was opened"
        return repeats(self, task_key, platform)

    def guarded_counts(self: Workspace, platform: str) -> object:
        assert platform == allowed, "records of another platform were counted"
        return counts(self, platform)

    monkeypatch.setattr(Workspace, "records", guarded_records)
    monkeypatch.setattr(Workspace, "repeats", guarded_repeats)
    monkeypatch.setattr(Workspace, "record_counts", guarded_counts)


class Stoppable(RandomModel):
    """Reports passes until it is stopped, then behaves as the interface says."""

    loss = 1.0

    def train_offline(
        self,
        groups: tuple[TaskGroup, ...],
        validation: tuple[TaskGroup, ...],
        config: OfflineConfig,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
    ) -> FitReport:
        if not np.isfinite(self.loss):
            raise UserError("cost model", "The loss is not a number from the first pass on; lower the learning rate.")
        for epoch in range(1, config.epochs + 1):
            if cancel is not None and cancel.stopped:
                raise Interrupted
            if watch is not None:
                watch(
                    EpochReport(
                        epoch=epoch,
                        epochs=config.epochs,
                        loss=1.0,
                        validation_pairs=0.6,
                        validation_top1=0.5,
                        best_epoch=1,
                        seconds=0.0,
                    )
                )
        return FitReport(epochs=config.epochs, samples=1, seconds=0.0, loss=1.0)


@pytest.fixture
def stoppable(monkeypatch: pytest.MonkeyPatch) -> type[Stoppable]:
    def make(given: CostModelConfig, layout: object, seed: int) -> CostModel:
        return Stoppable(LAYOUT, width=8, seed=seed)

    monkeypatch.setattr(training, "make_cost_model", make)
    return Stoppable


def test_a_stop_keeps_the_best_weights(collected: Path, stoppable: type[Stoppable]) -> None:
    token = CancelToken()

    def stop_in_the_second(report: EpochReport) -> None:
        if report.epoch == 2:
            token.stop()

    random = config(collected, cost_model=CostModelConfig(name="random"), offline=OfflineConfig(epochs=50))
    report = training.train(random, stop_in_the_second, lambda _: None, token)
    assert report.stopped
    assert report.epochs == 2
    assert dict(report.metrics)["validation_top1"] == 0.5
    assert describe(report.checkpoint.path).origin == report.checkpoint.origin


def test_where_no_pass_is_better_what_it_began_with_is_kept_and_told(
    collected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = train(collected)
    assert first.improved
    falling = iter(np.linspace(0.9, 0.1, 9))
    monkeypatch.setattr(torch_model, "appraise", lambda *_: Appraisal(pairs=next(falling), top1=0.5))
    token = CancelToken()
    second = config(collected, checkpoint=str(first.checkpoint.path), offline=OfflineConfig(epochs=9))
    report = training.train(second, lambda told: token.stop() if told.epoch == 2 else None, lambda _: None, token)
    assert (report.stopped, report.improved, report.epochs, report.loss) == (True, False, 2, None)
    assert "validation_top1" not in dict(report.metrics)
    before, after = (load_file(file.checkpoint.path) for file in (first, report))
    assert before.keys() == after.keys() and all(np.array_equal(before[name], after[name]) for name in before)


def test_a_stop_before_the_first_pass_saves_nothing(collected: Path, stoppable: type[Stoppable]) -> None:
    token = CancelToken()
    token.stop()
    with pytest.raises(Interrupted, match="nothing was saved"):
        train(collected, token)
    with Workspace.open(collected, read_only=True) as workspace:
        assert workspace.checkpoints() == ()


def test_a_loss_that_is_no_number_is_refused_and_nothing_is_saved(
    collected: Path, stoppable: type[Stoppable], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stoppable, "loss", float("nan"))
    with pytest.raises(UserError, match="loss"):
        train(collected)
    assert not list((collected / "checkpoints").iterdir())


def test_a_pass_whose_loss_is_no_number_is_not_counted(collected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter((0.9, 0.8, float("nan")))
    monkeypatch.setattr("tcl_core.cost_model.offline.take_step", lambda *_: next(losses))
    report = train(collected, offline=OfflineConfig(epochs=10))
    assert (report.epochs, report.loss) == (2, 0.8)


def test_nothing_measured_on_the_platform(collected: Path, cpu_platform: Platform) -> None:
    from dataclasses import replace

    with Workspace.open(collected) as workspace:
        workspace.add_platform(replace(cpu_platform, fingerprint="empty", name="an empty one"))
    with pytest.raises(UserError, match=r"no records of an empty one"):
        train(collected, platform="empty")


def test_all_records_failed(
    tmp_path: Path, lesson_tasks: list[Task], lesson_sketches: tuple[Sketch, ...], cpu_platform: Platform
) -> None:
    with Workspace.open(tmp_path / "failed") as workspace:
        fill(workspace, lesson_tasks, lesson_sketches, cpu_platform, failing=True)
    with pytest.raises(UserError, match="failed"):
        train(tmp_path / "failed")


@pytest.mark.parametrize("damage", ["cut", "flip", "other"])
def test_a_checkpoint_that_cannot_be_trusted(collected: Path, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "it.safetensors"
    make_cost_model(SMALL, LAYOUT, 0).save(path)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flip":
        data[-1] ^= 1
        path.write_bytes(data)
    else:
        path.write_text("not a checkpoint", encoding="utf-8")
    with pytest.raises(UserError, match=r"it\.safetensors"):
        train(collected, checkpoint=str(path))


def test_a_full_disk_leaves_the_old_checkpoint(
    collected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "kept.safetensors"
    before = train(collected, out=str(out)).checkpoint.digest

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UserError, match=r"kept\.safetensors cannot be written \(No space left"):
        train(collected, out=str(out), seed=1)
    assert describe(out).digest == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_out_is_checked_before_the_training(collected: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder"):
        train(collected, out=str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="is no folder"):
        train(collected, out=str(tmp_path / "file" / "below.safetensors"))
    with pytest.raises(UserError, match="exists and is no checkpoint"):
        train(collected, out=str(tmp_path / "file"))
    with pytest.raises(UserError, match="exists and is no checkpoint"):
        train(collected, out=str(collected / "workspace.sqlite"))


def test_a_full_disk_is_found_before_the_training(collected: Path, tmp_path: Path, full_disk: list[Path]) -> None:
    full_disk.append(collected / "checkpoints")
    with pytest.raises(UserError, match=r"checkpoints \(No space left on device\)"):
        train(collected)
    full_disk[:] = [tmp_path]
    with pytest.raises(UserError, match=r"models \(No space left on device\)"):
        train(collected, out=str(tmp_path / "models" / "it.safetensors"))
