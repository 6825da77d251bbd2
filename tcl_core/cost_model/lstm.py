"""The LSTM ranker: Mamba's frame with a long short-term memory (Hochreiter and Schmidhuber, 1997) for a mixer.

Shape legend: N candidates, T tokens with the context, W width.
"""

from __future__ import annotations

from torch import Tensor, nn

from tcl_core.batches import FeatureLayout
from tcl_core.cost_model.projection import Project
from tcl_core.cost_model.ranker import TokenRanker
from tcl_core.cost_model.rms_norm import RmsNorm
from tcl_core.rival_config import LstmConfig


class LstmRanker(TokenRanker):
    """Blocks of x + LSTM(RMSNorm(x)), one direction: padding on the right is never seen by what comes before it."""

    def __init__(self, layout: FeatureLayout, config: LstmConfig, *, heads: int, project: Project) -> None:
        super().__init__(layout, width=config.width, project=project)
        self.blocks = nn.ModuleList(LstmBlock(config.width) for _ in range(config.layers))
        self._add_heads(heads, config.dropout)

    def encode(self, hidden_NTW: Tensor, lengths_N: Tensor | None) -> Tensor:
        for block in self.blocks:
            hidden_NTW = block(hidden_NTW)
        return hidden_NTW


class LstmBlock(nn.Module):
    """x + LSTM(RMSNorm(x))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = RmsNorm(width)
        self.mixer = nn.LSTM(width, width, batch_first=True)

    def forward(self, x_NTW: Tensor) -> Tensor:
        """[N, T, W] -> [N, T, W]."""
        out_NTW: Tensor = x_NTW + self.mixer(self.norm(x_NTW))[0]
        return out_NTW
