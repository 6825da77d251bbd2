"""Facts of a checkpoint whose checksum is right: what no learner has written is named in a sentence."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learning_fakes import COST_MODEL, LAYOUT, QUICK_LEARNER, TOKENS, platform_data

from tcl_core.cost_model.checkpoint import read_checkpoint, write_checkpoint
from tcl_core.errors import UserError
from tcl_core.learning.checkpoints import load_learner, save_learner
from tcl_core.learning.continual import ContinualLearner
from tcl_core.learning.facts import LearnerFacts, WrongFact, learner_facts
from tcl_core.learning.lineage import ACTIVE, KNOWLEDGE, LearnedPlatform
from tests.tcl_core.learning.test_learning_checkpoints import learned, origin

PLATFORM = LearnedPlatform(fingerprint="a", records=48, token=TOKENS["a"], name="machine a", target_json="")
FACTS: dict[str, Any] = {
    "learner": asdict(QUICK_LEARNER),
    "model": asdict(COST_MODEL.model),
    "seed": 0,
    "deployed": ACTIVE,
    "leading": KNOWLEDGE,
    "platforms": [{**asdict(PLATFORM), "token": list(PLATFORM.token)}],
    "parent": None,
    "metrics": {"top1": 0.75},
}


def changed(path: str, value: Any, facts: dict[str, Any] = FACTS) -> dict[str, Any]:
    """The facts with one of them, "learner.gate" say, another."""
    found: Any = copy.deepcopy(facts)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    inner = found
    for step in way:
        inner = inner[step]
    inner[last] = value
    return dict(found)


def read(facts: dict[str, Any]) -> LearnerFacts:
    return learner_facts(json.loads(json.dumps(facts)), LAYOUT.platform)


def test_what_a_learner_writes_is_read() -> None:
    found = read(FACTS)
    assert (found.config, found.model, found.seed) == (QUICK_LEARNER, COST_MODEL.model, 0)
    assert (found.platforms, found.metrics, found.parent) == ((PLATFORM,), (("top1", 0.75),), None)
    assert (found.deployed, found.leading) == (ACTIVE, KNOWLEDGE)


def test_settings_that_a_file_lacks_take_their_defaults() -> None:
    fewer = copy.deepcopy(FACTS)
    del fewer["learner"]["hearsay"], fewer["platforms"][0]["vector_bits"]
    assert read(fewer).config == replace(QUICK_LEARNER, hearsay=0.5)
    assert read(fewer).platforms == (PLATFORM,)
    del fewer["leading"]
    assert read(fewer).leading == ACTIVE, "what answered was what runs started from"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(("model.width", value) for value in ("64", -1, 0, 1.5, True, None, 2**70)),
        *(("model.layers", value) for value in (1.5, 0, [])),
        *(("model.dropout", value) for value in (7, -0.1, 1, float("nan"), "0", 10**400)),
        *(("learner.adapter", value) for value in (-3, 0, "16")),
        *(("learner.gate", value) for value in (2, 1, 0, -1)),
        ("learner.copy_knowledge", 1),
        ("learner.temperature", 0),
        ("learner.progress", []),
        *(("learner.progress.epochs", value) for value in ("x", 0, 2.0)),
        ("learner.compress.learning_rate", float("inf")),
        *(("seed", value) for value in (-5, 2**70, "0", 1.0, False)),
        *(("deployed", value) for value in (7, None, "model", [])),
        ("leading", "model"),
        *(("platforms", value) for value in ([], {}, None, [7])),
        *(("platforms.0.token", value) for value in ([], [0.0] * 4, [0.0, 0.0, float("nan")], [1e39, 0, 0], "abc")),
        ("platforms.0.records", -1),
        ("platforms.0.name", 7),
        *(("platforms.0.target_json", value) for value in ("{", "[]", '{"kind": 7}', "[" * 100_000)),
        ("platforms.0.vector_bits", "512"),
        ("metrics", []),
        ("metrics.top1", "0.75"),
        ("parent", 7),
    ],
)
def test_a_fact_that_no_learner_has_is_named(path: str, value: Any) -> None:
    place = path.replace(".0", "[0]").removesuffix(".top1")
    with pytest.raises(WrongFact) as refused:
        read(changed(path, value))
    assert str(refused.value).startswith(place)
    assert ", and not " in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("path", ["learner.later", "learner.progress.later", "model.later", "platforms.0.later"])
def test_a_setting_of_a_later_version_is_no_wrong_fact(path: str) -> None:
    with pytest.raises(TypeError):
        read(changed(path, 1))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """After one platform; never written to."""
    path = tmp_path_factory.mktemp("learned") / "learner.safetensors"
    save_learner(path, learned("a"), origin("a"))
    return path


def with_facts(saved: Path, path: Path, facts: dict[str, Any]) -> Path:
    write_checkpoint(path, replace(read_checkpoint(saved), facts=facts))
    return path


@pytest.mark.parametrize(
    ("path", "value"),
    [("model.width", 10**9), ("model.layers", 10**9), ("model.heads", 10**9), ("learner.adapter", 10**9)],
)
def test_a_network_larger_than_its_file_is_never_made(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, value: int
) -> None:
    def made(*_: object, **__: object) -> None:
        raise AssertionError("a learner was made")

    monkeypatch.setattr(ContinualLearner, "__init__", made)
    facts = changed(path, value, dict(read_checkpoint(saved).facts))
    with pytest.raises(UserError, match="lacks weights"):
        load_learner(with_facts(saved, tmp_path / "large", facts), LAYOUT)


def places(value: Any, way: str = "") -> Iterator[str]:
    """Every place in JSON values, as `changed` takes it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield f"{way}{name}"
        yield from places(each, f"{way}{name}.")


ODD = (None, True, -1, 0, 1, 2, 7, 1.5, -0.5, 0.5, 1e-30, 1e30, 1e300, 2**70, "", "x", [], [0.5], {}, {"x": 1})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(place=st.sampled_from(sorted(places(FACTS))), value=st.sampled_from(ODD))
def test_any_fact_is_refused_or_learned_with(saved: Path, tmp_path: Path, place: str, value: Any) -> None:
    facts = changed(place, value, dict(read_checkpoint(saved).facts))
    path = with_facts(saved, tmp_path / "odd", facts)
    try:
        learner = load_learner(path, LAYOUT)
        learner.learn(platform_data("b", tasks=1, count=8))
    except UserError as refused:
        assert "\n" not in str(refused)
    else:
        save_learner(path, learner, origin("b"))
        load_learner(path, LAYOUT)
