"""The Mamba block (arXiv 2312.00752) with the official names, shapes and initialisation.

State dicts load both ways, strictly, with `mamba_ssm.modules.mamba_simple.Mamba`. Shape legend: B sequences, T tokens,
W width (d_model), D channels (d_inner = expand x W), N states, R rank of the step size, K taps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tcl_core.cost_model.rms_norm import RmsNorm
from tcl_core.cost_model.scan_reference import causal_conv_silu_reference, scan_with_state
from tcl_core.cost_model.scans import SequenceOps

_STEP_LOW, _STEP_HIGH, _STEP_FLOOR = 1e-3, 1e-1, 1e-4


@dataclass(frozen=True, kw_only=True)
class MambaState:
    """What a block remembers of a prefix: the convolution's last inputs [K - 1, D] and the scan's states [D, N]."""

    history_KD: Tensor
    state_DN: Tensor


class Mamba(nn.Module):
    """[B, T, W] -> [B, T, W], causal: token t sees tokens 0..t."""

    def __init__(self, width: int, *, states: int, taps: int, expand: int, ops: SequenceOps) -> None:
        super().__init__()
        self.ops = ops
        self.channels, self.states, self.rank = expand * width, states, math.ceil(width / 16)
        self.in_proj = nn.Linear(width, 2 * self.channels, bias=False)
        self.conv1d = nn.Conv1d(
            self.channels, self.channels, kernel_size=taps, groups=self.channels, padding=taps - 1, bias=True
        )
        self.x_proj = nn.Linear(self.channels, self.rank + 2 * states, bias=False)
        self.dt_proj = nn.Linear(self.rank, self.channels, bias=True)
        self.A_log = nn.Parameter(torch.arange(1, states + 1).log().repeat(self.channels, 1))
        self.D = nn.Parameter(torch.ones(self.channels))
        self.out_proj = nn.Linear(self.channels, width, bias=False)
        self._initialise_steps()

    def _initialise_steps(self) -> None:
        """Steps log-uniform in [1e-3, 0.1], section 3.6 of the paper: the inverse softplus of `dt_proj`.bias."""
        nn.init.uniform_(self.dt_proj.weight, -(self.rank**-0.5), self.rank**-0.5)
        low, high = math.log(_STEP_LOW), math.log(_STEP_HIGH)
        steps = torch.exp(torch.rand(self.channels) * (high - low) + low).clamp(min=_STEP_FLOOR)
        with torch.no_grad():
            self.dt_proj.bias.copy_(steps + torch.log(-torch.expm1(-steps)))

    def forward(self, x_BTW: Tensor, before: MambaState | None = None) -> Tensor:
        """One pass over whole sequences, or over what follows `before`. Right padding changes nothing before it."""
        x_BTD, z_BTD = self.ops.project(x_BTW, self.in_proj.weight, None).chunk(2, dim=-1)
        history_KD, state_DN = (None, None) if before is None else (before.history_KD, before.state_DN)
        u_BTD = self.ops.convolve(x_BTD, self._taps(), self._conv_bias(), history_KD)
        y_BTD = self.ops.scan(u_BTD, *self._scan_inputs(u_BTD), z_BTD, state_DN)
        return self.ops.project(y_BTD, self.out_proj.weight, None)

    def read_prefix(self, x_TW: Tensor) -> tuple[Tensor, MambaState]:
        """One sequence [T, W] -> [T, W], and where it ends; every continuation may start from there."""
        x_BTD, z_BTD = functional.linear(x_TW[None], self.in_proj.weight).chunk(2, dim=-1)
        u_BTD = causal_conv_silu_reference(x_BTD, self._taps(), self._conv_bias())
        y_BTD, state_BDN = scan_with_state(u_BTD, *self._scan_inputs(u_BTD), z_BTD)
        taps = self.conv1d.kernel_size[0]
        history_KD = functional.pad(x_BTD[0], (0, 0, taps - 1, 0))[x_BTD.shape[1] :]
        out_TW = functional.linear(y_BTD[0], self.out_proj.weight)
        return out_TW, MambaState(history_KD=history_KD, state_DN=state_BDN[0])

    def _taps(self) -> Tensor:
        return self.conv1d.weight[:, 0, :]

    def _conv_bias(self) -> Tensor:
        bias = self.conv1d.bias
        assert bias is not None  # the official block has one
        return bias

    def _scan_inputs(self, u_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """delta, A, B, C, D of the scan."""
        step_BTR, B_BTN, C_BTN = torch.split(
            self.ops.project(u_BTD, self.x_proj.weight, None), [self.rank, self.states, self.states], dim=-1
        )
        delta_BTD = self.dt_proj(step_BTR.contiguous())
        return delta_BTD, -torch.exp(self.A_log), B_BTN, C_BTN, self.D


class ResidualBlock(nn.Module):
    """x + Mamba(RMSNorm(x))."""

    def __init__(self, width: int, *, states: int, taps: int, expand: int, ops: SequenceOps) -> None:
        super().__init__()
        self.norm = RmsNorm(width)
        self.mixer = Mamba(width, states=states, taps=taps, expand=expand, ops=ops)

    def forward(self, x_BTW: Tensor, before: MambaState | None = None) -> Tensor:
        """[B, T, W] -> [B, T, W]."""
        out_BTW: Tensor = x_BTW + self.mixer(self.norm(x_BTW), before)
        return out_BTW

    def read_prefix(self, x_TW: Tensor) -> tuple[Tensor, MambaState]:
        """See `Mamba.read_prefix`."""
        out_TW, state = self.mixer.read_prefix(self.norm(x_TW))
        return x_TW + out_TW, state
