"""Checkpoints: everything comes back, nothing foreign comes in, an old file outlives a failed write."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cost_model_fakes import LAYOUT, token_group
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from tcl_core.config import CostModelConfig, ModelConfig
from tcl_core.cost_model import checkpoint as checkpoint_module
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.checkpoint import FORMAT, Checkpoint, read_checkpoint, write_checkpoint
from tcl_core.errors import UserError

TENSORS = {"weight": np.arange(6, dtype=np.float32).reshape(2, 3), "ids": np.arange(3, dtype=np.int64)}
CHECKPOINT = Checkpoint(model="mamba", layout=LAYOUT, facts={"fits": 3}, tensors=TENSORS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_checkpoint(tmp_path / "model.safetensors", CHECKPOINT)
    return tmp_path / "model.safetensors"


def refusal(path: Path, model: str = "mamba", layout=LAYOUT) -> str:
    with pytest.raises(UserError) as refused:
        read_checkpoint(path, model, layout)
    assert refused.value.stage == "checkpoint"
    assert str(path) in str(refused.value)
    assert str(refused.value).count("\n") == 0
    return str(refused.value)


def test_everything_comes_back(path: Path) -> None:
    found = read_checkpoint(path, "mamba", LAYOUT)
    assert found.facts == {"fits": 3}
    assert set(found.tensors) == set(TENSORS)
    for name, tensor in TENSORS.items():
        assert found.tensors[name].dtype == tensor.dtype
        np.testing.assert_array_equal(found.tensors[name], tensor)
    assert {"torch", "safetensors"} <= set(found.libraries)
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644, "an exported one is for others to read"


def test_a_copy_written_with_other_libraries_is_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_checkpoint(path)
    monkeypatch.setattr(checkpoint_module, "library_versions", lambda: {"numpy": "9"})
    write_checkpoint(path.with_name("copy"), found)
    assert read_checkpoint(path.with_name("copy")).digest == found.digest


def test_other_vocabularies_and_models_are_refused(path: Path) -> None:
    assert "vocabulary" in refusal(path, layout=replace(LAYOUT, version=2))
    assert "vocabulary" in refusal(path, layout=replace(LAYOUT, kinds=41))
    assert "'mamba', not 'xgb'" in refusal(path, model="xgb")


def test_files_that_are_no_checkpoints_are_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "nothing")
    assert "cannot be read" in refusal(tmp_path)
    for content in (b"", b"PK\x03\x04 a zip", b"\xff" * 64, b"{}" * 100):
        (tmp_path / "file").write_bytes(content)
        assert "delete" not in refusal(tmp_path / "file"), "it is somebody's"
    os.mkfifo(tmp_path / "pipe")
    assert "is not a file" in refusal(tmp_path / "pipe")
    save_file(TENSORS, tmp_path / "foreign")
    assert "not a cost model checkpoint" in refusal(tmp_path / "foreign")
    save_file(TENSORS, tmp_path / "half", {"format": FORMAT})
    assert "damaged" in refusal(tmp_path / "half")


def test_a_file_that_may_not_be_opened_is_not_said_to_be_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)
    assert "cannot be read (Permission denied)" in refusal(path)


@pytest.mark.parametrize("left_out", ["facts", "layout", "libraries", "model"])
def test_a_whole_file_that_does_not_say_what_it_holds_is_refused(path: Path, left_out: str) -> None:
    with safe_open(path, framework="numpy") as file:
        metadata = dict(file.metadata())
    kept = {name: value for name, value in metadata.items() if name not in {left_out, "sha256"}}
    save_file(TENSORS, path, kept | {"sha256": checkpoint_module._digest(kept, TENSORS)})
    assert "does not say what it holds" in refusal(path)


@pytest.mark.parametrize(
    "facts",
    ["[" * 100_000, '{"a": ' + "[" * 40 + "]" * 40 + "}", '{"a": NaN}', '{"a": 1e400}', '{"a": "\\ud800"}', "{"],
)
def test_facts_that_cannot_be_shown_or_kept_are_refused(path: Path, facts: str) -> None:
    with safe_open(path, framework="numpy") as file:
        metadata = {**file.metadata(), "facts": facts}
    del metadata["sha256"]
    save_file(TENSORS, path, metadata | {"sha256": checkpoint_module._digest(metadata, TENSORS)})
    assert "does not say what it holds" in refusal(path)


@pytest.mark.parametrize("fits", [None, "3", 1.5, True, -1, 2**70])
def test_a_model_refuses_facts_that_are_not_its_own(tmp_path: Path, fits: object) -> None:
    small = CostModelConfig(model=ModelConfig(width=16, layers=1, heads=2))
    model = make_cost_model(small, LAYOUT, 0)
    model.save(tmp_path / "model")
    saved = read_checkpoint(tmp_path / "model")
    write_checkpoint(tmp_path / "model", replace(saved, facts={**saved.facts, "fits": fits}))
    with pytest.raises(UserError, match="does not say its 'fits'"):
        model.load(tmp_path / "model")
    write_checkpoint(tmp_path / "model", replace(saved, facts={}))
    with pytest.raises(UserError, match="other model settings"):
        model.load(tmp_path / "model")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_cut_or_changed_byte_is_refused(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    damaged = path.with_name("damaged")
    damaged.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    refusal(damaged)
    at, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 7))
    changed = bytearray(whole)
    changed[at] ^= 1 << bit
    damaged.write_bytes(changed)
    try:
        found = read_checkpoint(damaged, "mamba", LAYOUT)
    except UserError:
        return
    # Bytes of the header that mean nothing (its padding, its escapes) may change; the content may not.
    assert json.dumps(found.facts) == json.dumps(CHECKPOINT.facts)
    assert all(np.array_equal(found.tensors[name], TENSORS[name]) for name in TENSORS)


def test_a_full_disk_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint_module.os, "fsync", full)
    with pytest.raises(UserError, match=r"cannot be written \(No space left on device\); .*free space"):
        write_checkpoint(path, replace(CHECKPOINT, facts={"fits": 4}))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be written .*, or write it elsewhere"):
        write_checkpoint(tmp_path / "file" / "model", CHECKPOINT)


def test_mamba_refuses_other_settings_and_weights_that_are_not_its_own(tmp_path: Path) -> None:
    small = CostModelConfig(model=ModelConfig(width=16, layers=1, heads=2))
    model = make_cost_model(small, LAYOUT, 0)
    model.fit([token_group(0)])
    model.save(tmp_path / "model")
    other = make_cost_model(replace(small, model=replace(small.model, heads=3)), LAYOUT, 0)
    with pytest.raises(UserError, match="other model settings"):
        other.load(tmp_path / "model")
    saved = read_checkpoint(tmp_path / "model", "mamba", LAYOUT)
    name, tensor = next(iter(saved.tensors.items()))
    for wrong in (tensor[:-1], np.full_like(tensor, np.nan)):
        write_checkpoint(tmp_path / "wrong", replace(saved, tensors={**saved.tensors, name: wrong}))
        with pytest.raises(UserError, match="weights"):
            model.load(tmp_path / "wrong")
