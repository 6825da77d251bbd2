"""The active column listens to the knowledge base through gates, and never changes it."""

from __future__ import annotations

import pytest
import torch
from learning_fakes import COST_MODEL, LAYOUT, token_group

from tcl_core.cost_model.side_by_side import side_by_side
from tcl_core.learning.active_column import ActiveColumn
from tcl_core.learning.column import make_ranker, ranked_groups


@pytest.fixture
def knowledge():
    return make_ranker(COST_MODEL, LAYOUT, 0)


@pytest.fixture
def given(knowledge):
    return ranked_groups([token_group("a", 0)], knowledge, seed=0)[0].given


def column(gate: float, seed: int = 1) -> ActiveColumn:
    """With adapters that say something already."""
    torch.manual_seed(0)
    made = ActiveColumn(make_ranker(COST_MODEL, LAYOUT, seed), adapter=4, gate=gate)
    for adapter in made.adapters:
        torch.nn.init.normal_(adapter.up.weight)
    return made


def test_a_new_column_that_listens_is_its_ranker_still(knowledge, given):
    listening = ActiveColumn(make_ranker(COST_MODEL, LAYOUT, 1), adapter=4, gate=0.5)
    listening.listen_to(knowledge)
    torch.testing.assert_close(listening(given)[0], listening.ranker(given)[0], rtol=0, atol=0)


def test_a_column_that_listens_to_nobody_is_its_ranker(given):
    alone = column(0.5)
    torch.testing.assert_close(alone(given)[0], alone.ranker(given)[0], rtol=0, atol=0)


def test_a_gate_that_is_nearly_closed_lets_nearly_nothing_through(knowledge, given):
    moved = {}
    for gate in (1e-6, 0.05, 0.5):
        listening = column(gate)
        listening.listen_to(knowledge)
        moved[gate] = float((listening(given)[0] - listening.ranker(given)[0]).detach().abs().max())

    assert moved[1e-6] < 1e-4
    assert moved[1e-6] < moved[0.05] < moved[0.5]


def test_every_block_is_joined_by_the_same_block_of_the_knowledge_base(knowledge, given):
    listening = column(0.5)
    listening.listen_to(knowledge)
    wanted = knowledge.read_blocks(given)
    seen = []
    for adapter in listening.adapters:
        adapter.register_forward_pre_hook(lambda _adapter, arguments: seen.append(arguments[0]))

    listening(given)

    assert len(seen) == len(wanted) == COST_MODEL.model.layers
    assert all(torch.equal(one, other) for one, other in zip(seen, wanted, strict=True))


def test_gradients_reach_adapters_and_gates_and_not_the_knowledge_base(knowledge, given):
    listening = column(0.05)
    listening.listen_to(knowledge)

    listening(given)[0].square().sum().backward()

    assert all(parameter.grad is not None and parameter.grad.any() for parameter in listening.adapters.parameters())
    assert all(parameter.grad is None for parameter in knowledge.parameters())
    assert set(listening.state_dict()) == set(column(0.05).state_dict())


def test_the_same_column_may_be_read_by_several_threads(knowledge, given):
    listening = column(0.5)
    listening.listen_to(knowledge)
    wanted = listening(given)[0].detach()

    found = side_by_side(lambda _: listening(given)[0].detach(), range(6), wanted.device)

    assert all(torch.equal(each, wanted) for each in found)
