"""The two sequence operations of a Mamba block, written to be read; every fast path is held against these.

Shape legend: B sequences, T tokens, D channels (expand x width), N states, K convolution taps.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def selective_scan_reference(
    u_BTD: Tensor,
    delta_BTD: Tensor,
    A_DN: Tensor,
    B_BTN: Tensor,
    C_BTN: Tensor,
    D_D: Tensor,
    z_BTD: Tensor,
    state_DN: Tensor | None = None,
) -> Tensor:
    """Selective scan [B, T, D]: `selective_scan_ref` with `delta_softplus=True` (Mamba, arXiv 2312.00752, section 3).

    ::

        dt_t = softplus(delta_t)
        h_t  = exp(dt_t A) * h_{t-1} + dt_t B_t u_t          (per channel, over N states)
        y_t  = (C_t . h_t + D u_t) * silu(z_t)

    `delta` comes with its bias added. A is negative, so that every decay lies in (0, 1). h_{-1} is `state_DN`, the same
    for all sequences, or zero.
    """
    return scan_with_state(u_BTD, delta_BTD, A_DN, B_BTN, C_BTN, D_D, z_BTD, state_DN)[0]


def scan_with_state(
    u_BTD: Tensor,
    delta_BTD: Tensor,
    A_DN: Tensor,
    B_BTN: Tensor,
    C_BTN: Tensor,
    D_D: Tensor,
    z_BTD: Tensor,
    state_DN: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The scan, and the states [B, D, N] after the last token."""
    dt_BTD = functional.softplus(delta_BTD)
    zero_BDN = u_BTD.new_zeros(u_BTD.shape[0], *A_DN.shape)
    h_BDN = zero_BDN if state_DN is None else zero_BDN + state_DN
    steps = []
    # `unbind` rather than slices: the backward pass of T slices of one tensor is quadratic in T.
    for u_BD, dt_BD, B_BN, C_BN in zip(
        u_BTD.unbind(1), dt_BTD.unbind(1), B_BTN.unbind(1), C_BTN.unbind(1), strict=True
    ):
        decay_BDN = torch.exp(dt_BD[:, :, None] * A_DN)
        h_BDN = decay_BDN * h_BDN + (dt_BD * u_BD)[:, :, None] * B_BN[:, None, :]
        steps.append((h_BDN * C_BN[:, None, :]).sum(-1))
    y_BTD = torch.stack(steps, dim=1) if steps else torch.zeros_like(u_BTD)
    return (y_BTD + D_D * u_BTD) * functional.silu(z_BTD), h_BDN


def causal_conv_silu_reference(
    x_BTD: Tensor, weight_DK: Tensor, bias_D: Tensor, history_KD: Tensor | None = None
) -> Tensor:
    """Depthwise convolution over the present and the K - 1 tokens before it, then SiLU; [B, T, D].

    What came before the first token is `history_KD` [K - 1, D], the same for all sequences, or zero.
    """
    if not x_BTD.shape[1]:
        return x_BTD
    if history_KD is None:
        history_KD = x_BTD.new_zeros(weight_DK.shape[1] - 1, x_BTD.shape[2])
    padded_BTD = torch.cat([history_KD.expand(len(x_BTD), -1, -1), x_BTD], dim=1)
    pre_BDT = functional.conv1d(padded_BTD.transpose(1, 2), weight_DK[:, None, :], bias_D, groups=len(bias_D))
    return functional.silu(pre_BDT).transpose(1, 2)
