"""Online elastic weight consolidation: weights that earlier platforms need are held by springs.

Kirkpatrick et al. (arXiv 1612.00796) in the online form of Progress & Compress (Schwarz et al., arXiv 1805.06370,
section 3.2): one Fisher information and one anchor, whatever the number of platforms::

    F       <- gamma F + F_new
    penalty  = 1/2 sum_i F_i (theta_i - theta*_i)^2

The likelihood is that of `distillation.listwise_distillation`: a softmax over a task's candidates. Shape legend: N
candidates of one task, K heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

Weights = Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class OnlineEwc:
    """Fisher information and anchor of one module's parameters, by name. Neither grows with the platforms."""

    fisher: Weights
    anchor: Weights

    @classmethod
    def loose(cls, module: nn.Module) -> OnlineEwc:
        """Before the first platform: nothing is held."""
        anchor = _values(module)
        return cls(fisher={name: torch.zeros_like(value) for name, value in anchor.items()}, anchor=anchor)

    def penalty(self, module: nn.Module) -> Tensor:
        """``1/2 sum F (theta - theta*)^2``, differentiable; 0 at the anchor and before the first platform."""
        terms = [
            (self.fisher[name] * (parameter - self.anchor[name]).square()).sum()
            for name, parameter in module.named_parameters()
        ]
        return torch.stack(terms).sum() / 2

    def consolidated(self, module: nn.Module, fisher: Weights, gamma: float) -> OnlineEwc:
        """With a platform's Fisher information taken in, holding the weights where they are now."""
        added = {name: gamma * old + fisher[name] for name, old in self.fisher.items()}
        return OnlineEwc(fisher=added, anchor=_values(module))


def estimate_fisher(
    module: nn.Module, scores: Iterable[Callable[[], Tensor]], *, temperature: float, probes: int, seed: int
) -> dict[str, Tensor]:
    """Diagonal Fisher information of the list-wise loss, mean over tasks and heads, by `probes` random vectors a task.

    In the space of one head's scores the Fisher information of a softmax is ``diag(p) - p p'``, that is ``L L'`` with
    the columns ``sqrt(p_i) (e_i - p)``. For a vector e of random signs the square of ``J' L e`` has the diagonal of
    ``J' L L' J`` as its mean: one backward pass touches all candidates and, as the signs of different heads are
    independent, all heads. `fisher_reference` is what it estimates. (The two factors of temperature, of the softmax
    and of the loss, cancel.)

    Args:
        scores: one callable per task that gives its standardised scores [N, K] with gradients.
    """
    signs = torch.Generator().manual_seed(seed)
    parameters = dict(module.named_parameters())
    total = {name: torch.zeros_like(value) for name, value in parameters.items()}
    tasks = 0
    for scored in scores:
        tasks += 1
        for _ in range(probes):
            scores_NK = scored()
            p_NK = (scores_NK.detach() / temperature).softmax(dim=0)
            e_NK = torch.randint(0, 2, p_NK.shape, generator=signs).mul(2).sub(1).to(p_NK)
            weighted_NK = p_NK.sqrt() * e_NK
            vector_NK = weighted_NK - p_NK * weighted_NK.sum(dim=0)
            _add_squares(total, parameters, (scores_NK * vector_NK).sum(), 1 / (probes * p_NK.shape[1]))
    return {name: value / max(tasks, 1) for name, value in total.items()}


def fisher_reference(
    module: nn.Module, scores: Iterable[Callable[[], Tensor]], *, temperature: float
) -> dict[str, Tensor]:
    """The same without chance, candidate by candidate: ``sum_i p_i (d log p_i / d theta)^2``, to be read."""
    parameters = dict(module.named_parameters())
    total = {name: torch.zeros_like(value) for name, value in parameters.items()}
    tasks = 0
    for scored in scores:
        tasks += 1
        count_N, count_K = scored().shape
        for head in range(count_K):
            for candidate in range(count_N):
                logs_N = (scored()[:, head] / temperature).log_softmax(dim=0)
                share = float(logs_N[candidate].detach().exp())
                _add_squares(total, parameters, temperature * logs_N[candidate], share / count_K)
    return {name: value / max(tasks, 1) for name, value in total.items()}


def _add_squares(total: dict[str, Tensor], parameters: Weights, scalar: Tensor, weight: float) -> None:
    gradients = torch.autograd.grad(scalar, list(parameters.values()), allow_unused=True)
    for name, gradient in zip(parameters, gradients, strict=True):
        if gradient is not None:
            total[name] += weight * gradient.detach().square()


def _values(module: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in module.named_parameters()}
