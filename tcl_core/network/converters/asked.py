"""What TVM's frontend was asked to convert, for those of its converters that are mended here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tvm import relax

FLOATS: Final = frozenset({"float16", "float32", "float64"})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the frontend was asked to convert, and how it would.

    Attributes:
        operator: of ONNX.
        builder: `relax.BlockBuilder`.
        inputs: relax expressions; None for one that is left out.
        convert: the frontend's own way, from inputs, and an opset and attributes that are others than the node has.
    """

    operator: str
    builder: Any
    inputs: Sequence[Any]
    attrs: Mapping[str, Any]
    opset: int
    convert: Callable[..., Any]

    def value(self, expression: Any, dtype: Any = None) -> Any:
        """An expression with its type told, cast where it is of another one than is wanted."""
        value = self.builder.normalize(expression)
        if dtype is None or value.ty.dtype == dtype:
            return value
        return self.builder.normalize(relax.op.astype(value, dtype))
