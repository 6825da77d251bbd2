"""The active column: a ranker for the platform at hand that listens to the frozen knowledge base, block by block.

Progress & Compress (arXiv 1805.06370, section 3.1) with a gate on each lateral connection. Shape legend: N candidates,
T tokens, W width, A adapter width, K heads.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tcl_core.cost_model.ranker import Ranker, RankerInput


class LateralAdapter(nn.Module):
    """sigmoid(gate) * up(silu(down(RMSNorm(x)))), [N, T, W] -> [N, T, W]; one gate per channel, all start at `gate`.

    It says nothing at first: noise would spoil the order of a column that begins as a copy.
    """

    def __init__(self, width: int, adapter: int, gate: float) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.down = nn.Linear(width, adapter)
        self.up = nn.Linear(adapter, width, bias=False)
        nn.init.zeros_(self.up.weight)
        self.gate = nn.Parameter(torch.full((width,), math.log(gate / (1 - gate))))

    def forward(self, knowledge_NTW: Tensor) -> Tensor:
        """What a block of the active column is given of the same block of the knowledge base."""
        out_NTW: Tensor = self.gate.sigmoid() * self.up(nn.functional.silu(self.down(self.norm(knowledge_NTW))))
        return out_NTW


class ActiveColumn(nn.Module):
    """A ranker whose every block's output is joined by the adapted output of the knowledge base's block.

    The knowledge base is read and never trained from here: it is no submodule, and no gradient reaches it. A column
    without a knowledge base (the first platform's) is its ranker alone.
    """

    def __init__(self, ranker: Ranker, *, adapter: int, gate: float) -> None:
        super().__init__()
        self.ranker = ranker
        width = ranker.width
        self.adapters = nn.ModuleList(LateralAdapter(width, adapter, gate) for _ in ranker.blocks)
        self._knowledge: tuple[Ranker, ...] = ()

    def listen_to(self, knowledge: Ranker | None) -> None:
        """Take lateral input from this ranker from now on, or from none."""
        # In a tuple, because torch takes a bare module for a part of this one.
        self._knowledge = () if knowledge is None else (knowledge,)

    def forward(self, given: RankerInput) -> tuple[Tensor, Tensor]:
        """Raw scores [N, K] and the pooled hidden state [N, W], as `Ranker` gives them."""
        if not self._knowledge:
            scores_NK, pooled_NW = self.ranker(given)
            return scores_NK, pooled_NW
        with torch.no_grad():
            heard = self._knowledge[0].read_blocks(given)
        hidden_NTW = self.ranker.tokens(given)
        for block, adapter, knowledge_NTW in zip(self.ranker.blocks, self.adapters, heard, strict=True):
            hidden_NTW = block(hidden_NTW) + adapter(knowledge_NTW)
        return self.ranker.answer(given, hidden_NTW)
