"""The CUDA route: mamba-ssm's selective scan, where the optional package and its extension import.

Shape legend as in `scan_reference`; mamba-ssm wants [B, D, T] and [B, N, T].
"""

from __future__ import annotations

from torch import Tensor

from tcl_core.cost_model.scan_reference import causal_conv_silu_reference, selective_scan_reference


def importable() -> bool:
    """Whether mamba-ssm and the CUDA extension it cannot do without are there."""
    try:
        from mamba_ssm.ops import selective_scan_interface  # noqa: F401
    except ImportError:
        return False
    return True


def scan(
    u_BTD: Tensor,
    delta_BTD: Tensor,
    A_DN: Tensor,
    B_BTN: Tensor,
    C_BTN: Tensor,
    D_D: Tensor,
    z_BTD: Tensor,
    state_DN: Tensor | None = None,
) -> Tensor:
    """See `scan_reference.selective_scan_reference`; float32 on a CUDA device.

    mamba-ssm cannot start from a state: that goes the readable way.
    """
    if state_DN is not None:
        return selective_scan_reference(u_BTD, delta_BTD, A_DN, B_BTN, C_BTN, D_D, z_BTD, state_DN)
    from mamba_ssm.ops.selective_scan_interface import selective_scan_fn

    inputs = [each.transpose(1, 2).contiguous() for each in (u_BTD, delta_BTD, B_BTN, C_BTN, z_BTD)]
    u, delta, B, C, z = inputs
    y_BDT: Tensor = selective_scan_fn(u, delta, A_DN.contiguous(), B, C, D_D, z, delta_softplus=True)
    return y_BDT.transpose(1, 2)


convolve = causal_conv_silu_reference
