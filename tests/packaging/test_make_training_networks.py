"""Networks for training records: valid, drawn by the seed, runnable."""

from __future__ import annotations

from pathlib import Path

import make_training_networks
import numpy as np
import onnx
import onnxruntime
import pytest


def test_the_same_seed_gives_the_same_files_and_another_one_others(tmp_path: Path) -> None:
    first = make_training_networks.make_networks(tmp_path / "first", 2, seed=0)
    again = make_training_networks.make_networks(tmp_path / "again", 2, seed=0)
    other = make_training_networks.make_networks(tmp_path / "other", 2, seed=1)
    assert len(first) == 2 * len(make_training_networks.FAMILIES)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert all(one.read_bytes() != two.read_bytes() for one, two in zip(first, other, strict=True))
    assert len({path.read_bytes() for path in first}) == len(first)


def test_every_family_runs(tmp_path: Path) -> None:
    for path in make_training_networks.make_networks(tmp_path, 3, seed=0):
        shape = [dim.dim_value for dim in onnx.load(path).graph.input[0].type.tensor_type.shape.dim]
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        (result,) = session.run(None, {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)})
        assert np.isfinite(result).all()


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert make_training_networks.main(["--out", str(tmp_path / "file"), "--each", "1"]) == 2
    assert "cannot be written to" in capsys.readouterr().err
