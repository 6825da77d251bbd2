"""Trees of somebody else's file: what would end the process ends a child, and is a sentence here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cost_model_fakes import LAYOUT, small_config

from tcl_core.batches import StoreFeatureBatch, TaskGroup
from tcl_core.cost_model import booster_trial, make_cost_model
from tcl_core.cost_model.booster_trial import can_be_trusted, is_sound
from tcl_core.cost_model.checkpoint import read_checkpoint, write_checkpoint
from tcl_core.cost_model.store_features import STORE_FEATURES
from tcl_core.errors import UserError


@pytest.fixture(scope="module")
def rows() -> StoreFeatureBatch:
    drawn = np.random.default_rng(0).random((32, 2, STORE_FEATURES), np.float32)
    return StoreFeatureBatch(rows=tuple(drawn))


@pytest.fixture(scope="module")
def saved(rows: StoreFeatureBatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of trees that have learned something; never written to."""
    model = make_cost_model(small_config("xgb"), LAYOUT, 0)
    labels = np.array([row[0, 0] for row in rows.rows], np.float32)
    model.fit([TaskGroup(task_key="a", batches=(rows,), labels=labels)])
    path = tmp_path_factory.mktemp("xgb") / "model.safetensors"
    model.save(path)
    return path


@pytest.fixture(scope="module")
def trees(saved: Path) -> bytes:
    return bytes(read_checkpoint(saved).tensors["booster"].tobytes())


def spoilt(trees: bytes, after: bytes, at: int, byte: int) -> bytes:
    """With one byte behind a word another."""
    changed = bytearray(trees)
    changed[trees.index(after) + len(after) + at] = byte
    return bytes(changed)


def elsewhere(trees: bytes) -> bytes:
    """The first node asks for a feature that no row has."""
    return spoilt(trees, b"split_indices[$l#L", 10, 1)


def refusal(saved: Path, path: Path, trees: bytes) -> str:
    tensors = {"booster": np.frombuffer(trees, np.uint8)}
    write_checkpoint(path, replace(read_checkpoint(saved), tensors=tensors))
    model = make_cost_model(small_config("xgb"), LAYOUT, 0)
    with pytest.raises(UserError) as refused:
        model.load(path)
    assert not model.trained
    return str(refused.value)


def test_trees_of_ours_are_trusted(trees: bytes, saved: Path, rows: StoreFeatureBatch) -> None:
    assert is_sound(trees, STORE_FEATURES)
    assert can_be_trusted(trees, STORE_FEATURES)
    model = make_cost_model(small_config("xgb"), LAYOUT, 0)
    model.load(saved)
    assert model.trained
    assert model.predict(rows).scores.std() > 0


def test_trees_that_end_the_process_are_a_sentence(saved: Path, trees: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model"
    astray = spoilt(trees, b"left_children[$l#L", 8, 127)  # the first node's child is none of the nodes
    sentence = f"The checkpoint {path} holds trees xgboost cannot read; name another."
    assert refusal(saved, path, astray) == sentence
    assert refusal(saved, path, elsewhere(trees)) == sentence
    assert refusal(saved, path, trees.replace(b"num_feature", b"\xff" * 11)) == sentence


@pytest.mark.parametrize("word", [b"num_feature", b"name", b"objective"])
def test_bytes_that_are_no_unicode_are_no_trees(trees: bytes, word: bytes) -> None:
    assert not is_sound(trees.replace(word, b"\xff" * len(word)), STORE_FEATURES)


def test_trees_that_would_read_past_a_row_are_not_asked(trees: bytes) -> None:
    assert not is_sound(elsewhere(trees), STORE_FEATURES)
    assert not is_sound(trees, 10), "rows of fewer features"


def test_trees_that_never_end_are_given_up(trees: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booster_trial, "_TIMEOUT_S", 0.01)
    assert not can_be_trusted(trees, STORE_FEATURES)
