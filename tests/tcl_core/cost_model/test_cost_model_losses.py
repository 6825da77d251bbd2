from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.cost_model.losses import lambda_rank_loss, lambda_rank_reference

RECORDS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-5, 5), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]), min_size=n, max_size=n),
        st.lists(st.floats(0.05, 4), min_size=n, max_size=n),
    )
)


@given(RECORDS)
def test_vectorised_loss_is_the_reference(records: tuple[list[float], list[float], list[float]]) -> None:
    scores, labels, weights = records
    found = lambda_rank_loss(
        torch.tensor([scores], dtype=torch.float64),
        torch.tensor(labels, dtype=torch.float64),
        torch.tensor([weights], dtype=torch.float64),
    )
    assert float(found) == pytest.approx(lambda_rank_reference(scores, labels, weights), rel=1e-9, abs=1e-12)


def test_heads_do_not_mix() -> None:
    rng = np.random.default_rng(0)
    scores, weights = torch.tensor(rng.normal(size=(3, 7))), torch.tensor(rng.random((3, 7)) + 0.1)
    labels = torch.tensor(rng.random(7))
    together = lambda_rank_loss(scores, labels, weights)
    alone = [lambda_rank_loss(scores[k : k + 1], labels, weights[k : k + 1]) for k in range(3)]
    assert torch.allclose(together, torch.cat(alone))


def test_equal_scores_cost_one_bit_and_the_right_order_costs_less_than_the_wrong_one() -> None:
    labels, weights = torch.tensor([1.0, 0.6, 0.2, 0.0]), torch.ones(1, 4)
    assert float(lambda_rank_loss(torch.zeros(1, 4), labels, weights)) == pytest.approx(1.0)
    right = torch.tensor([[3.0, 2.0, 1.0, 0.0]])
    assert float(lambda_rank_loss(right, labels, weights)) < 1 < float(lambda_rank_loss(-right, labels, weights))


def test_gradient_lifts_the_faster_and_labels_without_order_give_none() -> None:
    scores = torch.zeros(1, 3, requires_grad=True)
    lambda_rank_loss(scores, torch.tensor([0.2, 1.0, 0.0]), torch.ones(1, 3)).sum().backward()
    assert scores.grad is not None
    assert scores.grad[0, 1] < 0 < scores.grad[0, 2]
    scores = torch.randn(2, 3, requires_grad=True)
    loss = lambda_rank_loss(scores, torch.full((3,), 0.5), torch.ones(2, 3))
    loss.sum().backward()
    assert loss.tolist() == [0.0, 0.0]
    assert scores.grad is not None
    assert not scores.grad.any()


def test_top_of_the_list_weighs_more() -> None:
    """Swapping the two fastest costs more than swapping the two slowest, for equal gains."""
    labels = torch.log2(1 + torch.tensor([3.0, 2.0, 1.0, 0.0]) / 3)
    weights = torch.ones(1, 4)
    top = lambda_rank_loss(torch.tensor([[2.0, 3.0, 1.0, 0.0]]), labels, weights)
    bottom = lambda_rank_loss(torch.tensor([[3.0, 2.0, 0.0, 1.0]]), labels, weights)
    assert float(top) > float(bottom)
