"""A learner in a file: all of it comes back, what is learned next is the same, nothing foreign comes in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learning_fakes import COST_MODEL, LAYOUT, QUICK_LEARNER, platform_data, token_batch

from tcl_core.cost_model import checkpoint as checkpoint_module
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tcl_core.domain import Platform, PlatformFeatures
from tcl_core.errors import UserError
from tcl_core.learning.checkpoints import (
    LearnedOrigin,
    describe,
    export_ranker,
    load_learner,
    save_learner,
)
from tcl_core.learning.continual import ACTIVE, KNOWLEDGE, ContinualLearner

SMALL = {"tasks": 3, "count": 16}
BATCH = token_batch("a", 300, 9, seed=3)


def platform(fingerprint: str) -> Platform:
    features = PlatformFeatures(
        cores=2, vector_bits=256, l1_bytes=1, l2_bytes=1, l3_bytes=1, peak_flops=1.0, bandwidth_bytes_s=1.0
    )
    return Platform(
        fingerprint=fingerprint,
        name=f"machine {fingerprint}",
        kind="llvm",
        target_json='{"kind": "llvm"}',
        threads=2,
        runnable=True,
        features=features,
    )


def origin(fingerprint: str, parent: str | None = None) -> LearnedOrigin:
    data_digest = f"data of {fingerprint}"
    return LearnedOrigin(
        platform=platform(fingerprint), data_digest=data_digest, parent=parent, metrics=(("top1", 0.75),)
    )


def learned(*platforms: str) -> ContinualLearner:
    learner = ContinualLearner(QUICK_LEARNER, COST_MODEL, LAYOUT, 0)
    for each in platforms:
        learner.learn(platform_data(each, **SMALL))
    return learner


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """After platforms a and b; never written to."""
    path = tmp_path_factory.mktemp("learned") / "learner.safetensors"
    save_learner(path, learned("a", "b"), origin("b", parent="c0ffee"))
    return path


def refusal(path: Path, layout=LAYOUT) -> str:
    with pytest.raises(UserError) as refused:
        load_learner(path, layout)
    assert refused.value.stage == "checkpoint"
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("platforms", ["a", "ab"])
def test_both_columns_answer_as_they_did_when_they_were_saved(tmp_path: Path, platforms: str):
    learner, path = learned(*platforms), tmp_path / "learner.safetensors"
    before = [learner.predict_active(BATCH).scores, learner.predict_knowledge(BATCH).scores]
    save_learner(path, learner, origin(platforms[-1]))
    loaded = load_learner(path, LAYOUT)
    for one in (learner, loaded):
        np.testing.assert_array_equal(one.predict_active(BATCH).scores, before[0])
        np.testing.assert_array_equal(one.predict_knowledge(BATCH).scores, before[1])


def test_going_on_from_a_file_is_never_having_stopped(tmp_path: Path):
    straight, path = learned("a", "b", "c"), tmp_path / "learner.safetensors"
    stopped = learned("a")
    for each in ("a", "b"):
        save_learner(path, stopped, origin(each))
        stopped = load_learner(path, LAYOUT)
        stopped.learn(platform_data({"a": "b", "b": "c"}[each], **SMALL))

    for one, other in (
        (straight.knowledge.ranker.state_dict(), stopped.knowledge.ranker.state_dict()),
        (straight.column.state_dict(), stopped.column.state_dict()),
        (straight.knowledge.ewc.fisher, stopped.knowledge.ewc.fisher),
        (straight.knowledge.ewc.anchor, stopped.knowledge.ewc.anchor),
    ):
        assert set(one) == set(other)
        assert all(np.array_equal(value.detach(), other[name].detach()) for name, value in one.items())
    for each in ("a", "c", "unknown"):
        np.testing.assert_array_equal(straight.predict(each, BATCH).scores, stopped.predict(each, BATCH).scores)
    assert (straight.deployed, straight.leading) == (stopped.deployed, stopped.leading)
    assert [each.name for each in stopped.knowledge.platforms] == ["machine a", "machine b", ""]


def test_a_file_describes_itself(saved: Path):
    found = describe(saved)

    assert [(each.fingerprint, each.records) for each in found.platforms] == [("a", 48), ("b", 48)]
    assert (found.platforms[-1].name, found.platforms[-1].data_digest) == ("machine b", "data of b")
    assert (found.parent, found.metrics, found.seed) == ("c0ffee", (("top1", 0.75),), 0)
    assert (found.layout, found.config, found.model) == (LAYOUT, QUICK_LEARNER, COST_MODEL.model)
    assert len(found.digest) == 64
    assert found.size_bytes == saved.stat().st_size
    assert {"torch", "safetensors"} <= set(found.libraries)


def test_the_file_holds_no_more_than_the_learner_counts(saved: Path):
    learner = load_learner(saved, LAYOUT)
    header = 16_384
    assert learner.size_bytes <= saved.stat().st_size < learner.size_bytes + header


def test_the_paper_size_learner_fits_its_budget(tmp_path: Path):
    """About 0.7 to 1.4 MB for knowledge base, active column and Fisher information."""
    from tcl_core.config import CostModelConfig, LearnerConfig
    from tcl_core.features import LAYOUT as REAL

    learner = ContinualLearner(LearnerConfig(), CostModelConfig(), REAL, 0)
    assert 0.7e6 < learner.size_bytes < 1.4e6


@pytest.mark.parametrize(
    ("leading", "platform", "starts"),
    [(ACTIVE, "b", "column"), (KNOWLEDGE, "b", "knowledge"), (ACTIVE, "a", "knowledge"), (ACTIVE, "c", "knowledge")],
)
def test_a_run_starts_from_what_leads_on_its_platform(
    saved: Path, tmp_path: Path, leading: str, platform: str, starts: str
):
    learner = load_learner(saved, LAYOUT)
    learner.restore(learner.knowledge, learner.column, KNOWLEDGE, leading)
    export_ranker(tmp_path / "ranker.safetensors", learner, platform)
    model = make_cost_model(COST_MODEL, LAYOUT, 7)
    model.load(tmp_path / "ranker.safetensors")

    learner.column.listen_to(None)
    answers = {"column": learner.predict_active(BATCH), "knowledge": learner.predict_knowledge(BATCH)}
    assert not np.allclose(answers["column"].scores, answers["knowledge"].scores, atol=1e-2)
    wanted, found = answers[starts], model.predict(BATCH)
    np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.spread, wanted.spread, rtol=1e-3, atol=1e-5)
    assert model.trained
    assert model.fit(platform_data("b", **SMALL).groups).loss is not None


def test_what_was_never_learned_is_neither_saved_nor_exported(tmp_path: Path):
    fresh = learned()
    with pytest.raises(ValueError, match="did not learn a last"):
        save_learner(tmp_path / "file", fresh, origin("a"))
    with pytest.raises(ValueError, match="no knowledge"):
        export_ranker(tmp_path / "file", fresh, "a")
    assert not list(tmp_path.iterdir())


def test_other_vocabularies_models_and_files_are_refused(saved: Path, tmp_path: Path):
    assert "vocabulary 1" in refusal(saved, replace(LAYOUT, version=2))
    assert "does not exist" in refusal(tmp_path / "nothing")
    (tmp_path / "text").write_text("a learner, honestly")
    assert "not a checkpoint" in refusal(tmp_path / "text")
    export_ranker(tmp_path / "mamba", load_learner(saved, LAYOUT), "a")
    assert "'mamba', not 'ckd'" in refusal(tmp_path / "mamba")
    with pytest.raises(UserError, match="'mamba', not 'ckd'"):
        describe(tmp_path / "mamba")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.data())
def test_any_cut_or_changed_byte_is_refused_or_means_nothing(saved: Path, tmp_path: Path, data: st.DataObject):
    whole = saved.read_bytes()
    damaged = tmp_path / "damaged"
    damaged.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    refusal(damaged)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    damaged.write_bytes(changed)
    try:
        found = describe(damaged)
    except UserError:
        return
    # Bytes of the header that mean nothing (its padding, its escapes) may change; the content may not.
    assert replace(found, path=saved) == describe(saved)


def written_with(saved: Path, path: Path, **changes) -> Path:
    """A checkpoint with a right checksum and a wrong content."""
    write_checkpoint(path, replace(read_checkpoint(saved, "ckd", LAYOUT), **changes))
    return path


def test_weights_that_are_missing_or_not_finite_are_refused(saved: Path, tmp_path: Path):
    tensors = dict(read_checkpoint(saved, "ckd", LAYOUT).tensors)
    for prefix in ("knowledge.", "active.", "fisher."):
        name = next(name for name in tensors if name.startswith(prefix))
        fewer = {other: tensor for other, tensor in tensors.items() if other != name}
        for wrong in (
            fewer,
            {**tensors, name: np.full_like(tensors[name], np.nan)},
            {**tensors, "more": tensors[name]},
        ):
            assert "weights" in refusal(written_with(saved, tmp_path / "wrong", tensors=wrong))


def test_facts_of_another_version_are_refused(saved: Path, tmp_path: Path):
    facts = dict(read_checkpoint(saved, "ckd", LAYOUT).facts)
    for wrong in ({}, {**facts, "learner": {"later": 1}}, {**facts, "platforms": [{"name": "a"}]}):
        assert "another version of the learner" in refusal(written_with(saved, tmp_path / "wrong", facts=wrong))


def test_facts_that_others_add_are_kept_apart(saved: Path, tmp_path: Path):
    facts = {**read_checkpoint(saved, "ckd", LAYOUT).facts, "origin": {"kind": "learned"}}
    stamped = written_with(saved, tmp_path / "stamped", facts=facts)
    assert json.dumps(describe(stamped).metrics) == json.dumps(describe(saved).metrics)
    assert describe(stamped).digest != describe(saved).digest


def test_a_full_disk_leaves_the_old_file(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "learner.safetensors"
    path.write_bytes(saved.read_bytes())

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint_module.os, "fsync", full)
    with pytest.raises(UserError, match="No space left"):
        save_learner(path, load_learner(saved, LAYOUT), origin("b"))
    assert path.read_bytes() == saved.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_checkpoints_of_other_models_are_no_learners(tmp_path: Path):
    write_checkpoint(tmp_path / "xgb", Checkpoint(model="xgb", layout=LAYOUT, facts={}, tensors={"a": np.zeros(1)}))
    assert "'xgb', not 'ckd'" in refusal(tmp_path / "xgb")
