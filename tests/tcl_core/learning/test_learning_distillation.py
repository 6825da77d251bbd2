"""What one column teaches another: held to the readable references, and to what the gate promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.learning.distillation import (
    gated_pair_distillation,
    gated_pair_reference,
    listwise_distillation,
    listwise_reference,
    right_pairs,
)

SCORES = st.lists(st.floats(-4, 4, width=32), min_size=3, max_size=3)
LABELS = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=3, max_size=3)


def column(scores: list[float]) -> torch.Tensor:
    return torch.tensor(scores, dtype=torch.float64)[:, None]


@given(SCORES, SCORES, st.sampled_from([0.25, 0.5, 1.0]))
def test_a_list_is_taught_as_its_reference_says(student, teacher, temperature):
    found = listwise_distillation(column(student), column(teacher), temperature)

    assert float(found) == pytest.approx(listwise_reference(student, teacher, temperature), abs=1e-9)


@given(SCORES, SCORES, LABELS)
def test_pairs_are_taught_as_their_reference_says(student, teacher, labels):
    found = gated_pair_distillation(column(student), column(teacher), torch.tensor(labels))

    assert float(found) == pytest.approx(gated_pair_reference(student, teacher, labels), abs=1e-6)


@given(SCORES, st.floats(-5, 5), st.floats(-5, 5))
def test_equal_lists_are_no_distance_apart_whatever_their_offsets(scores, one, other):
    found = listwise_distillation(column(scores) + one, column(scores) + other, 0.5)

    assert float(found) == pytest.approx(0.0, abs=1e-9)


def test_heads_are_taught_each_by_its_own_and_count_alike():
    student, teacher = torch.randn(5, 2), torch.randn(5, 2)

    found = listwise_distillation(student, teacher, 0.5)

    alone = [listwise_distillation(student[:, [head]], teacher[:, [head]], 0.5) for head in range(2)]
    assert float(found) == pytest.approx(float(sum(alone)) / 2, rel=1e-5)


@given(SCORES, SCORES, LABELS)
def test_only_pairs_that_the_teacher_ranks_rightly_pull_at_the_student(student, teacher, labels):
    scores = column(student).requires_grad_()

    gated_pair_distillation(scores, column(teacher), torch.tensor(labels)).backward()

    right = right_pairs(column(teacher), torch.tensor(labels))[0]
    taught = right.any(dim=0) | right.any(dim=1)
    for i, j in np.argwhere(right.numpy()):
        assert labels[i] > labels[j]
        assert teacher[i] > teacher[j]
    assert scores.grad is not None
    assert not scores.grad[~taught].any()


def test_a_teacher_that_is_wrong_everywhere_teaches_nothing():
    labels = torch.tensor([1.0, 0.5, 0.1])
    student = torch.zeros(3, 1, requires_grad=True)

    loss = gated_pair_distillation(student, -labels[:, None], labels)
    loss.backward()

    assert float(loss.detach()) == 0
    assert student.grad is not None
    assert not student.grad.any()
