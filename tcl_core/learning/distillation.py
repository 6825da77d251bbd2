"""What one column teaches another: the order of a task's candidates, as a list or pair by pair.

List-wise distillation after Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach" (ICML 2007)
with the temperature of Hinton et al. (arXiv 1503.02531). Shape legend: N candidates of one task, K heads.
"""

from __future__ import annotations

import math

from torch import Tensor
from torch.nn import functional


def listwise_distillation(student_NK: Tensor, teacher_NK: Tensor, temperature: float) -> Tensor:
    """KL(teacher || student) of the softmax over the candidates, mean over heads, times temperature squared.

    An offset of either column's head changes nothing; the factor keeps gradients of one size at any temperature.
    """
    teacher = functional.log_softmax(teacher_NK / temperature, dim=0)
    student = functional.log_softmax(student_NK / temperature, dim=0)
    divergence_K = functional.kl_div(student, teacher, reduction="none", log_target=True).sum(dim=0)
    return divergence_K.mean() * temperature**2


def gated_pair_distillation(student_NK: Tensor, teacher_NK: Tensor, labels_N: Tensor) -> Tensor:
    """What the teacher says of the pairs it ranks rightly: bits a pair, mean over those pairs and heads.

    For every pair where i is faster than j, and where the teacher's head says so too, the cross-entropy of
    ``sigmoid(s_i - s_j)`` against the teacher's ``sigmoid(t_i - t_j)``. Pairs it ranks wrongly, or not at all, weigh
    nothing. Scores are raw: the same logits that LambdaRank trains. 0 where no pair is right.
    """
    student_KNN = student_NK.T[:, :, None] - student_NK.T[:, None, :]
    teacher_KNN = teacher_NK.T[:, :, None] - teacher_NK.T[:, None, :]
    gate_KNN = right_pairs(teacher_NK, labels_N)
    bits_KNN = functional.binary_cross_entropy_with_logits(student_KNN, teacher_KNN.sigmoid(), reduction="none")
    total = gate_KNN.sum().clamp(min=1)
    return (bits_KNN * gate_KNN).sum() / (total * math.log(2.0))


def right_pairs(teacher_NK: Tensor, labels_N: Tensor) -> Tensor:
    """Bool [K, N, N]: i is faster than j, and the teacher's head ranks i before j."""
    faster_NN = labels_N[:, None] > labels_N[None, :]
    return faster_NN & (teacher_NK.T[:, :, None] > teacher_NK.T[:, None, :])


def gated_pair_reference(student: list[float], teacher: list[float], labels: list[float]) -> float:
    """The same for one head, pair by pair, to be read."""
    losses = []
    for i, faster in enumerate(labels):
        for j, slower in enumerate(labels):
            if faster <= slower or teacher[i] <= teacher[j]:
                continue
            wanted = 1 / (1 + math.exp(teacher[j] - teacher[i]))
            given = 1 / (1 + math.exp(student[j] - student[i]))
            losses.append(-wanted * math.log2(given) - (1 - wanted) * math.log2(1 - given))
    return sum(losses) / len(losses) if losses else 0.0


def listwise_reference(student: list[float], teacher: list[float], temperature: float) -> float:
    """The same for one head, candidate by candidate, to be read."""

    def softmax(scores: list[float]) -> list[float]:
        exponentials = [math.exp(score / temperature) for score in scores]
        return [each / sum(exponentials) for each in exponentials]

    shares = zip(softmax(teacher), softmax(student), strict=True)
    return temperature**2 * sum(p * math.log(p / q) for p, q in shares)
