"""Normalisations as schedules and layouts like them.

A group normalisation in operators that a blocked layout moves through: of every channel the mean and the variance, of a
group's channels theirs, and what is left works element by element, with the activation behind it. TVM's own kernel
wants plain pictures, a change of layout on both sides, and takes the variance as a difference of large numbers: of
constant pictures less than nothing may be left of it, whose root is no number.

A normalisation by the root mean square in three blocks, row by row as a layer norm's; topi's has seven. One by any
other deviation likewise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tvm import relax, te, tirx

from tcl_core.network.relax_graph.rewriting import APART, COMPUTED_ONCE

_HOW = "tcl_studio.deviation_norm"


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
    groups, epsilon, emit = int(call.attrs.num_groups), float(call.attrs.epsilon), builder.emit
    of = _Groups(groups=groups, size=shape[1] // groups, axes=len(axes), pixels=math.prod(shape[2:]))
    total = emit(relax.op.sum(value, axes, keepdims=True))
    off = emit(relax.op.subtract(value, emit(relax.op.multiply(total, relax.const(1 / of.pixels, "float32")))))
    squares = emit(relax.op.sum(emit(relax.op.multiply(off, off)), axes, keepdims=True))

    def small(compute: Callable[..., Any], *arguments: Any) -> Any:
        name = f"group_{compute.__name__}"
        return emit(builder.call_te(compute, *arguments, primfunc_name_hint=name, primfunc_attrs=APART))

    if of.size == 1:
        factor = small(of.factor_of_channel, squares, scale, epsilon)
    else:
        mean = small(of.mean, total)
        off = emit(relax.op.subtract(value, small(of.offset, mean)))
        factor = small(of.factor, small(of.variance, total, squares, mean), scale, epsilon)
    aligned = emit(relax.op.reshape(bias, [1, shape[1], *[1] * len(axes)]))
    return relax.op.add(emit(relax.op.multiply(off, factor)), aligned)


@dataclass(frozen=True, kw_only=True)
class _Groups:
    """Tensor expressions of what is the same for all of a channel's pixels, [batch, channels, 1, ...], or of a group's.

    None sums up what another one sums up: in one kernel, MetaSchedule draws where the first sum is worked out, and
    again for each of the second's steps it takes 21 ms for one group of 512 channels.

    Attributes:
        size: channels of a group.
        axes: that pixels lie along.
        pixels: of a channel.
    """

    groups: int
    size: int
    axes: int
    pixels: int

    def mean(self, total: Any) -> Any:
        """A group's, of the channels' sums: [batch, groups]."""
        return self._mean_of_channels(total.shape[0], lambda *at: total[at] * self._share)

    def variance(self, total: Any, squares: Any, mean: Any) -> Any:
        """A group's, the mean of its channels' and the variance of their means: [batch, groups].

        Args:
            squares: sums of the squares of what is off the channel's mean.
            mean: the group's.
        """

        def around(batch: Any, channel: Any, *rest: Any) -> Any:
            at = (batch, channel, *rest)
            off = total[at] * self._share - mean[batch, channel // self.size]
            return squares[at] * self._share + off * off

        return self._mean_of_channels(total.shape[0], around)

    def offset(self, mean: Any) -> Any:
        """For each channel, what its pixels are centred by."""
        return self._of_channels(mean.shape[0], lambda batch, channel, *_: mean[batch, channel // self.size])

    def factor(self, variance: Any, scale: Any, epsilon: float) -> Any:
        """For each channel, its scale, [channels], by its group's deviation."""

        def scaled(batch: Any, channel: Any, *_: Any) -> Any:
            return scale[channel] * _inverse_root(variance[batch, channel // self.size], epsilon)

        return self._of_channels(variance.shape[0], scaled)

    def factor_of_channel(self, squares: Any, scale: Any, epsilon: float) -> Any:
        """The same where it is a group by itself."""

        def scaled(*at: Any) -> Any:
            return scale[at[1]] * _inverse_root(squares[at] * self._share, epsilon)

        return self._of_channels(squares.shape[0], scaled)

    @property
    def _share(self) -> Any:
        return tirx.const(1 / self.pixels, "float32")

    def _mean_of_channels(self, batches: Any, value: Callable[..., Any]) -> Any:
        channel = te.reduce_axis((0, self.size), name="channel")
        rest, part = [0] * self.axes, tirx.const(1 / self.size, "float32")
        return te.compute(
            (batches, self.groups),
            lambda batch, group: te.sum(value(batch, group * self.size + channel, *rest) * part, axis=channel),
            name="of_group",
        )

    def _of_channels(self, batches: Any, value: Callable[..., Any]) -> Any:
        return te.compute((batches, self.groups * self.size, *[1] * self.axes), value, name="of_channels")


def _inverse_root(variance: Any, epsilon: float) -> Any:
    return tirx.rsqrt(variance + tirx.const(epsilon, "float32"))


def rms_norm(value: Any, scale: Any, epsilon: float) -> Any:
    """``value / sqrt(mean(value value) + epsilon) * scale`` along the last axis, as a tensor expression."""
    columns = int(value.shape[-1])
    along = te.reduce_axis((0, columns), name="along")
    squares = te.compute(
        value.shape[:-1],
        lambda *at: te.sum(value[(*at, along)] * value[(*at, along)], axis=along),
        name="rms_squares",
    )
    inverse = te.compute(value.shape[:-1], lambda *at: _inverse_root(squares[at] / columns, epsilon), name="rms")
    return te.compute(value.shape, lambda *at: value[at] * inverse[at[:-1]] * scale[at[-1]], name="rms_norm")


@dataclass(frozen=True, kw_only=True)
class DeviationNorm:
    """``(value - mean) / max(sqrt(factor * variance + epsilon) + outside, least) * scale + bias`` along the last axis.

    Attributes:
        centred: whether the mean is taken off.
        about_mean: whether the variance is that from the mean, not from zero.
    """

    centred: bool = True
    about_mean: bool = True
    factor: float = 1.0
    epsilon: float = 0.0
    outside: float = 0.0
    least: float = 0.0

    @property
    def attributes(self) -> dict[str, Any]:
        """Of a function that computes it: `of` reads there how."""
        return {**APART, _HOW: json.dumps(asdict(self))}

    @classmethod
    def of(cls, function: Any) -> DeviationNorm | None:
        """What a function with such attributes computes; None for others."""
        how = (function.attrs or {}).get(_HOW)
        return None if how is None else cls(**json.loads(str(how)))

    def __call__(self, value: Any, scale: Any, bias: Any) -> Any:
        """A tensor expression; scale and bias are [columns]."""
        columns, rows = int(value.shape[-1]), value.shape[:-1]

        def total(term: Callable[..., Any], name: str) -> Any:
            along = te.reduce_axis((0, columns), name="along")
            return te.compute(rows, lambda *at: te.sum(term((*at, along)), axis=along), name=name)

        mean = self.mean(total(lambda at: value[at], "norm_total"), columns)

        def less_mean(at: tuple[Any, ...], *, wanted: bool) -> Any:
            return value[at] - mean[at[:-1]] if wanted else value[at]

        def square(at: tuple[Any, ...]) -> Any:
            off = less_mean(at, wanted=self.about_mean)
            return off * off

        inverse = self.inverse(total(square, "norm_squares"), columns)

        def result(*at: Any) -> Any:
            return less_mean(at, wanted=self.centred) * inverse[at[:-1]] * scale[at[-1]] + bias[at[-1]]

        return te.compute(value.shape, result, name="deviation_norm")

    def mean(self, total: Any, count: int) -> Any:
        """Of rows of `count` values, from their sums."""
        return te.compute(total.shape, lambda *at: total[at] * tirx.const(1 / count, "float32"), name="norm_mean")

    def inverse(self, squares: Any, count: int) -> Any:
        """One divided by the deviations of rows of `count` values, from the sums of their squares."""

        def inverse(*at: Any) -> Any:
            variance = squares[at] * tirx.const(self.factor / count, "float32")
            deviation = tirx.sqrt(variance + tirx.const(self.epsilon, "float32"))
            return 1.0 / tirx.max(deviation + tirx.const(self.outside, "float32"), tirx.const(self.least, "float32"))

        return te.compute(squares.shape, inverse, name="norm_inverse", attrs=COMPUTED_ONCE)
