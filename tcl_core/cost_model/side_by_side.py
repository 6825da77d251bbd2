"""Independent parts of one computation on as many threads as torch uses, each of which computes its part alone.

A ranker's pass over some sequences is forty operations of tens of microseconds and up. Torch's own way, all threads on
each operation, waits for the slowest of them forty times: 76 us a candidate on two threads against 35 us.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_LEAST_SHARE = 16
"""Candidates that are worth a thread of their own."""

Part = TypeVar("Part")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Part], Result], parts: Sequence[Part], device: torch.device) -> list[Result]:
    """`work` of every part, in their order. While it runs, torch uses one thread an operation in the whole process.

    What torch keeps for each thread (inference mode, no_grad) is for `work` to set. On another device than the CPU,
    where threads have nothing to share, parts come one after another.

    Raises:
        Whatever `work` raises of the first part that fails.
    """
    before = torch.get_num_threads()
    threads = min(before, len(parts)) if device.type == "cpu" else 1
    if threads <= 1:
        return [work(part) for part in parts]
    torch.set_num_threads(1)
    try:
        # OpenMP counts for each thread, and torch sets a new thread's count with its first large operation: until then
        # oneDNN's LSTM uses all cores, and which bits its gradient has hangs on whether a share's thread is new.
        with ThreadPoolExecutor(threads, "side-by-side", torch.set_num_threads, (1,)) as pool:
            return list(pool.map(work, parts))
    finally:
        torch.set_num_threads(before)


def read_in_shares(network: nn.Module, read: Callable[[slice], Tensor], count: int) -> Tensor:
    """`read` of candidates 0 to `count`, shared out to threads; what it gives of a slice is put together, in order.

    Gradients reach the parameters of `network` and nothing else, and are added up in the order of the shares: the same
    with every repetition by as many threads. A network that draws dropout is read by one thread, because threads would
    draw from torch's one random state in any order.
    """
    device = next(network.parameters()).device
    shares = [slice(0, count)] if device.type != "cpu" or _draws(network) else near_equal(count)
    if len(shares) == 1:
        return read(shares[0])
    if not torch.is_grad_enabled():
        return torch.cat(side_by_side(torch.no_grad()(read), shares, device))
    parameters = [each for each in network.parameters() if each.requires_grad]
    result: Tensor = _InShares.apply(read, shares, *parameters)  # type: ignore[no-untyped-call]
    return result


def near_equal(count: int) -> list[slice]:
    """`count` rows in near-equal shares, one for each thread of torch's where they are not too small for that."""
    parts = max(1, min(torch.get_num_threads(), count // _LEAST_SHARE))
    edges = [count * part // parts for part in range(parts + 1)]
    return [slice(low, high) for low, high in pairwise(edges)]


class _InShares(torch.autograd.Function):
    """Autograd walks a graph in one thread: here every share has a graph of its own, and a thread to walk it."""

    @staticmethod
    def forward(ctx: Any, read: Callable[[slice], Tensor], shares: list[slice], *parameters: Tensor) -> Tensor:
        ctx.parameters = parameters
        ctx.outputs = side_by_side(torch.enable_grad()(read), shares, parameters[0].device)
        return torch.cat([output.detach() for output in ctx.outputs])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        parameters, outputs = ctx.parameters, ctx.outputs
        wanted = torch.split(gradients[0], [len(output) for output in outputs])

        def walk(pair: tuple[Tensor, Tensor]) -> tuple[Tensor | None, ...]:
            output, gradient = pair
            # Of one number: where a gradient is handed in, torch compares its shape in symbols, and loads sympy for it
            # (0.4 s, in the midst of a run's first lesson).
            found: tuple[Tensor | None, ...] = torch.autograd.grad(
                (output * gradient).sum(), parameters, allow_unused=True
            )
            return found

        found = side_by_side(walk, list(zip(outputs, wanted, strict=True)), parameters[0].device)
        return None, None, *(_sum(each) for each in zip(*found, strict=True))


def _sum(gradients: Sequence[Tensor | None]) -> Tensor | None:
    known = [each for each in gradients if each is not None]
    return sum(known[1:], known[0]) if known else None


def _draws(network: nn.Module) -> bool:
    return network.training and any(isinstance(each, nn.Dropout) and each.p > 0 for each in network.modules())
