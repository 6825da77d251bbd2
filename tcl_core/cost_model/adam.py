"""Adam (arXiv 1412.6980) by torch's own kernel, without `torch.optim.Optimizer`.

Why not the class: making one imports torch's compiler, which takes 2.1 to 2.5 s (torch 2.13, Zen 4), only to be told to
keep off (`torch._disable_dynamo`). Every run paid that before its first kernel. It can go when torch no longer does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.adam import adam

_DECAYS = (0.9, 0.999)
_EPSILON = 1e-8
"""Torch's defaults."""


@dataclass(frozen=True, kw_only=True)
class Moments:
    """What is remembered of a parameter's gradients: steps taken [], first and second moment in its shape."""

    steps: Tensor
    first: Tensor
    second: Tensor


class Adam:
    """Steps as `torch.optim.Adam(fused=True)`, to the bit.

    Attributes:
        rate: of the next step.
    """

    def __init__(self, groups: Sequence[tuple[Sequence[Tensor], float]], rate: float) -> None:
        """`groups`: parameters and their weight decay (added to the gradient)."""
        self.rate = rate
        self._groups = groups
        self._moments: dict[Tensor, Moments] = {}

    def forget(self) -> None:
        """Begin anew from the present weights."""
        self._moments.clear()

    @torch.no_grad()
    def step(self) -> None:
        """One step of every parameter that has a gradient."""
        for parameters, decay in self._groups:
            moved = [parameter for parameter in parameters if parameter.grad is not None]
            moments = [self._of(parameter) for parameter in moved]
            adam(
                moved,
                [parameter.grad for parameter in moved if parameter.grad is not None],
                [each.first for each in moments],
                [each.second for each in moments],
                [],
                [each.steps for each in moments],
                fused=True,
                amsgrad=False,
                beta1=_DECAYS[0],
                beta2=_DECAYS[1],
                lr=self.rate,
                weight_decay=decay,
                eps=_EPSILON,
                maximize=False,
            )

    def _of(self, parameter: Tensor) -> Moments:
        if parameter not in self._moments:
            self._moments[parameter] = Moments(
                steps=torch.zeros((), dtype=torch.float32, device=parameter.device),
                first=torch.zeros_like(parameter, memory_format=torch.preserve_format),
                second=torch.zeros_like(parameter, memory_format=torch.preserve_format),
            )
        return self._moments[parameter]
