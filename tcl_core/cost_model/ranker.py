"""Token rankers: a sequence of schedule primitives in, K scores and a pooled state out (METHOD, "Cost model").

`TokenRanker` is what all share, `Ranker` the Mamba one; `transformer` and `lstm` hold its rivals.

Shape legend: N candidates, T tokens, F scalar fields of a token, W width, K stochastic heads, G groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tcl_core.batches import FeatureLayout
from tcl_core.config import ModelConfig
from tcl_core.cost_model.mamba import MambaState, ResidualBlock
from tcl_core.cost_model.projection import Project
from tcl_core.cost_model.rms_norm import RmsNorm
from tcl_core.cost_model.scans import SequenceOps

CONTEXT_TOKENS = 2
_HEAD_WIDTH = 16
_KIND_STD = 0.1
"""Kinds are the same for all candidates of a sketch: at torch's standard deviation of 1 they drown the decisions (three
fits of 20 epochs on a synthetic task: loss 0.75 bits a pair, against 0.1)."""


@dataclass(frozen=True, kw_only=True)
class RankerInput:
    """Token features as tensors.

    Attributes:
        kinds_T: int64 [T] where all candidates share a sketch, else [N, T].
        fields_NTF: float32.
        task_C, platform_C: float32 [C] each where they are the same for all N, else [N, C].
        lengths_N: int64, tokens before the padding; None without padding.
    """

    kinds_T: Tensor
    fields_NTF: Tensor
    task_C: Tensor
    platform_C: Tensor
    lengths_N: Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class RankerPrefix:
    """What is known after the tokens that all candidates of a batch share.

    Attributes:
        tokens: how many, context included.
        sum_W: sum of their normalised hidden states, for the pooling.
        states: where each block stands.
    """

    tokens: int
    sum_W: Tensor
    states: tuple[MambaState, ...]


class TokenRanker(nn.Module, ABC):
    """Two context tokens, then one token per instruction, through an encoder to K heads.

    Attributes:
        width: W of the tokens and of the pooled state.
    """

    def __init__(self, layout: FeatureLayout, *, width: int, project: Project) -> None:
        """A subclass makes its encoder next, then calls `_add_heads`: the order fixes what a seed draws."""
        super().__init__()
        self.width, self.project = width, project
        self.kind = nn.Embedding(layout.kinds, width)
        nn.init.normal_(self.kind.weight, std=_KIND_STD)
        self.fields = nn.Linear(layout.fields, width)
        self.task = nn.Linear(layout.task, width)
        self.platform = nn.Linear(layout.platform, width)

    def _add_heads(self, count: int, dropout: float) -> None:
        self.norm = RmsNorm(self.width)
        self.dropout = nn.Dropout(dropout)
        self.heads = Heads(self.width, count)

    @abstractmethod
    def encode(self, hidden_NTW: Tensor, lengths_N: Tensor | None) -> Tensor:
        """[N, T, W] -> [N, T, W]; right padding (from `lengths_N` on, context included) changes nothing before it."""

    def forward(self, given: RankerInput) -> tuple[Tensor, Tensor]:
        """Raw scores [N, K], for the loss, and the pooled hidden state [N, W]."""
        return self.answer(given, self.encode(self.tokens(given), _lengths(given)))

    def answer(self, given: RankerInput, hidden_NTW: Tensor) -> tuple[Tensor, Tensor]:
        """What `forward` makes of the encoder's output."""
        pooled_NW = _masked_mean(self.norm(hidden_NTW), _lengths(given))
        return self.heads(self.dropout(pooled_NW)), pooled_NW

    def tokens(self, given: RankerInput) -> Tensor:
        """What the encoder reads [N, 2 + T, W]: task, platform, instructions."""
        count = len(given.fields_NTF)
        context_2W = torch.stack([self.task(given.task_C), self.platform(given.platform_C)], dim=-2)
        tokens_NTW = self.project(given.fields_NTF, self.fields.weight, self.fields.bias) + self.kind(given.kinds_T)
        return torch.cat([context_2W.expand(count, -1, -1), tokens_NTW], dim=1)

    def standardise(self, scores_NK: Tensor) -> Tensor:
        """Raw scores brought to one scale over heads, [N, K]."""
        return scores_NK / self.heads.scale


class Ranker(TokenRanker):
    """Mamba blocks. The context comes first so that the causal scan carries it through all that follows."""

    def __init__(self, layout: FeatureLayout, config: ModelConfig, ops: SequenceOps) -> None:
        super().__init__(layout, width=config.width, project=ops.project)
        self.blocks = nn.ModuleList(
            ResidualBlock(config.width, states=config.state, taps=config.convolution, expand=config.expand, ops=ops)
            for _ in range(config.layers)
        )
        self._add_heads(config.heads, config.dropout)

    def encode(self, hidden_NTW: Tensor, lengths_N: Tensor | None) -> Tensor:
        for block in self.blocks:
            hidden_NTW = block(hidden_NTW)
        return hidden_NTW

    def read_blocks(self, given: RankerInput) -> list[Tensor]:
        """Each block's output [N, 2 + T, W]."""
        outputs = [self.tokens(given)]
        for block in self.blocks:
            outputs.append(block(outputs[-1]))
        return outputs[1:]

    def read_prefix(self, kinds_T: Tensor, fields_TF: Tensor, task_C: Tensor, platform_C: Tensor) -> RankerPrefix:
        """Context and the tokens that a batch of candidates begins with alike, read once for all of them."""
        alone = RankerInput(kinds_T=kinds_T, fields_NTF=fields_TF[None], task_C=task_C, platform_C=platform_C)
        hidden_TW, states = self.tokens(alone)[0], []
        for block in self.blocks:
            hidden_TW, state = block.read_prefix(hidden_TW)  # type: ignore[operator]
            states.append(state)
        return RankerPrefix(tokens=len(hidden_TW), sum_W=self.norm(hidden_TW).sum(dim=0), states=tuple(states))

    def resume(self, prefix: RankerPrefix, kinds_T: Tensor, fields_NTF: Tensor) -> tuple[Tensor, Tensor]:
        """As `forward`, for candidates of one sketch that go on after `prefix` with T more tokens. No gradients."""
        hidden_NTW = self.project(fields_NTF, self.fields.weight, self.fields.bias) + self.kind(kinds_T)
        for block, state in zip(self.blocks, prefix.states, strict=True):
            hidden_NTW = block(hidden_NTW, state)
        total_NW = self.norm(hidden_NTW).sum(dim=1) + prefix.sum_W
        pooled_NW = total_NW / (prefix.tokens + hidden_NTW.shape[1])
        return self.heads(pooled_NW), pooled_NW


class Heads(nn.Module):
    """K small networks side by side; trained on different bootstraps, their spread tells what is not yet known.

    A ranking loss fixes neither offset nor scale of a head. The offset is held at zero in training; `scale` [K] is each
    head's standard deviation over the records of a task, measured after a fit, and what heads are divided by before
    they are compared.
    """

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, count * _HEAD_WIDTH)
        self.out = nn.Parameter(torch.randn(count, _HEAD_WIDTH) * _HEAD_WIDTH**-0.5)
        self.scale: Tensor
        self.register_buffer("scale", torch.ones(count))

    def forward(self, pooled_NW: Tensor) -> Tensor:
        """[N, W] -> [N, K]. No bias at the end: a ranking loss cannot see an offset."""
        hidden_NKH = nn.functional.silu(self.hidden(pooled_NW)).view(-1, *self.out.shape)
        scores_NK: Tensor = (hidden_NKH * self.out).sum(-1)
        return scores_NK


def _lengths(given: RankerInput) -> Tensor | None:
    """Tokens before the padding [N], context included."""
    return None if given.lengths_N is None else given.lengths_N + CONTEXT_TOKENS


def _masked_mean(hidden_NTW: Tensor, lengths_N: Tensor | None) -> Tensor:
    """Mean over context and real tokens [N, W]; padding on the right is left out."""
    if lengths_N is None:
        return hidden_NTW.mean(dim=1)
    mask_NT = torch.arange(hidden_NTW.shape[1], device=hidden_NTW.device) < lengths_N[:, None]
    return (hidden_NTW * mask_NT[:, :, None]).sum(dim=1) / lengths_N[:, None]
