"""Depthwise convolutions of several results a channel, as ones of each channel several times.

Lanes that share a channel would gather it for each place of the window: one 7x7 convolution of 48 channels with two
results each, at 64 x 64, took 1,660 us, 5.9 GFLOP/s. Here they gather it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax, te
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.kernels.convolutions import window_of
from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.rewriting import MOVES, op_name, rewritten

_CONVOLUTION = "relax.nn.conv2d"


def repeat_channels(module: Any, block: Callable[[int], int]) -> Any:
    """The relax module with such convolutions reading pictures of as many channels as they compute.

    Args:
        block: by how many channels a tensor of so many is blocked, 0 for none.
    """
    return rewritten(module, _Repeater(module, block))


@mutator
class _Repeater(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    def __init__(self, module: Any, block: Callable[[int], int]) -> None:
        super().__init__(module)
        self._block = block

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        kernel = static_shape(op.args[1]) if op_name(op) == _CONVOLUTION else None
        if kernel is None or static_shape(op.args[0]) is None:
            return call
        out, inside, *_ = kernel
        times = out // int(op.attrs.groups)
        if inside > 1 or times in (1, out) or not self._block(out):
            return call
        repeated = self.builder_.call_te(
            _repeated, call.args[0], times, primfunc_name_hint="repeated", primfunc_attrs=MOVES
        )
        return relax.op.nn.conv2d(self.builder_.emit(repeated), call.args[1], *window_of(op), groups=out)


def _repeated(picture: Any, times: int) -> Any:
    """[batch, channels, height, width] -> [batch, channels * times, height, width]."""
    batch, channels, *plane = picture.shape
    shape = (batch, channels * times, *plane)
    return te.compute(shape, lambda n, c, *at: picture(n, c // times, *at), name="repeated")
