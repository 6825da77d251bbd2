"""The Mamba block (arXiv 2312.00752) with the official names, shapes and initialisation.

State dicts load both ways, strictly, with `mamba_ssm.modules.mamba_simple.Mamba`. Shape legend: B sequences, T tokens,
W width (d_model), D channels (d_inner = expand x W), N states, R rank of the step size, K taps.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tcl_core.cost_model.scans import SequenceOps

_STEP_LOW, _STEP_HIGH, _STEP_FLOOR = 1e-3, 1e-1, 1e-4


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

    def forward(self, x_BTW: Tensor) -> Tensor:
        """One pass over whole sequences; right padding does not change what comes before it."""
        u_BTD, z_BTD = self.ops.project(x_BTW, self.in_proj.weight, None).chunk(2, dim=-1)
        u_BTD = self.ops.convolve(u_BTD, self.conv1d.weight[:, 0, :], self.conv1d.bias)  # type: ignore[arg-type]
        step_BTR, B_BTN, C_BTN = torch.split(
            self.ops.project(u_BTD, self.x_proj.weight, None), [self.rank, self.states, self.states], dim=-1
        )
        delta_BTD = self.dt_proj(step_BTR.contiguous())
        y_BTD = self.ops.scan(u_BTD, delta_BTD, -torch.exp(self.A_log), B_BTN, C_BTN, self.D, z_BTD)
        return self.ops.project(y_BTD, self.out_proj.weight, None)


class ResidualBlock(nn.Module):
    """x + Mamba(RMSNorm(x))."""

    def __init__(self, width: int, *, states: int, taps: int, expand: int, ops: SequenceOps) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.mixer = Mamba(width, states=states, taps=taps, expand=expand, ops=ops)

    def forward(self, x_BTW: Tensor) -> Tensor:
        """[B, T, W] -> [B, T, W]."""
        out_BTW: Tensor = x_BTW + self.mixer(self.norm(x_BTW))
        return out_BTW
