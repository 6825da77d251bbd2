"""Channels that fill no vector (58 of a ShuffleNet, 1000 classes, 17 heat maps) are made whole vectors by zeros.

A convolution is blocked by vectors of channels, or half vectors at half the speed; channels that fill neither stay in
NCHW, where rows of a picture are no multiple of a vector either, and what they are computed from changes its layout.
Here it computes some channels more, of weights that are zero. What is done to each channel alone goes on with them, the
next convolution's weights for them are zero, and whatever else reads them gets them cut off. They must stay finite
until then, as zero times infinity is no number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax.expr_functor import mutator

from tcl_core.network.kernels.convolutions import window_of
from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.lengthening import FINITE, Lengthener, Plan
from tcl_core.network.relax_graph.rewriting import op_name, rewritten

_LEAST_USED = 1 / 6
"""Share of the lanes that compute something, where a window is larger than a pixel. Behind 64 channels at 56 x 56, all
kernels of such a convolution, in NCHW and in blocks, us on 2 threads of a Zen 4: 3x3 to one channel 68 and about 100,
to two 125 and 101, to four 166 and 104, to 17 over 700 and 217; 1x1 to one 34 and 18, to two 53 and 21."""
_LEAST_OF_GROUP = 0.6
"""The same of a group's channels, which move no layout by themselves."""
_CHANNELS = 1
_PLANE = {2, 3}
_PIXEL = (1, 1)
_PICTURES = 4
"""Rank of [batch, channels, height, width]."""
_CONVOLUTION = "relax.nn.conv2d"
_CLIP = "relax.clip"
"""To bounds that are no tensors."""
_POOLS = frozenset({"relax.nn.max_pool2d", "relax.nn.avg_pool2d", "relax.nn.adaptive_avg_pool2d"})
_REDUCTIONS = frozenset({"relax.mean", "relax.sum", "relax.max", "relax.min"})


def fill_vectors(module: Any, lanes: int) -> Any:
    """The relax module with convolutions of whole vectors of `lanes` channels; arguments and results stay as they are.

    Takes what `constants.inline_constants` leaves.
    """
    return relax.transform.DeadCodeElimination()(rewritten(module, _Channels(module, lanes)))


def filled(channels: int, lanes: int) -> int:
    """How many channels there should be instead: whole vectors of them, or half of one that holds them all."""
    half = lanes // 2
    return half if channels <= half else _in_whole_vectors(channels, lanes)


def _in_whole_vectors(channels: int, lanes: int) -> int:
    return channels + -channels % lanes


@mutator
class _Channels(Lengthener):
    """Channels from the first convolution on that computes too few of them."""

    def __init__(self, module: Any, lanes: int) -> None:
        super().__init__(module)
        self._lanes = lanes

    def longer(self, extent: int) -> int:
        return filled(extent, self._lanes)

    def planned(self, variable: Any, call: Any) -> Plan | None:
        name = op_name(call)
        if name == _CONVOLUTION:
            return self._convolution(call)
        if not any(argument in self.axes for argument in call.args):
            return None
        rank = len(static_shape(call) or ())
        if name in FINITE or (name == "relax.divide" and call.args[1] not in self.axes):
            return self._finite(call)
        plane_alone = name in _REDUCTIONS and _axes(call) <= _PLANE and rank == _PICTURES
        if name in _POOLS or name == _CLIP or plane_alone:
            return Plan(arguments=((_CHANNELS,), *[()] * (len(call.args) - 1)), result=_CHANNELS)
        return None

    def remade(self, call: Any, arguments: Any, plan: Plan) -> Any:
        attributes = call.attrs
        if op_name(call) != _CONVOLUTION or int(attributes.groups) == 1:
            return super().remade(call, arguments, plan)
        out, inside, *_ = static_shape(call.args[1]) or ()
        if plan.result is None:
            return self._parted(call, arguments[0])
        return relax.op.nn.conv2d(*arguments, *window_of(call), groups=self.longer(out) // inside)

    def _convolution(self, call: Any) -> Plan | None:
        """Dense ones begin with more channels; depthwise ones and those in groups go on with more groups.

        Groups that neither fill vectors nor vectors them are made longer each, and cut at once: `_parted`.
        """
        data, kernel = call.args
        weights = self.array(kernel)
        if weights is None or str(call.ty.dtype) != "float32" or weights.ndim != _PICTURES:
            return None
        out, inside = weights.shape[:2]
        groups, reads, more = int(call.attrs.groups), data in self.axes, self.longer(out) - out
        if groups == 1:
            if weights.shape[2:] != _PIXEL and out < _LEAST_USED * self.longer(out):
                more = 0
            if not (more or reads):
                return None
            kernel_axes = tuple(axis for axis, wanted in enumerate((more, reads)) if wanted)
            return Plan(arguments=((_CHANNELS,) * reads, kernel_axes), result=_CHANNELS if more else None)
        if self._parts(out // groups):
            return Plan(arguments=((), ()), result=None)
        if reads and groups * inside == out and more % inside == 0:
            return Plan(arguments=((_CHANNELS,), (0,)), result=_CHANNELS)
        return None

    def _parts(self, group: int) -> bool:
        """Whether so many channels of a group share vectors with others, and may have some of their own."""
        shared = group % self._lanes and self._lanes % group
        return bool(shared) and group >= _LEAST_OF_GROUP * _in_whole_vectors(group, self._lanes)

    def _parted(self, call: Any, data: Any) -> Any:
        """A convolution with more channels in each group, and of each group the first."""
        groups, weights = int(call.attrs.groups), np.asarray(self.array(call.args[1]))
        batch, out, *picture = static_shape(call) or ()
        group = out // groups
        after = _in_whole_vectors(group, self._lanes) - group
        parts = weights.reshape(groups, group, -1)
        more = np.pad(parts, [(0, 0), (0, after), (0, 0)]).reshape(-1, *weights.shape[1:])
        emit = self.builder_.emit
        made = emit(relax.op.nn.conv2d(data, relax.const(more), *window_of(call), groups=groups))
        made = emit(relax.op.reshape(made, (batch, groups, group + after, *picture)))
        first = emit(relax.op.strided_slice(made, axes=[2], begin=[0], end=[group]))
        return relax.op.reshape(first, (batch, out, *picture))

    def _finite(self, call: Any) -> Plan | None:
        """What is longer already, constants, and what is the same for all channels; nothing is divided by new zeros."""
        plan = self.beside_constants(call)
        divides = op_name(call) == "relax.divide"
        return None if plan is None or (divides and plan.arguments[1]) else plan


def _axes(call: Any) -> set[int]:
    rank = len(static_shape(call.args[0]) or ())
    return set(range(rank)) if call.attrs.axis is None else {int(axis) % rank for axis in call.attrs.axis}
