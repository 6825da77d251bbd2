"""`RoiAlign` as TVM has none: of boxes that are read at half pixels, and of maxima.

onnxruntime takes maxima of what each pixel gives to a point between pixels, not of the points, and so does the
standard's reference. A box without any point has 0.

Shape legend: boxes [B, 4] as left, top, right and bottom, results [B, channels, rows, columns].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import te
from tvm.tirx import any as any_of
from tvm.tirx import const, if_then_else


def read_regions(builder: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], *, half: bool) -> Any:
    """A relax expression of `RoiAlign`'s result.

    Args:
        inputs: pictures [pictures, channels, height, width], boxes, and the picture of each box [B].
        attrs: of the operator.
        half: pixels are read at their middle, and a box may be smaller than one.
    """
    regions = _Regions(
        size=(int(attrs.get("output_height", 1)), int(attrs.get("output_width", 1))),
        scale=float(attrs.get("spatial_scale", 1.0)),
        points=int(attrs.get("sampling_ratio", 0)),
        greatest=attrs.get("mode") in ("max", b"max"),
        half=half,
    )
    return builder.call_te(regions.of, *inputs, primfunc_name_hint="regions")


@dataclass(frozen=True, kw_only=True)
class _Regions:
    """What is read of a box.

    Attributes:
        size: rows and columns of the result, each of a part of the box.
        scale: of boxes.
        points: of each part, along rows as along columns; 0 for as many as it has pixels.
        greatest: the maximum, not the mean.
    """

    size: tuple[int, int]
    scale: float
    points: int
    greatest: bool
    half: bool

    def of(self, pictures: Any, boxes: Any, at: Any) -> Any:
        """A tensor expression. Inputs as of `read_regions`."""
        extents = [int(each) for each in pictures.shape[2:]]

        def read(box: Any, channel: Any, *part: Any) -> Any:
            counts = [self._along(boxes, box, axis)[2] for axis in range(2)]
            points = [te.reduce_axis((0, count), name="point") for count in counts]
            place = [self._place(boxes, box, axis, part[axis], points[axis].var) for axis in range(2)]
            value = self._at_point(partial(_pixel, pictures, at[box], channel), place, extents, str(pictures.dtype))
            if self.greatest:
                return te.max(value, axis=points)
            return te.sum(value / (counts[0] * counts[1]).astype(pictures.dtype), axis=points)

        shape = (boxes.shape[0], pictures.shape[1], *self.size)
        regions = te.compute(shape, read, name="regions")
        if self.points > 0:
            return regions

        def of_some(box: Any, *place: Any) -> Any:
            """What is read of no points at all is not even written."""
            empty = any_of(*(self._along(boxes, box, axis)[2] <= 0 for axis in range(2)))
            return if_then_else(empty, const(0, pictures.dtype), regions[(box, *place)])

        return te.compute(shape, of_some, name="of_some")

    def _along(self, boxes: Any, box: Any, axis: int) -> tuple[Any, Any, Any]:
        """Where a box begins along rows or columns, how long a part of it is, and how many points that has."""
        number = partial(const, dtype=str(boxes.dtype))
        first, last = (boxes[box, side] * number(self.scale) for side in (1 - axis, 3 - axis))
        part = (last - first if self.half else te.max(last - first, number(1))) / number(self.size[axis])
        count = const(self.points, "int32") if self.points > 0 else te.ceil(part).astype("int32")
        return (first - number(0.5) if self.half else first), part, count

    def _place(self, boxes: Any, box: Any, axis: int, at: Any, point: Any) -> Any:
        dtype = boxes.dtype
        first, part, count = self._along(boxes, box, axis)
        middle = (point.astype(dtype) + const(0.5, dtype)) * part / count.astype(dtype)
        return first + at.astype(dtype) * part + middle

    def _at_point(self, pixel: Any, place: Sequence[Any], extents: Sequence[int], dtype: str) -> Any:
        """The sum, or the greatest, of what the four pixels around a point give to it; 0 outside of the picture."""
        number = partial(const, dtype=dtype)
        outside, around, shares = [], [], []
        for at, extent in zip(place, extents, strict=True):
            outside += [at < number(-1), at > number(extent)]
            within = te.min(te.max(at, number(0)), number(extent - 1))
            first = te.floor(within).astype("int32")
            share = within - first.astype(dtype)
            around.append((first, te.min(first + 1, const(extent - 1, "int32"))))
            shares.append((number(1) - share, share))
        given = [shares[0][y] * shares[1][x] * pixel(around[0][y], around[1][x]) for y in range(2) for x in range(2)]
        total = given[0]
        for each in given[1:]:
            total = te.max(total, each) if self.greatest else total + each
        return if_then_else(any_of(*outside), number(0), total)


def _pixel(pictures: Any, picture: Any, channel: Any, row: Any, column: Any) -> Any:
    return pictures[picture.astype("int32"), channel, row, column]
