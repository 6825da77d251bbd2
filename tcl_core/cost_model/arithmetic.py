"""How much arithmetic a score takes: what the machine's peak is divided by for the limit of scoring.

Sums and products of the matrix products, the convolution and the scan are counted; exponentials, norms and activations
are not, so that the limit is one that cannot be reached.
"""

from __future__ import annotations

from torch import nn

from tcl_core.cost_model.mamba import Mamba
from tcl_core.cost_model.ranker import Ranker

_SCAN = 7
"""Of a state at a token: step times decay; step times input times B; the state times its decay, plus that; times C, and
the sum over states."""


def token_flops(ranker: Ranker) -> int:
    """Operations for one token of one candidate, from its fields to the last block's output."""
    return _linear(ranker.fields) + sum(_of(module) for module in ranker.blocks.modules())


def candidate_flops(ranker: Ranker) -> int:
    """Operations for one candidate once its tokens are read: the heads."""
    return _linear(ranker.heads.hidden) + 2 * ranker.heads.out.numel()


def _of(module: nn.Module) -> int:
    """Of the module itself, without those inside it."""
    match module:
        case nn.Linear():
            return _linear(module)
        case nn.Conv1d():
            return 2 * module.weight.numel()
        case Mamba():
            return _SCAN * module.channels * module.states
        case _:
            return 0


def _linear(layer: nn.Linear) -> int:
    return 2 * layer.in_features * layer.out_features
