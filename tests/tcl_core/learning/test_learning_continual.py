"""Continual knowledge distillation: little is forgotten, size is constant, a stop changes nothing."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from learning_fakes import (
    COST_MODEL,
    LAYOUT,
    LEARNER,
    OFFLINE,
    QUICK_LEARNER,
    TOKENS,
    StopAfter,
    labels_of,
    platform_data,
    rank_correlation,
    token_batch,
    token_group,
)

from tcl_core.batches import TaskGroup, TokenBatch
from tcl_core.config import LearnerConfig
from tcl_core.cost_model.course import Part
from tcl_core.cost_model.offline import appraise
from tcl_core.cost_model.ranker import Ranker
from tcl_core.cost_model.training import RankedGroup
from tcl_core.errors import Interrupted
from tcl_core.learning import PlatformData, make_learner
from tcl_core.learning.column import make_ranker, predict, ranked_groups, score_group
from tcl_core.learning.compress import Compress, Lesson, Teachers, moved
from tcl_core.learning.continual import ACTIVE, KNOWLEDGE, ContinualLearner
from tcl_core.learning.ewc import OnlineEwc

SMALL = {"tasks": 3, "count": 16}


def quick(**changes) -> ContinualLearner:
    return ContinualLearner(replace(QUICK_LEARNER, **changes), COST_MODEL, LAYOUT, 0)


def numbers(learner: ContinualLearner) -> dict[str, torch.Tensor]:
    known = learner.knowledge
    found = {f"knowledge.{name}": value for name, value in known.ranker.state_dict().items()}
    found |= {f"active.{name}": value for name, value in learner.column.state_dict().items()}
    found |= {f"fisher.{name}": value for name, value in known.ewc.fisher.items()}
    return {name: value.clone() for name, value in found.items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return set(one) == set(other) and all(torch.equal(value, other[name]) for name, value in one.items())


def test_less_is_forgotten_than_by_fine_tuning():
    """Two platforms that disagree about almost everything: what is left of the first one's order."""
    left = {}
    for name in ("fine-tune", "ckd"):
        learner = make_learner(name, LEARNER, COST_MODEL, OFFLINE, LAYOUT, 0)
        learner.learn(platform_data("a", tasks=12))
        before = rank_correlation(learner, "a")
        learner.learn(platform_data("b", tasks=12))
        left[name] = rank_correlation(learner, "a") - before
        assert before > 0.5
        assert rank_correlation(learner, "b") > 0.3

    assert left["ckd"] > -0.15
    assert left["fine-tune"] < left["ckd"] - 0.4


def test_the_first_platform_is_taken_in_without_loss():
    learner = quick()
    report = learner.learn(platform_data("a", **SMALL))
    batch = token_batch("a", 300, 9, seed=3)

    np.testing.assert_array_equal(learner.predict_knowledge(batch).scores, learner.predict_active(batch).scores)
    assert [phase.phase for phase in report.phases] == ["progress", "compress"]
    assert report.deployed == KNOWLEDGE
    assert learner.knowledge.useful


def test_size_is_constant_and_the_anchor_is_where_the_knowledge_base_stands():
    learner, shapes = quick(), []
    for platform in ("a", "b", "c", "a"):
        learner.learn(platform_data(platform, **SMALL))
        shapes.append({name: value.shape for name, value in numbers(learner).items()})
        ewc, ranker = learner.knowledge.ewc, learner.knowledge.ranker
        assert float(ewc.penalty(ranker).detach()) == 0
        assert all(torch.equal(ewc.anchor[name], value) for name, value in ranker.named_parameters())

    assert all(each == shapes[0] for each in shapes)
    assert [each.fingerprint for each in learner.knowledge.platforms] == ["a", "b", "c", "a"]
    assert all(each.records == 3 * 16 for each in learner.knowledge.platforms)


def test_progress_leaves_the_knowledge_base_alone_and_learning_makes_a_new_one():
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    known, kept = learner.knowledge, numbers(learner)

    learner.learn(platform_data("b", **SMALL))

    assert learner.knowledge is not known
    assert all(torch.equal(value, kept[f"knowledge.{name}"]) for name, value in known.ranker.state_dict().items())


@pytest.mark.parametrize("checkpoints", [0, 2, 3])
def test_a_stop_in_either_phase_leaves_everything_as_it_was(checkpoints):
    """One step a pass, two passes a phase: the third checkpoint is in the second phase."""
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    before, platforms = numbers(learner), learner.knowledge.platforms

    with pytest.raises(Interrupted):
        learner.learn(platform_data("b", **SMALL), cancel=StopAfter(checkpoints))

    assert same(numbers(learner), before)
    assert learner.knowledge.platforms == platforms
    learner.learn(platform_data("b", **SMALL))
    unstopped = quick()
    unstopped.learn(platform_data("a", **SMALL))
    unstopped.learn(platform_data("b", **SMALL))
    assert same(numbers(learner), numbers(unstopped))


def test_the_process_random_state_is_neither_read_nor_moved():
    one = quick()
    one.learn(platform_data("a", **SMALL))
    before = torch.get_rng_state()
    torch.manual_seed(5)
    state = torch.get_rng_state()
    other = quick()
    other.learn(platform_data("a", **SMALL))

    assert torch.equal(torch.get_rng_state(), state)
    torch.set_rng_state(before)
    assert same(numbers(one), numbers(other))


def test_unlabelled_candidates_are_read_and_need_no_label():
    bare, rich = quick(), quick()
    for learner, unlabelled in ((bare, 0), (rich, 4)):
        learner.learn(platform_data("a", **SMALL))
        learner.learn(platform_data("b", **SMALL, unlabelled=unlabelled))
    assert same(*({k: v for k, v in numbers(each).items() if k.startswith("active")} for each in (bare, rich)))
    assert not same(numbers(bare), numbers(rich))


def test_copies_of_a_learner_go_their_own_ways():
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    before, twin = numbers(learner), copy.deepcopy(learner)

    twin.learn(platform_data("b", **SMALL))

    assert same(numbers(learner), before)
    learner.learn(platform_data("b", **SMALL))
    assert same(numbers(learner), numbers(twin))


def test_old_data_is_not_read():
    class Untouchable:
        def __getattribute__(self, name):
            raise AssertionError(f"old data was read: {name}")

    told, silent = quick(), quick()
    for learner, old in ((told, [Untouchable()]), (silent, [])):
        learner.learn(platform_data("a", **SMALL))
        learner.learn(platform_data("b", **SMALL), old=old)
    assert same(numbers(told), numbers(silent))


def test_the_last_platform_may_be_answered_by_both_and_all_others_by_the_knowledge_base():
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    learner.learn(platform_data("b", **SMALL))
    batch = token_batch("b", 300, 9, seed=3)
    knowledge, active = learner.predict_knowledge(batch).scores, learner.predict_active(batch).scores
    assert not np.array_equal(knowledge, active)

    for deployed, wanted in ((ACTIVE, (knowledge + active) / 2), (KNOWLEDGE, knowledge)):
        learner.restore(learner.knowledge, learner.column, deployed, leading=KNOWLEDGE)
        np.testing.assert_allclose(learner.predict("b", batch).scores, wanted, rtol=1e-6)
        for platform in ("a", "c"):
            np.testing.assert_array_equal(learner.predict(platform, batch).scores, knowledge)


def test_a_knowledge_base_that_answers_as_its_teachers_has_nothing_to_learn():
    """Active column and earlier self are the ranker itself: distance 0 under every token."""
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    ranker, column = learner.knowledge.ranker, learner.column
    groups = ranked_groups([token_group("b", 0)], ranker, seed=0)
    teachers = Teachers(column, ranker, hearsay=0.5)
    lessons = [teachers.new(group) for group in groups]
    earlier = [teachers.earlier(group) for group in moved(groups, torch.tensor(TOKENS["a"]))]
    config = replace(LEARNER, ewc=0.0)
    course = Compress(ranker, lessons, [earlier], OnlineEwc.loose(ranker), config, np.random.default_rng(0))
    offset = 0.01 * sum(float(each.wanted_NK.mean(dim=0).square().mean()) for each in (*lessons, *earlier))
    assert course.worth(lessons, [earlier]) == pytest.approx(-offset, abs=1e-6)


def test_a_step_rehearses_one_earlier_platform_in_turn_and_the_springs_pull_by_their_weight():
    """What is reported is the distance from the new platform's lessons alone; `worth` means over earlier platforms."""
    ranker, other = (make_ranker(COST_MODEL, LAYOUT, seed) for seed in (0, 1))
    group, *earlier = ranked_groups([token_group("b", task) for task in range(3)], ranker, seed=0)
    ones = {name: torch.ones_like(value) for name, value in ranker.named_parameters()}
    ewc = OnlineEwc.loose(other).consolidated(other, ones, gamma=1.0)
    lesson, first, second = (Lesson(ranked=each, wanted_NK=30 * score_group(other, each)) for each in (group, *earlier))
    config = replace(LEARNER, ewc=0.001, rehearsal=3.0)

    def course(config: LearnerConfig) -> Compress:
        return Compress(ranker, [lesson], [[first], [second]], ewc, config, np.random.default_rng(0))

    apart = [-course(replace(config, ewc=0.0)).worth([each], []) for each in (lesson, first, second)]
    springs, held = 0.001 * float(ewc.penalty(ranker).detach()), course(config)
    whole = [Part(group=lesson, rows=torch.arange(held.size(lesson)))]
    assert min(*apart, springs) > 0.01 and apart[1] != pytest.approx(apart[2], rel=0.01)
    for rehearsed in (*apart[1:], *apart[1:]):
        total, distilled = (float(value.detach()) for value in held.objective(whole))
        assert distilled == pytest.approx(apart[0], rel=1e-4)
        assert total == pytest.approx(apart[0] + springs + 3 * rehearsed, rel=1e-4)
    wanted = apart[0] + springs + 3 * (apart[1] + apart[2]) / 2
    assert held.worth([lesson], [[first], [second]]) == pytest.approx(-wanted, rel=1e-4)


def test_of_an_earlier_platform_the_column_is_heard_by_its_share():
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    learner.learn(platform_data("b", **SMALL))
    ranker, column = learner.knowledge.ranker, learner.column
    groups = ranked_groups([token_group("b", 0)], ranker, seed=0)
    (group,) = moved(groups, torch.tensor(TOKENS["a"]))
    deaf, half, trusting = (Teachers(column, ranker, share).earlier(group).wanted_NK for share in (0.0, 0.5, 1.0))
    assert torch.equal(deaf, ranker.standardise(score_group(ranker, group)))
    assert torch.equal(trusting, column.ranker.standardise(score_group(column, group)))
    assert not torch.allclose(deaf, trusting, atol=1e-2)
    torch.testing.assert_close(half, (deaf + trusting) / 2)


def judged_by(scores_NK: torch.Tensor, group: RankedGroup) -> RankedGroup:
    """The group, as if the platform ran its candidates in the order of these scores."""
    return replace(group, labels_N=scores_NK.mean(dim=1))


def test_of_the_new_platform_each_is_heard_as_far_as_the_validation_tasks_bear_it_out():
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    learner.learn(platform_data("b", **SMALL))
    ranker, column = learner.knowledge.ranker, learner.column
    (group,) = ranked_groups([token_group("b", 0)], ranker, seed=0)
    column_NK = column.ranker.standardise(score_group(column, group))
    known_NK = ranker.standardise(score_group(ranker, group))
    assert not torch.allclose(column_NK, known_NK, atol=1e-2)

    for truth_NK, recollection in ((column_NK, 0.0), (known_NK, 1.0), ((column_NK + known_NK) / 2, 0.5)):
        teachers = Teachers(column, ranker, 0.5, [judged_by(truth_NK, group)])
        assert teachers.recollection == recollection
        torch.testing.assert_close(teachers.new(group).wanted_NK, truth_NK)
        (lesson,) = teachers.judged
        assert torch.equal(lesson.wanted_NK, teachers.new(group).wanted_NK)
    assert Teachers(column, ranker, 0.5).recollection == 0.5


def test_a_run_on_the_last_platform_starts_from_what_has_more_validation_pairs_in_order_alone():
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    second = platform_data("b", **SMALL)
    learner.learn(second)
    assert learner.ranker_for("a") is learner.ranker_for("c") is learner.knowledge.ranker
    rankers = {ACTIVE: learner.column.ranker, KNOWLEDGE: learner.knowledge.ranker}

    def order(ranker: Ranker) -> float:
        return appraise(
            lambda batch: predict(ranker, ranker, ranker.heads.scale, batch).scores, second.validation
        ).alike

    better = max(rankers, key=lambda name: order(rankers[name]))
    assert order(rankers[ACTIVE]) != order(rankers[KNOWLEDGE])
    assert learner.leading == better
    assert learner.ranker_for("b") is rankers[better]


def test_what_answers_for_the_last_platform_is_what_has_more_validation_pairs_in_order():
    learner = quick()
    learner.learn(platform_data("a", **SMALL))
    second = platform_data("b", **SMALL)
    learner.learn(second)

    def as_it_is_answered(group: TaskGroup, deployed: str) -> TaskGroup:
        learner.restore(learner.knowledge, learner.column, deployed, leading=KNOWLEDGE)
        scores = np.concatenate([learner.predict("b", batch).scores for batch in group.batches])
        return replace(group, labels=np.exp(scores - scores.max()))

    for deployed in (ACTIVE, KNOWLEDGE):
        validation = [as_it_is_answered(group, deployed) for group in second.validation]
        assert learner._ahead([learner._predict_together], validation) == (deployed,)
    assert learner._ahead([learner._predict_together], ()) == (KNOWLEDGE,)


def test_an_earlier_platform_is_rehearsed_on_candidates_of_its_own():
    """Of others, the new one among them, none is taken."""

    def drawn(platform: str) -> tuple[TokenBatch, ...]:
        return tuple(token_batch(platform, 400 + task, 16, seed=4) for task in range(3))

    told = {}
    for name, elsewhere in {"none": (), "others": drawn("b") + drawn("c"), "own": drawn("a")}.items():
        learner = quick()
        learner.learn(platform_data("a", **SMALL))
        learner.learn(replace(platform_data("b", **SMALL), elsewhere=elsewhere))
        told[name] = numbers(learner)
    assert same(told["none"], told["others"])
    assert not same(told["none"], told["own"])


def test_what_is_rehearsed_on_its_own_candidates_is_kept_where_those_lie():
    """The second platform's candidates lie in one half of what decides, the first one's in the other."""

    def on_its_own_side(platform: str, tasks: range, *, upper: bool) -> list[TokenBatch]:
        batches = [token_batch(platform, task, 32, seed=5) for task in tasks]
        for batch in batches:
            batch.fields[:, 2:5, 0] = batch.fields[:, 2:5, 0] / 2 + upper / 2
        return batches

    def data(platform: str, *, upper: bool) -> PlatformData:
        groups = [
            TaskGroup(task_key=f"{number}", batches=(batch,), labels=labels_of(platform, (batch,)))
            for number, batch in enumerate(on_its_own_side(platform, range(12), upper=upper))
        ]
        return PlatformData(platform=platform, groups=tuple(groups), validation=())

    asked = on_its_own_side("a", range(500, 508), upper=False)
    found = {}
    for name, drawn in {"moved": [], "own": on_its_own_side("a", range(400, 412), upper=False)}.items():
        learner = ContinualLearner(replace(LEARNER, ewc=0.0, hearsay=0.0), COST_MODEL, LAYOUT, 0)
        learner.learn(data("a", upper=False))
        before = [learner.predict_knowledge(batch).scores for batch in asked]
        learner.learn(replace(data("b", upper=True), elsewhere=tuple(drawn)))
        after = [learner.predict_knowledge(batch).scores for batch in asked]
        found[name] = np.mean([np.corrcoef(one, other)[0, 1] for one, other in zip(before, after, strict=True)])
    assert found["own"] > found["moved"] + 0.1


def test_platforms_that_the_features_cannot_tell_apart_are_not_rehearsed_against_each_other():
    learner = quick(rehearsal=1e6)
    learner.learn(platform_data("a", **SMALL))
    twin = replace(platform_data("a", **SMALL), platform="twin of a")
    unheld = quick(rehearsal=0.0)
    unheld.learn(platform_data("a", **SMALL))
    for each in (learner, unheld):
        each.learn(twin)
    assert same(numbers(learner), numbers(unheld))
