"""The fused CPU route: TensorIR kernels built by TVM's own LLVM at first use, called on torch tensors without a copy.

No C++ compiler is needed on the user's machine. Shape legend: B sequences, T tokens, D channels, N states, K taps.
The kernels are serial: whoever has several threads gives each of them candidates of its own (`side_by_side`). TVM's own
pool is left alone: it takes half the logical cores of an x86 machine whatever torch was told, and its workers spin
after each kernel, on the core that torch's next matrix product needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tcl_core.errors import UserError

_LANES = (16, 8, 4)
"""Vector lanes, the first that divides D: 16 fill one AVX-512 register. 32 are up to 1.1x faster for one processor
model and half as fast for the next, by how LLVM spills (one thread, 256 sequences of 32 tokens: 3.2 ms for znver5 and
7.0 ms for x86-64-v4, against 3.7 ms for both with 16)."""
_PROCESSORS = {"AVX512": "x86-64-v4", "AVX2": "x86-64-v3"}
"""LLVM's processor name by torch's capability, which asks the processor itself: a virtual machine may hide vector
instructions that the model name promises."""


def supports(channels: int) -> bool:
    """Whether the kernels can be built for this many channels."""
    return channels % _LANES[-1] == 0


class FusedKernels:
    """Convolution and scan for one (D, N, K). Compiled kernels are shared by the process."""

    def __init__(self, channels: int, states: int, taps: int) -> None:
        if not supports(channels):
            raise UserError(
                "cost model", f"The fused scan needs a multiple of 4 channels, not {channels}; choose scan 'reference'."
            )
        self.channels, self.states, self.taps = channels, states, taps
        self.lanes = next(lanes for lanes in _LANES if channels % lanes == 0)

    def __deepcopy__(self, memo: dict[int, Any]) -> FusedKernels:
        """Copies of a model share its kernels: they hold no state of the model."""
        return self

    def convolve(self, x_BTD: Tensor, weight_DK: Tensor, bias_D: Tensor, history_KD: Tensor | None = None) -> Tensor:
        """See `scan_reference.causal_conv_silu_reference`; float32 on the CPU. No gradients after a history."""
        result: Tensor = _Convolution.apply(self, x_BTD, weight_DK, bias_D, history_KD)  # type: ignore[no-untyped-call]
        return result

    def scan(
        self,
        u_BTD: Tensor,
        delta_BTD: Tensor,
        A_DN: Tensor,
        B_BTN: Tensor,
        C_BTN: Tensor,
        D_D: Tensor,
        z_BTD: Tensor,
        state_DN: Tensor | None = None,
    ) -> Tensor:
        """See `scan_reference.selective_scan_reference`; float32 on the CPU. No gradients after a state."""
        result: Tensor = _Scan.apply(self, u_BTD, delta_BTD, A_DN, B_BTN, C_BTN, D_D, z_BTD, state_DN)  # type: ignore[no-untyped-call]
        return result

    @property
    def conv_forward(self) -> Callable[..., None]:
        """See `conv_kernels.conv_forward`."""
        return _kernel("conv_forward", self.channels, self.taps, self.lanes)

    @property
    def conv_backward(self) -> Callable[..., None]:
        """See `conv_kernels.conv_backward`."""
        return _kernel("conv_backward", self.channels, self.taps, self.lanes)

    @property
    def scan_forward(self) -> Callable[..., None]:
        """See `scan_forward_kernel.scan_forward`."""
        return _kernel("scan_forward", self.channels, self.states, self.lanes)

    @property
    def scan_backward(self) -> Callable[..., None]:
        """See `scan_backward_kernel.scan_backward`."""
        return _kernel("scan_backward", self.channels, self.states, self.lanes)


_BUILDING = Lock()
"""Threads that score side by side need a kernel at the same moment. TVM parses Python to build it, and CPython's parser
fails when two threads are deep in it at once ("AST constructor recursion depth mismatch", seen with 3.11.7)."""


def _kernel(name: str, channels: int, size: int, lanes: int) -> Callable[..., None]:
    """A compiled kernel, the same for all threads."""
    with _BUILDING:
        return _built(name, channels, size, lanes)


@cache
def _built(name: str, channels: int, size: int, lanes: int) -> Callable[..., None]:
    """Built once in a process (0.1 to 0.6 s each)."""
    import tvm

    from tcl_core.cost_model import conv_kernels, scan_backward_kernel, scan_forward_kernel

    makers = {
        "conv_forward": conv_kernels.conv_forward,
        "conv_backward": conv_kernels.conv_backward,
        "scan_forward": scan_forward_kernel.scan_forward,
        "scan_backward": scan_backward_kernel.scan_backward,
    }
    target: dict[str, Any] = {"kind": "llvm"}
    processor = _PROCESSORS.get(torch.backends.cpu.get_cpu_capability())
    if processor is not None:
        target["mcpu"] = processor
    module = tvm.IRModule({"main": makers[name](channels, size, lanes)})
    kernel: Callable[..., None] = tvm.compile(module, tvm.target.Target(target))["main"]
    return kernel


def _dense(x: Tensor) -> Tensor:
    return x.detach().contiguous()


def _unit_stride(x: Tensor) -> Tensor:
    """A view is fine as long as its innermost axis is dense."""
    x = x.detach()
    return x if x.stride(-1) == 1 else x.contiguous()


def _kernels_of_whole_sequence(ctx: Any) -> FusedKernels:
    if ctx.resumed:
        raise RuntimeError("a scan that was resumed from a state has no gradients")
    kernels: FusedKernels = ctx.kernels
    return kernels


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: FusedKernels,
        x_BTD: Tensor,
        weight_DK: Tensor,
        bias_D: Tensor,
        history_KD: Tensor | None,
    ) -> Tensor:
        x, weight, bias = _unit_stride(x_BTD), _dense(weight_DK.T), _dense(bias_D)
        history = torch.zeros(kernels.taps - 1, kernels.channels) if history_KD is None else _dense(history_KD)
        ctx.kernels, ctx.resumed = kernels, history_KD is not None
        ctx.save_for_backward(x, weight, bias)
        y = torch.empty(x.shape)
        if y.numel():
            kernels.conv_forward(x, weight, bias, history, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_BTD: Tensor) -> tuple[Tensor | None, ...]:
        kernels = _kernels_of_whole_sequence(ctx)
        x, weight, bias = ctx.saved_tensors
        dy, dx = _dense(dy_BTD), torch.empty(x.shape)
        dweight, dbias = torch.zeros(weight.shape), torch.zeros_like(bias)
        if x.numel():
            dpre = torch.empty(x.shape[1], kernels.lanes)
            kernels.conv_backward(x, weight, bias, dy, dpre, dx, dweight, dbias)
        return None, dx, dweight.T, dbias, None


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: FusedKernels,
        u_BTD: Tensor,
        delta_BTD: Tensor,
        A_DN: Tensor,
        B_BTN: Tensor,
        C_BTN: Tensor,
        D_D: Tensor,
        z_BTD: Tensor,
        state_DN: Tensor | None,
    ) -> Tensor:
        u, delta, A, D = _dense(u_BTD), _dense(delta_BTD), _dense(A_DN.T), _dense(D_D)
        B, C, z = _unit_stride(B_BTN), _unit_stride(C_BTN), _unit_stride(z_BTD)
        state = torch.zeros(A.shape) if state_DN is None else _dense(state_DN.T)
        ctx.kernels, ctx.resumed = kernels, state_DN is not None
        ctx.save_for_backward(u, delta, A, B, C, D, z)
        y = torch.empty(u.shape)
        if y.numel():
            kernels.scan_forward(u, delta, A, B, C, D, z, state, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_BTD: Tensor) -> tuple[Tensor | None, ...]:
        kernels = _kernels_of_whole_sequence(ctx)
        u, delta, A, B, C, D, z = ctx.saved_tensors
        tokens, row = u.shape[1], kernels.states * kernels.lanes
        dy = _dense(dy_BTD)
        du, ddelta, dz = torch.empty(u.shape), torch.empty(u.shape), torch.empty(u.shape)
        dB, dC = torch.empty(B.shape), torch.empty(C.shape)
        dA, dD = torch.zeros_like(A), torch.zeros_like(D)
        if u.numel():
            states, scratch = torch.empty(tokens + 1, row), torch.empty(3, tokens, row)
            kernels.scan_backward(u, delta, A, B, C, D, z, dy, states, *scratch, du, ddelta, dA, dB, dC, dD, dz)
        return None, du, ddelta, dA.T, dB, dC, dD, dz, None
