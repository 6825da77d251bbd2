"""Progress: LambdaRank on the records, and what the knowledge base says of the pairs it ranks rightly."""

from __future__ import annotations

import pytest
import torch
from learning_fakes import COST_MODEL, LAYOUT, token_group

from tcl_core.cost_model.course import Part
from tcl_core.cost_model.ranker import Ranker
from tcl_core.cost_model.training import ranking_objective
from tcl_core.learning.active_column import ActiveColumn
from tcl_core.learning.column import make_ranker, ranked_groups, scale_over, score_group
from tcl_core.learning.distillation import gated_pair_distillation
from tcl_core.learning.progress import Progress


def course(knowledge: Ranker | None, weight: float) -> Progress:
    """Two tasks, a column that the knowledge base is no copy of."""
    torch.manual_seed(0)
    column = ActiveColumn(make_ranker(COST_MODEL, LAYOUT, 1), adapter=4, gate=0.5)
    column.listen_to(knowledge)
    with torch.no_grad():
        column.ranker.heads.out *= 50  # scores that differ, as after some passes
    groups = ranked_groups([token_group("a", 0), token_group("a", 1)], column.ranker, seed=0)
    return Progress(column, groups, knowledge, weight)


def test_the_knowledge_base_is_heard_by_its_weight_and_of_the_very_records_that_are_drawn():
    knowledge = make_ranker(COST_MODEL, LAYOUT, 0)
    made = course(knowledge, 0.25)
    parts = [
        Part(group=group, rows=rows)
        for group, rows in zip(made.groups, (torch.arange(3, 29, 5), torch.arange(20)), strict=True)
    ]

    total, ranking = made.objective(parts)
    assert [made.length(group) for group in made.groups] == [7, 7]  # tokens of the longer of two sketches

    totals, rankings = [], []
    for part in parts:
        picked = part.group.ranked.pick(part.rows)
        scores_NK = made.network(picked.given)[0]
        alone, ranked = ranking_objective(scores_NK, picked)
        taught = gated_pair_distillation(scores_NK, score_group(knowledge, picked), picked.labels_N)
        assert 0.1 < float(taught.detach()) < 10 and abs(float(taught.detach()) - 1) > 0.01
        totals.append(float((alone + 0.25 * taught).detach()))
        rankings.append(float(ranked.detach()))
    assert float(total.detach()) == pytest.approx(sum(totals) / 2, rel=1e-4)
    assert float(ranking.detach()) == pytest.approx(sum(rankings) / 2, rel=1e-4)


@pytest.mark.parametrize("knows", [True, False])
def test_without_a_knowledge_base_or_its_weight_records_alone_teach(knows: bool):
    made = course(make_ranker(COST_MODEL, LAYOUT, 0) if knows else None, 0.0 if knows else 0.25)
    group = made.groups[0]
    part = Part(group=group, rows=torch.arange(made.size(group)))

    total, ranking = made.objective([part])

    alone, ranked = ranking_objective(made.network(group.ranked.given)[0], group.ranked)
    assert float(total.detach()) == pytest.approx(float(alone.detach()), rel=1e-4)
    assert float(ranking.detach()) == pytest.approx(float(ranked.detach()), rel=1e-4)


def test_after_a_pass_the_scale_of_the_columns_heads_is_measured_with_what_it_hears():
    made = course(make_ranker(COST_MODEL, LAYOUT, 0), 0.25)
    column = made.network
    for adapter in column.adapters:
        torch.nn.init.normal_(adapter.up.weight)
    alone = scale_over(column.ranker, [group.ranked for group in made.groups])

    made.network.train()
    made.close_pass()

    assert not column.training
    assert not torch.allclose(column.ranker.heads.scale, alone, rtol=1e-2)
    torch.testing.assert_close(column.ranker.heads.scale, scale_over(column, [group.ranked for group in made.groups]))
