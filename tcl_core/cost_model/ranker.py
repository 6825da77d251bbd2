"""The Mamba ranker: a sequence of schedule primitives in, K scores and a pooled state out (METHOD, "Cost model").

Shape legend: N candidates, T tokens, F scalar fields of a token, W width, K stochastic heads, G groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tcl_core.batches import FeatureLayout
from tcl_core.config import ModelConfig
from tcl_core.cost_model.mamba import ResidualBlock
from tcl_core.cost_model.scans import SequenceOps

CONTEXT_TOKENS = 2
_HEAD_WIDTH = 16


@dataclass(frozen=True, kw_only=True)
class RankerInput:
    """Token features as tensors.

    Attributes:
        kinds_T: int64 [T] where all candidates share a sketch, else [N, T].
        fields_NTF: float32.
        task_C, platform_C: float32 [C] each, the same for all N.
        lengths_N: int64, tokens before the padding; None without padding.
    """

    kinds_T: Tensor
    fields_NTF: Tensor
    task_C: Tensor
    platform_C: Tensor
    lengths_N: Tensor | None = None


class Ranker(nn.Module):
    """Two context tokens, then one token per instruction, through Mamba blocks to K heads.

    The context comes first so that the causal scan carries it through all that follows.
    """

    def __init__(self, layout: FeatureLayout, config: ModelConfig, ops: SequenceOps) -> None:
        super().__init__()
        width = config.width
        self.project = ops.project
        self.kind = nn.Embedding(layout.kinds, width)
        self.fields = nn.Linear(layout.fields, width)
        self.task = nn.Linear(layout.task, width)
        self.platform = nn.Linear(layout.platform, width)
        self.blocks = nn.ModuleList(
            ResidualBlock(width, states=config.state, taps=config.convolution, expand=config.expand, ops=ops)
            for _ in range(config.layers)
        )
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.dropout = nn.Dropout(config.dropout)
        self.heads = Heads(width, config.heads)

    def forward(self, given: RankerInput) -> tuple[Tensor, Tensor]:
        """Scores [N, K] and the pooled hidden state [N, W]."""
        hidden_NTW = self._tokens(given)
        for block in self.blocks:
            hidden_NTW = block(hidden_NTW)
        pooled_NW = _masked_mean(self.norm(hidden_NTW), given.lengths_N)
        return self.heads(self.dropout(pooled_NW)), pooled_NW

    def _tokens(self, given: RankerInput) -> Tensor:
        count = len(given.fields_NTF)
        context_2W = torch.stack([self.task(given.task_C), self.platform(given.platform_C)])
        tokens_NTW = self.project(given.fields_NTF, self.fields.weight, self.fields.bias) + self.kind(given.kinds_T)
        return torch.cat([context_2W.expand(count, -1, -1), tokens_NTW], dim=1)


class Heads(nn.Module):
    """K small networks side by side; trained on different bootstraps, their spread tells what is not yet known."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, count * _HEAD_WIDTH)
        self.out = nn.Parameter(torch.randn(count, _HEAD_WIDTH) * _HEAD_WIDTH**-0.5)

    def forward(self, pooled_NW: Tensor) -> Tensor:
        """[N, W] -> [N, K]. No bias at the end: a ranking loss cannot see an offset."""
        hidden_NKH = nn.functional.silu(self.hidden(pooled_NW)).view(-1, *self.out.shape)
        scores_NK: Tensor = (hidden_NKH * self.out).sum(-1)
        return scores_NK


def _masked_mean(hidden_NTW: Tensor, lengths_N: Tensor | None) -> Tensor:
    """Mean over context and real tokens [N, W]; padding on the right is left out, and a causal scan never saw it."""
    if lengths_N is None:
        return hidden_NTW.mean(dim=1)
    lengths_N = lengths_N + CONTEXT_TOKENS
    mask_NT = torch.arange(hidden_NTW.shape[1], device=hidden_NTW.device) < lengths_N[:, None]
    return (hidden_NTW * mask_NT[:, :, None]).sum(dim=1) / lengths_N[:, None]
