"""Which route the sequence operations of a Mamba block take: reference, fused (CPU) or cuda (mamba-ssm)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from tcl_core.cost_model import scan_cuda, scan_reference
from tcl_core.cost_model.projection import Project, project_linear, project_onednn
from tcl_core.cost_model.scan_fused import FusedKernels, supports
from tcl_core.errors import UserError

ROUTES = ("auto", "reference", "fused", "cuda")


class Convolve(Protocol):
    """Signature of `scan_reference.causal_conv_silu_reference`."""

    def __call__(
        self, x_BTD: Tensor, weight_DK: Tensor, bias_D: Tensor, history_KD: Tensor | None = None, /
    ) -> Tensor: ...


class Scan(Protocol):
    """Signature of `scan_reference.selective_scan_reference`."""

    def __call__(
        self,
        u_BTD: Tensor,
        delta_BTD: Tensor,
        A_DN: Tensor,
        B_BTN: Tensor,
        C_BTN: Tensor,
        D_D: Tensor,
        z_BTD: Tensor,
        state_DN: Tensor | None = None,
        /,
    ) -> Tensor: ...


@dataclass(frozen=True, kw_only=True)
class SequenceOps:
    """One route.

    Attributes:
        resumes: whether starting from a state costs no more than starting from zero.
    """

    name: str
    project: Project
    convolve: Convolve
    scan: Scan
    resumes: bool = True


def choose_ops(route: str, device: str, *, channels: int, states: int, taps: int) -> SequenceOps:
    """The operations for `CostModelConfig.scan`. "auto" takes the fastest that is there.

    Raises:
        UserError: an unknown route, or one that this device or machine does not have.
    """
    on_cuda = device.startswith("cuda")
    if route == "auto":
        if on_cuda:
            route = "cuda" if scan_cuda.importable() else "reference"
        else:
            route = "fused" if supports(channels) else "reference"
    if route == "reference":
        return reference_ops()
    if route == "fused":
        if on_cuda:
            raise UserError("cost model", "The fused scan runs on the CPU; choose scan 'cuda' or device 'cpu'.")
        kernels = FusedKernels(channels, states, taps)
        return SequenceOps(name="fused", project=project_onednn, convolve=kernels.convolve, scan=kernels.scan)
    if route == "cuda":
        if not on_cuda:
            raise UserError("cost model", f"The scan 'cuda' needs a CUDA device, not '{device}'; choose scan 'auto'.")
        if not scan_cuda.importable():
            raise UserError("cost model", "The scan 'cuda' needs mamba-ssm; install the extra 'cuda' or choose 'auto'.")
        return SequenceOps(name="cuda", project=project_linear, convolve=scan_cuda.convolve, scan=scan_cuda.scan)
    raise UserError("cost model", f"Unknown scan '{route}'; choose one of {', '.join(ROUTES)}.")


def reference_ops() -> SequenceOps:
    """The readable route; runs everywhere."""
    return SequenceOps(
        name="reference",
        project=project_linear,
        convolve=scan_reference.causal_conv_silu_reference,
        scan=scan_reference.selective_scan_reference,
    )
