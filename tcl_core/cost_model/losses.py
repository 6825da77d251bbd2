"""LambdaRank inside one task (Burges et al., "Learning to Rank with Nonsmooth Cost Functions", NIPS 2006).

For every pair where i is faster than j::

    weight_ij = |2^label_i - 2^label_j| * |1/log2(1 + rank_i) - 1/log2(1 + rank_j)| * w_i * w_j
    loss      = sum weight_ij * log2(1 + exp(s_j - s_i)) / sum weight_ij

with ranks from 1 by the present score and w the bootstrap weights of the records. The first two factors are the pair's
|delta NDCG| up to the ideal DCG, which cancels. The quotient makes groups of any size weigh the same and reads as bits
a pair: 1 is guessing. Shape legend: K heads, N records of one task.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional


def lambda_rank_loss(scores_KN: Tensor, labels_N: Tensor, weights_KN: Tensor) -> Tensor:
    """Loss of each head [K]; 0 where a head has no pair to order."""
    order_KN = scores_KN.detach().argsort(dim=1, descending=True, stable=True)
    positions_N = torch.arange(len(labels_N), device=scores_KN.device)
    ranks_KN = torch.empty_like(order_KN).scatter_(1, order_KN, positions_N.expand_as(order_KN))
    discount_KN = 1.0 / torch.log2(ranks_KN.to(scores_KN.dtype) + 2.0)
    gain_N = torch.exp2(labels_N)
    faster_NN = labels_N[:, None] > labels_N[None, :]
    pair_KNN = (
        (gain_N[:, None] - gain_N[None, :]).abs()
        * (discount_KN[:, :, None] - discount_KN[:, None, :]).abs()
        * weights_KN[:, :, None]
        * weights_KN[:, None, :]
        * faster_NN
    )
    bits_KNN = functional.softplus(scores_KN[:, None, :] - scores_KN[:, :, None]) / math.log(2.0)
    total_K = pair_KNN.sum(dim=(1, 2))
    smallest = torch.finfo(total_K.dtype).tiny
    return (pair_KNN * bits_KNN).sum(dim=(1, 2)) / total_K.clamp(min=smallest)


def lambda_rank_reference(scores: list[float], labels: list[float], weights: list[float]) -> float:
    """The same for one head, pair by pair, to be read."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    discount = {i: 1.0 / math.log2(1 + rank) for rank, i in enumerate(order, start=1)}
    loss = total = 0.0
    for i, faster in enumerate(labels):
        for j, slower in enumerate(labels):
            if faster <= slower:
                continue
            gain = 2.0**faster - 2.0**slower
            weight = gain * abs(discount[i] - discount[j]) * weights[i] * weights[j]
            loss += weight * math.log2(1.0 + math.exp(scores[j] - scores[i]))
            total += weight
    return loss / total if total else 0.0
