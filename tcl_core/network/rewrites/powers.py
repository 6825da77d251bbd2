"""`Pow` by a constant as products, a root, a reciprocal: TVM's frontend calls libm for each element.

GPT-2's GELU cubes 64 x 1024 elements: 115 us of its 1,077 for each of two layers, and now 6 (2 threads of a Zen 5).
"""

from __future__ import annotations

from typing import Any

import onnx
import onnx.helper

_FLOATS = frozenset({onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE})
_STEPS: dict[float, tuple[str, ...]] = {
    1.0: ("Identity",),
    1.5: ("TimesRoot",),
    2.0: ("Square",),
    3.0: ("Square", "Times"),
    4.0: ("Square", "Square"),
    0.75: ("Sqrt", "TimesRoot"),
    0.5: ("Sqrt",),
    -0.5: ("Sqrt", "Reciprocal"),
    -1.0: ("Reciprocal",),
    -2.0: ("Square", "Reciprocal"),
}
"""What a power is in steps: of the value so far, squared, times the base, or times its own root."""
_FLOATS_ONLY = frozenset({"Sqrt", "Reciprocal", "TimesRoot"})


def power_nodes(node: Any, exponent: float, kind: int | None) -> list[Any] | None:
    """A `Pow` node's steps; None where it is better left as it is.

    Args:
        kind: the element type of its base (`onnx.TensorProto`), None where it is not known.
    """
    steps = _STEPS.get(exponent, ())
    if not steps or (_FLOATS_ONLY.intersection(steps) and kind not in _FLOATS):
        return None
    base = value = node.input[0]
    made: list[Any] = []
    for index, step in enumerate(steps, start=1):
        root = f"{node.output[0]}.root{index}"
        if step == "TimesRoot":
            made.append(onnx.helper.make_node("Sqrt", [value], [root], name=f"{node.name}.root{index}"))
        products = {"Square": [value, value], "Times": [value, base], "TimesRoot": [value, root]}
        operator, inputs = ("Mul", products[step]) if step in products else (step, [value])
        last = index == len(steps)
        value = node.output[0] if last else f"{node.output[0]}.partial{index}"
        name = node.name if last else f"{node.name}.partial{index}"
        made.append(onnx.helper.make_node(operator, inputs, [value], name=name))
    return made
