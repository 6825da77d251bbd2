"""Matrix products of a token sequence with a weight, by the fastest library there is.

Shape legend: B sequences, T tokens, I inputs, O outputs.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def project_onednn(x_BTI: Tensor, weight_OI: Tensor, bias_O: Tensor | None = None) -> Tensor:
    """`linear` as a 1x1 convolution over channels-last memory, which torch hands to oneDNN; float32, CPU.

    `functional.linear` goes to MKL, which does without AVX-512 on AMD: one thread, 3840 x 64 x 256, 104 GFLOP/s
    against 228, and half the time of forward and backward. The results are equal to the bit. It can go when torch
    lets float32 `linear` choose oneDNN.
    """
    x_BIT1 = x_BTI.unsqueeze(2).permute(0, 3, 1, 2)
    y_BOT1 = functional.conv2d(x_BIT1, weight_OI[:, :, None, None], bias_O)
    return y_BOT1.permute(0, 2, 3, 1).squeeze(2)


def project_linear(x_BTI: Tensor, weight_OI: Tensor, bias_O: Tensor | None = None) -> Tensor:
    """[B, T, I] -> [B, T, O]."""
    return functional.linear(x_BTI, weight_OI, bias_O)
