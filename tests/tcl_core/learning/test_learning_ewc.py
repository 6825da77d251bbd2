"""Online EWC: springs that are slack at the anchor, as stiff as the Fisher information, which fades by gamma."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from learning_fakes import COST_MODEL, LAYOUT, token_group
from torch import nn

from tcl_core.learning.column import make_ranker, ranked_groups
from tcl_core.learning.ewc import OnlineEwc, estimate_fisher, fisher_reference


@pytest.fixture
def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 3), nn.SiLU(), nn.Linear(3, 2))


def scorers(network, tasks=2, candidates=5):
    """One callable per task: scores [N, K] of fixed candidates."""
    inputs = [torch.randn(candidates, 4, generator=torch.Generator().manual_seed(task)) for task in range(tasks)]
    return [lambda given=given: network(given) for given in inputs]


def held(network) -> OnlineEwc:
    fisher = {name: torch.rand_like(value) for name, value in network.named_parameters()}
    return OnlineEwc.loose(network).consolidated(network, fisher, gamma=0.9)


def shift(network) -> None:
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter))


def test_there_is_no_penalty_at_the_anchor_and_one_everywhere_else(network):
    ewc = held(network)
    assert float(ewc.penalty(network).detach()) == 0

    shift(network)

    assert float(ewc.penalty(network).detach()) > 0


def test_nothing_is_held_before_the_first_platform(network):
    ewc = OnlineEwc.loose(network)
    shift(network)
    assert float(ewc.penalty(network).detach()) == 0


def test_the_penalty_is_half_the_weighted_square_of_the_way_and_pulls_back(network):
    ewc = held(network)
    shift(network)

    penalty = ewc.penalty(network)
    penalty.backward()

    wanted = 0.0
    for name, parameter in network.named_parameters():
        way = (parameter - ewc.anchor[name]).detach()
        wanted += 0.5 * float(np.sum(ewc.fisher[name].numpy() * way.numpy() ** 2))
        torch.testing.assert_close(parameter.grad, ewc.fisher[name] * way)
    assert float(penalty.detach()) == pytest.approx(wanted, rel=1e-5)


def test_fisher_fades_by_gamma_and_the_anchor_moves_along(network):
    ones = {name: torch.ones_like(value) for name, value in network.named_parameters()}
    first = OnlineEwc.loose(network).consolidated(network, ones, gamma=0.5)
    shift(network)
    third = first.consolidated(network, ones, gamma=0.5).consolidated(network, ones, gamma=0.5)

    assert all((fisher == 1 + 0.5 + 0.25).all() for fisher in third.fisher.values())
    assert all(torch.equal(third.anchor[name], value) for name, value in network.named_parameters())
    assert all((fisher == 1).all() for fisher in first.fisher.values())


def test_random_vectors_estimate_the_reference(network):
    tasks = scorers(network)
    wanted = fisher_reference(network, tasks, temperature=0.5)

    found = estimate_fisher(network, tasks, temperature=0.5, probes=2000, seed=0)

    largest = max(float(fisher.max()) for fisher in wanted.values())
    assert largest > 0
    for name, fisher in wanted.items():
        torch.testing.assert_close(found[name], fisher, rtol=0.1, atol=0.01 * largest)


def test_the_reference_is_the_curvature_of_the_distillation_it_stands_for(network):
    """One linear layer: the diagonal of the Hessian of KL(scores || scores of moved weights) is the Fisher diagonal."""
    from tcl_core.learning.distillation import listwise_distillation

    layer = nn.Linear(4, 1, bias=False)
    given = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    fisher = fisher_reference(layer, [lambda: layer(given)], temperature=0.5)["weight"]
    still = layer(given).detach()

    hessian = torch.autograd.functional.hessian(
        lambda weight: listwise_distillation(given @ weight.T, still, 0.5), layer.weight.detach()
    )

    torch.testing.assert_close(hessian.reshape(4, 4).diagonal()[None], fisher, rtol=1e-3, atol=1e-5)


def test_a_ranker_has_a_finite_fisher_that_a_seed_repeats():
    ranker = make_ranker(COST_MODEL, LAYOUT, 0)
    groups = ranked_groups([token_group("a", 0), token_group("a", 1)], ranker, seed=0)

    def estimate(seed):
        tasks = [lambda group=group: ranker(group.given)[0] for group in groups]
        return estimate_fisher(ranker, tasks, temperature=0.5, probes=2, seed=seed)

    one, same, other = estimate(0), estimate(0), estimate(1)
    assert all(torch.equal(fisher, same[name]) for name, fisher in one.items())
    assert any(not torch.equal(fisher, other[name]) for name, fisher in one.items())
    assert all(bool(torch.isfinite(fisher).all()) and bool((fisher >= 0).all()) for fisher in one.values())
    assert set(one) == {name for name, _ in ranker.named_parameters()}
