"""What every learner promises, whatever it does inside."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from learning_fakes import (
    COST_MODEL,
    LAYOUT,
    QUICK,
    QUICK_LEARNER,
    StopAfter,
    platform_data,
    token_batch,
    token_group,
)

from tcl_core.errors import Interrupted, UserError
from tcl_core.learning import LEARNERS, make_learner

ALL = pytest.mark.parametrize("name", list(LEARNERS))


def learner(name: str, seed: int = 0):
    return make_learner(name, QUICK_LEARNER, COST_MODEL, QUICK, LAYOUT, seed)


def data(platform: str, **changes):
    return replace(platform_data(platform, tasks=3, count=16), **changes)


def scores(of, platform: str) -> np.ndarray:
    return of.predict(platform, token_batch(platform, 300, 9, seed=3)).scores


@ALL
def test_before_anything_was_learned_scores_say_nothing(name):
    fresh = learner(name)
    found = fresh.predict("a", token_batch("a", 300, 9, seed=3))
    assert not found.scores.any()
    assert not found.spread.any()
    assert found.embeddings.shape == (9, COST_MODEL.model.width)


@ALL
def test_passes_are_as_many_however_many_platforms_are_learned(name):
    """Else a table would compare learners that were taught for unequal lengths."""
    offline = replace(QUICK, epochs=6, most_steps=4, patience=6, tasks_per_step=1)
    config = replace(QUICK_LEARNER, progress=offline, compress=offline)
    taught = make_learner(name, config, COST_MODEL, offline, LAYOUT, 0)
    first = taught.learn(data("a"))
    second = taught.learn(data("b"), old=[data("a")])
    assert [first.phases[0].epochs, second.phases[0].epochs] == [2, 2]


@ALL
def test_two_platforms_are_learned_and_known_and_unknown_ones_answered(name):
    taught, seen = learner(name), []
    first = taught.learn(data("a"), watch=seen.append)
    second = taught.learn(data("b"), old=[data("a")])

    assert taught.name == name
    assert (first.platform, second.platform) == ("a", "b")
    assert first.records == second.records == 3 * 16
    assert second.validation_top1 is not None
    assert [report.epoch for report in seen] == list(range(1, len(seen) + 1))
    assert all(report.epoch <= report.epochs for report in seen)
    for platform in ("a", "b", "c"):
        found = taught.predict(platform, token_batch(platform, 300, 9, seed=3))
        assert found.scores.shape == found.spread.shape == (9,)
        assert np.isfinite(found.scores).all()
        assert found.scores.std() > 0
    assert taught.size_bytes > 0


@ALL
def test_the_same_seed_learns_the_same(name):
    one, same, other = learner(name), learner(name), learner(name, seed=1)
    for each in (one, same, other):
        each.learn(data("a"))
        each.learn(data("b"), old=[data("a")])
    for platform in ("a", "b"):
        np.testing.assert_array_equal(scores(one, platform), scores(same, platform))
    assert not np.array_equal(scores(one, "b"), scores(other, "b"))


@ALL
@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ((), "a record that succeeded"),
        ((replace(token_group("a", 0), labels=np.zeros(32, np.float32)),), "records of different speed"),
    ],
    ids=["no records", "all alike"],
)
def test_a_platform_with_nothing_to_rank_is_refused_in_one_sentence(name, groups, said):
    taught = learner(name)
    taught.learn(data("a"))
    before = scores(taught, "a")

    with pytest.raises(UserError, match=said) as refused:
        taught.learn(data("b", groups=groups), old=[data("a")])

    assert "\n" not in str(refused.value)
    np.testing.assert_array_equal(scores(taught, "a"), before)


@ALL
def test_features_that_are_not_finite_are_refused_in_one_sentence_and_ruin_nothing(name):
    taught = learner(name)
    taught.learn(data("a"))
    before = scores(taught, "a")
    good = data("b")
    batch = good.groups[0].batches[0]
    broken = replace(batch, fields=np.full_like(batch.fields, np.nan))
    group = replace(good.groups[0], batches=(broken, *good.groups[0].batches[1:]))

    with pytest.raises(UserError, match="not a finite number"):
        taught.learn(replace(good, groups=(group,)), old=[data("a")])

    np.testing.assert_array_equal(scores(taught, "a"), before)


@ALL
def test_a_stop_leaves_a_learner_that_predicts_and_learns(name):
    taught = learner(name)
    taught.learn(data("a"))
    with pytest.raises(Interrupted):
        taught.learn(data("b"), cancel=StopAfter(1), old=[data("a")])
    assert np.isfinite(scores(taught, "a")).all()
    taught.learn(data("b"), old=[data("a")])
    assert np.isfinite(scores(taught, "b")).all()


@ALL
def test_without_validation_tasks_the_last_pass_counts(name):
    report = learner(name).learn(data("a", validation=()))
    assert report.validation_top1 is None
    assert report.phases[0].best_epoch == report.phases[0].epochs == QUICK.epochs


def test_sizes_grow_only_where_a_platform_adds_a_network():
    sizes = {}
    for name in LEARNERS:
        taught, old = learner(name), []
        sizes[name] = []
        for platform in "abc":
            taught.learn(data(platform), old=old)
            old.append(data(platform))
            sizes[name].append(taught.size_bytes)

    for name in ("fine-tune", "momentum", "ckd"):
        assert len(set(sizes[name])) == 1
    for name in ("scratch", "multi-task"):
        assert sizes[name][0] < sizes[name][1] < sizes[name][2]


def test_only_joint_learning_asks_for_old_data_and_refuses_to_go_without():
    assert [name for name in LEARNERS if learner(name).needs_old_data] == ["multi-task"]
    taught = learner("multi-task")
    taught.learn(data("a"))
    with pytest.raises(ValueError, match="needs the data of a again"):
        taught.learn(data("b"))


def test_slow_weights_follow_by_momentum():
    """After one pass from equal weights, slow - start = (1 - m) (fast - start)."""
    once = replace(QUICK, epochs=1, average=0.0)
    taught = make_learner("momentum", replace(QUICK_LEARNER, momentum=0.9), COST_MODEL, once, LAYOUT, 0)
    taught.learn(data("a"))
    start = {name: value.clone() for name, value in taught.slow.state_dict().items()}

    taught.learn(data("b", validation=()))

    fast = taught.fast.state_dict()
    for name, slow in taught.slow.state_dict().items():
        np.testing.assert_allclose(slow, start[name] + 0.1 * (fast[name] - start[name]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["fine-tune", "momentum"])
def test_what_it_begins_with_is_kept_where_no_pass_is_better(name):
    """As the phases of continual learning have it: what teaches the opposite, judged by what was taught before."""
    first = platform_data("a", tasks=12)
    opposite = tuple(replace(group, labels=group.labels.min() / group.labels) for group in first.groups)
    taught = make_learner(name, QUICK_LEARNER, COST_MODEL, replace(QUICK, epochs=20), LAYOUT, 0)
    taught.learn(first)
    before = scores(taught, "a")

    report = taught.learn(replace(first, groups=opposite))

    assert report.phases[0].best_epoch == 0
    np.testing.assert_array_equal(scores(taught, "a"), before)


def test_an_unknown_name_is_a_sentence_that_lists_the_known():
    with pytest.raises(UserError, match=r"'rote'.*scratch, fine-tune, multi-task, momentum, ckd"):
        learner("rote")


def test_the_door_is_light():
    code = (
        "import sys, tcl_core.learning as room, tcl_core.learning.checkpoints;"
        "print({'torch', 'tvm', 'onnx'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
