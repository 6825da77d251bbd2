"""Normalisations as schedules and layouts like them.

A group normalisation in operators that a blocked layout moves through: of every channel the mean and the variance, of a
group's channels theirs, and what is left works element by element, with the activation behind it. TVM's own kernel
wants plain pictures, a change of layout on both sides, and takes the variance as a difference of large numbers: of
constant pictures less than nothing may be left of it, whose root is no number.

A normalisation by the root mean square in three blocks, row by row as a layer norm's; topi's has seven.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax, te, tirx

from tcl_core.network.rewriting import APART


def group_norm(call: Any, builder: Any) -> Any | None:
    """A `nn.group_norm` of float32 whose channels come second in simpler operators; None for others.

    What is off a channel's mean is worked out where it is squared and again where it is scaled, not written down. Sums
    are given to the small kernels between, not means: one that two read would be a kernel of its own, and relax's
    `mean` takes in nothing of what comes before it.
    """
    value, scale, bias = call.args
    shape = [int(extent) for extent in value.ty.shape.values]
    axes = list(range(2, len(shape)))
    if (
        str(value.ty.dtype) != "float32"
        or int(call.attrs.channel_axis) != 1
        or [int(axis) for axis in call.attrs.axes] != axes
    ):
        return None
    of, emit = _Groups(groups=int(call.attrs.num_groups), pixels=math.prod(shape[2:])), builder.emit
    total = emit(relax.op.sum(value, axes, keepdims=True))
    mean = emit(relax.op.multiply(total, relax.const(1 / of.pixels, "float32")))
    off = emit(relax.op.subtract(value, mean))
    squares = emit(relax.op.sum(emit(relax.op.multiply(off, off)), axes, keepdims=True))

    def small(compute: Callable[..., Any], *arguments: Any) -> Any:
        name = f"group_{compute.__name__}"
        return emit(builder.call_te(compute, *arguments, primfunc_name_hint=name, primfunc_attrs=APART))

    centred = emit(relax.op.subtract(value, small(of.mean, total)))
    scaled = emit(relax.op.multiply(centred, small(of.factor, total, squares, scale, float(call.attrs.epsilon))))
    return relax.op.add(scaled, emit(relax.op.reshape(bias, [1, shape[1], *[1] * len(axes)])))


@dataclass(frozen=True, kw_only=True)
class _Groups:
    """Tensor expressions of what is the same for all of a channel's pixels.

    From and to [batch, channels, 1, ...]; every value is for each channel.

    Attributes:
        pixels: of a channel.
    """

    groups: int
    pixels: int

    def mean(self, total: Any) -> Any:
        """Its group's, of the channels' sums."""
        of_group = self._mean_of_channels(total, tirx.const(1 / self.pixels, "float32"), "of_group")
        return te.compute(total.shape, lambda *at: of_group[at[:2]], name="group_mean")

    def factor(self, total: Any, squares: Any, scale: Any, epsilon: float) -> Any:
        """Scale by deviation: a group's variance is the mean of its channels' and the variance of their means.

        Args:
            squares: sums of the squares of what is off the channel's mean.
            scale: [channels].
        """
        share = tirx.const(1 / self.pixels, "float32")
        of_group = self._mean_of_channels(total, share, "of_group")

        def around(*at: Any) -> Any:
            off = total[at] * share - of_group[at[:2]]
            return squares[at] * share + off * off

        variances = te.compute(total.shape, around, name="around_group")
        variance = self._mean_of_channels(variances, tirx.const(1, "float32"), "group_variance")
        return te.compute(
            total.shape,
            lambda *at: scale[at[1]] * tirx.rsqrt(variance[at[:2]] + tirx.const(epsilon, "float32")),
            name="group_factor",
        )

    def _mean_of_channels(self, value: Any, share: Any, name: str) -> Any:
        """[batch, channels], the same for all of a group: the mean over its channels of value times share."""
        size = int(value.shape[1]) // self.groups
        channel = te.reduce_axis((0, size), name="channel")
        rest = [0] * (len(value.shape) - 2)
        return te.compute(
            value.shape[:2],
            lambda batch, at: te.sum(
                value[(batch, at // size * size + channel, *rest)] * (share * tirx.const(1 / size, "float32")),
                axis=channel,
            ),
            name=name,
        )


def rms_norm(value: Any, scale: Any, epsilon: float) -> Any:
    """``value / sqrt(mean(value value) + epsilon) * scale`` along the last axis, as a tensor expression."""
    columns = int(value.shape[-1])
    along = te.reduce_axis((0, columns), name="along")
    squares = te.compute(
        value.shape[:-1],
        lambda *at: te.sum(value[(*at, along)] * value[(*at, along)], axis=along),
        name="rms_squares",
    )
    inverse = te.compute(
        value.shape[:-1], lambda *at: tirx.rsqrt(squares[at] / columns + tirx.const(epsilon, "float32")), name="rms"
    )
    return te.compute(value.shape, lambda *at: value[at] * inverse[at[:-1]] * scale[at[-1]], name="rms_norm")
