"""A dataset's platforms into one checkpoint, as `packaging/make_checkpoint.py` does it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import make_checkpoint
import pytest

from tcl_core.checkpoints import describe
from tcl_core.checkpoints.start import check_asked
from tcl_core.dataset import Dataset, sealed, write_dataset
from tcl_core.domain import CheckpointKind
from tcl_core.evaluation.context import Context, EvaluationConfig
from tcl_core.learning.checkpoints import describe as describe_learned
from tcl_core.learning.continual import ContinualLearner
from tests.tcl_core.conftest import cpu_platform, matmul_task
from tests.tcl_core.evaluation.conftest import STRONG, WEAK, config, dataset

__all__ = ["config", "cpu_platform", "dataset", "matmul_task"]


@pytest.fixture
def folder(dataset: Dataset, tmp_path: Path) -> Path:
    write_dataset(tmp_path / "data", sealed(dataset))
    return tmp_path / "data"


def test_the_platforms_are_learned_in_sequence(
    folder: Path, config: EvaluationConfig, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder.parent / "checkpoints" / "cpu.safetensors"
    assert make_checkpoint.main(["--dataset", str(folder), "--out", str(out), "--elastic-weight", "7"], config) == 0
    assert describe_learned(out).config.ewc == 7
    made = describe(out)
    assert made.origin is not None
    assert made.origin.kind is CheckpointKind.LEARNED
    assert made.origin.lineage == tuple(dataset.platforms[name].name for name in (WEAK, STRONG))
    assert made.origin.platform.fingerprint == STRONG
    assert made.origin.parent
    assert made.origin.records > 0
    assert set(dict(made.origin.metrics)) == {"top1", "validation_top1"}
    assert check_asked(out, "mamba").learned
    printed = capsys.readouterr()
    assert f"{made.size_bytes:,} bytes; top1 " in printed.out
    assert printed.err.index(f"{WEAK} CPU") < printed.err.index(f"{STRONG} CPU")


def test_it_goes_on_with_the_platforms_that_a_checkpoint_has_not_learned(
    folder: Path, config: EvaluationConfig, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    first, out = folder.parent / "cpu.safetensors", folder.parent / "cpu-more.safetensors"
    given = ["--dataset", str(folder), "--from", str(first), "--out", str(out)]
    assert make_checkpoint.main(["--dataset", str(folder), "--out", str(first)], config) == 0
    assert make_checkpoint.main(given, config) == 2
    assert "cpu.safetensors has learned every platform of the dataset" in capsys.readouterr().err
    assert not out.exists()
    write_dataset(folder.parent / "more", sealed(_on_another(dataset, STRONG, "another")))
    assert make_checkpoint.main([*given, "--dataset", str(folder.parent / "more")], config) == 0
    before, made = describe(first), describe(out)
    assert before.origin is not None
    assert made.origin is not None
    assert made.origin.parent == before.digest
    assert made.origin.lineage == (*before.origin.lineage, "another CPU")
    assert made.origin.platform.fingerprint == "another"


def _on_another(dataset: Dataset, platform: str, name: str) -> Dataset:
    """What was measured on one platform, as if it had been on a further one."""
    there = replace(dataset.platforms[platform], fingerprint=name, name=f"{name} CPU")
    return replace(
        dataset,
        platforms={name: there},
        sketches={(key, name): value for (key, on), value in dataset.sketches.items() if on == platform},
        records={
            (key, name): tuple(replace(one, platform=name) for one in measured)
            for (key, on), measured in dataset.records.items()
            if on == platform
        },
    )


def test_refusals_are_one_sentence(
    folder: Path, config: EvaluationConfig, dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder.parent / "cpu.safetensors"
    assert make_checkpoint.main(["--dataset", str(folder.parent / "none"), "--out", str(out)], config) == 2
    assert "There is no dataset in" in capsys.readouterr().err
    alone = replace(
        dataset,
        platforms={WEAK: dataset.platforms[WEAK]},
        sketches={key: value for key, value in dataset.sketches.items() if key[1] == WEAK},
        records={key: value for key, value in dataset.records.items() if key[1] == WEAK},
    )
    write_dataset(folder, sealed(alone))
    assert make_checkpoint.main(["--dataset", str(folder), "--out", str(out)], config) == 2
    assert "one platform only" in capsys.readouterr().err
    assert not out.exists()


def test_what_lies_there_stays_until_all_are_learned(
    folder: Path, config: EvaluationConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = folder.parent / "made" / "cpu.safetensors"
    out.parent.mkdir()
    out.write_bytes(b"the former one")
    figure = make_checkpoint.platform_top1

    def stopped(context: Context, learner: ContinualLearner, platform: str) -> float:
        if platform == STRONG:
            raise KeyboardInterrupt
        return figure(context, learner, platform)

    monkeypatch.setattr(make_checkpoint, "platform_top1", stopped)
    with pytest.raises(KeyboardInterrupt):
        make_checkpoint.main(["--dataset", str(folder), "--out", str(out)], config)
    assert [path.name for path in out.parent.iterdir() if path.is_file()] == ["cpu.safetensors"]
    assert out.read_bytes() == b"the former one"
