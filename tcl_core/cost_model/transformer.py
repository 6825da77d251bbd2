"""TLP's network on our tokens (Zhai et al., "TLP: A Deep Learning-Based Cost Model for Tensor Program Tuning",
ASPLOS 2023), with the sizes of its published code.

Tokens are widened 64 -> 128 -> 256 -> 256, go through one 8-head self-attention with a residual and two residual linear
blocks, and are narrowed 256 -> 256 -> 128 -> 64 before they are pooled. As published there is no positional encoding
(a token's position is among its fields) and no normalisation inside. Ours are the context tokens in front, the mean
over tokens in place of the sum, and K heads in place of the last linear layer. Shape legend: N candidates, T tokens
with the context, W width of the tokens, A attention heads, H width of one.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from tcl_core.batches import FeatureLayout
from tcl_core.cost_model.projection import Project
from tcl_core.cost_model.ranker import TokenRanker
from tcl_core.rival_config import TransformerConfig


class TransformerRanker(TokenRanker):
    """See above."""

    def __init__(self, layout: FeatureLayout, config: TransformerConfig, *, heads: int, project: Project) -> None:
        super().__init__(layout, width=config.widen[0], project=project)
        wide = config.widen[-1]
        self.widen = _stack(config.widen, project)
        self.attention = nn.ModuleList(
            Attention(wide, config.attention_heads, project) for _ in range(config.attention_layers)
        )
        self.residual = nn.ModuleList(Dense(wide, wide, project) for _ in range(config.residual_blocks))
        self.narrow = _stack((wide, *config.narrow, config.widen[0]), project)
        self._add_heads(heads, config.dropout)

    def encode(self, hidden_NTW: Tensor, lengths_N: Tensor | None) -> Tensor:
        mask_N11T = None
        if lengths_N is not None:
            positions_T = torch.arange(hidden_NTW.shape[1], device=hidden_NTW.device)
            mask_N11T = (positions_T < lengths_N[:, None])[:, None, None, :]
        # TLP's first linear layer is the tokens' own projection: only its activation is left to do.
        x_NTW = self.widen(functional.relu(hidden_NTW))
        for attend in self.attention:
            x_NTW = x_NTW + attend(x_NTW, mask_N11T)
        for block in self.residual:
            x_NTW = x_NTW + block(x_NTW)
        narrowed_NTW: Tensor = self.narrow(x_NTW)
        return narrowed_NTW


class Dense(nn.Linear):
    """ReLU(linear), by the fastest library there is."""

    def __init__(self, inputs: int, outputs: int, project: Project) -> None:
        super().__init__(inputs, outputs)
        self.project = project
        nn.init.kaiming_uniform_(self.weight, nonlinearity="relu")
        nn.init.zeros_(self.bias)

    def forward(self, x_BTI: Tensor) -> Tensor:
        """[B, T, I] -> [B, T, O]."""
        return functional.relu(self.project(x_BTI, self.weight, self.bias))


class Attention(nn.Module):
    """Multi-head self-attention (Vaswani et al., 2017), names, shapes and initialisation as `nn.MultiheadAttention`."""

    def __init__(self, width: int, heads: int, project: Project) -> None:
        super().__init__()
        self.heads, self.project = heads, project
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.in_proj_weight)
        nn.init.zeros_(self.out_proj.bias)

    def forward(self, x_NTW: Tensor, mask_N11T: Tensor | None = None) -> Tensor:
        """[N, T, W] -> [N, T, W]; tokens where the mask is False are not looked at."""
        count, tokens, width = x_NTW.shape
        both = self.project(x_NTW, self.in_proj_weight, self.in_proj_bias)
        query_NATH, key_NATH, value_NATH = both.view(count, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        seen_NATH = functional.scaled_dot_product_attention(query_NATH, key_NATH, value_NATH, attn_mask=mask_N11T)
        joined_NTW = seen_NATH.transpose(1, 2).reshape(count, tokens, width)
        return self.project(joined_NTW, self.out_proj.weight, self.out_proj.bias)


def _stack(widths: tuple[int, ...], project: Project) -> nn.Sequential:
    return nn.Sequential(*(Dense(inputs, outputs, project) for inputs, outputs in pairwise(widths)))
