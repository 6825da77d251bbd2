"""What each of onnxruntime's operators is in those of the standard (`simpler_nodes`), attention aside."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from tcl_core.network.onnx_graph.stand_in import New, Stays

_SUM_BY_INPUT = 13
"""Opset from which `ReduceSum` takes its axes as an input."""
_TANH_GELU = (0.035677408136300125, 0.7978845608028654)
"""``0.5 x (1 + tanh(x (a x x + b)))``, of `FastGelu`."""
_EPSILON = 1e-5
_SKIP_EPSILON = 1e-12
"""Where none is given: of a layer normalisation, and of one with a sum inside."""


def _convolution(new: New) -> None:
    value, weight, bias, term = new.inputs(4)
    attributes = new.attributes
    activation, numbers = attributes.pop("activation", b""), attributes.pop("activation_params", ())
    total = new.maker.node("Conv", *filter(None, [value, weight, bias]), **attributes)
    new.activated(new.sum(total, term), activation, numbers)


def _gemm(new: New) -> None:
    attributes = new.attributes
    activation = attributes.pop("activation", b"")
    numbers = [attributes.pop(name) for name in ("activation_alpha", "activation_beta") if name in attributes]
    attributes.pop("activation_gamma", None)
    new.activated(new.maker.node("Gemm", *new.node.input, **attributes), activation, numbers)


def _product(new: New) -> None:
    attributes = new.attributes
    alpha = attributes.get("alpha", 1.0)
    sides = [
        _turned(new, value, batch=attributes.get(f"transBatch{side}", 0), last=attributes.get(f"trans{side}", 0))
        for side, value in zip("AB", new.node.input, strict=True)
    ]
    product = new.maker.node("MatMul", *sides, output="" if alpha != 1 else new.output)
    if alpha != 1:
        new.maker.node("Mul", product, new.number(alpha), output=new.output)


def _turned(new: New, value: str, *, batch: int, last: int) -> str:
    """With the first axis put behind those of the batch, then the last two exchanged, each where it is asked for."""
    if not batch and not last:
        return value
    rank = len(new.sizes.get(value, ()))
    if rank < 2:  # not known yet, or a vector, which has nothing to turn
        raise Stays
    order = [*range(1, rank - 1), 0, rank - 1] if batch else list(range(rank))
    if last:
        order[-2:] = order[:-3:-1]
    return new.maker.node("Transpose", value, perm=order)


def _layer_norm(new: New) -> None:
    new.require_one_result(1, 2)
    value, scale, bias = new.inputs(3)
    _require_last_axis(new, value)
    centred = new.maker.node("Sub", value, new.reduced("ReduceMean", value))
    new.by_deviation(centred, scale, bias, new.attributes.get("epsilon", _EPSILON))


def _rms_norm(new: New) -> None:
    new.require_one_result(1)
    value, scale = new.inputs(2)
    _require_last_axis(new, value)
    new.by_deviation(value, scale, "", new.attributes.get("epsilon", _EPSILON))


def _require_last_axis(new: New, value: str) -> None:
    if new.attributes.get("axis", -1) not in (-1, len(new.sizes.get(value, ())) - 1):
        raise Stays


def _skip_layer_norm(new: New) -> None:
    value, skip, scale, bias, before = new.inputs(5)
    total = _with_skip(new, value, skip, before)
    centred = new.maker.node("Sub", total, new.reduced("ReduceMean", total))
    new.by_deviation(centred, scale, bias, new.attributes.get("epsilon", _SKIP_EPSILON))


def _skip_rms_norm(new: New) -> None:
    value, skip, scale, before = new.inputs(4)
    total = _with_skip(new, value, skip, before)
    new.by_deviation(total, scale, "", new.attributes.get("epsilon", _SKIP_EPSILON))


def _embedding(new: New) -> None:
    """What a token, its place and its part of the text are, together; and how many tokens there are."""
    tokens, parts, words, positions, kinds, scale, bias, mask, places, *_ = new.inputs(9)
    node, maker, size = new.maker.node, new.maker, new.sizes.get(tokens, ())
    if len(size) != 2 or -1 in size:
        raise Stays
    where = places or maker.weight(np.arange(size[1]))
    kind = node("Gather", kinds, parts) if parts else ""
    total = new.sum(
        node("Gather", words, tokens),
        node("Gather", positions, where),
        kind,
        output=new.result(2),
    )
    centred = node("Sub", total, new.reduced("ReduceMean", total))
    new.by_deviation(centred, scale, bias, new.attributes.get("epsilon", _SKIP_EPSILON))
    if new.result(1):
        counted = maker.weight(np.zeros(size[0], np.int32))
        if mask and new.opset >= _SUM_BY_INPUT:
            counted = node("ReduceSum", mask, maker.weight(np.array([1])), keepdims=0)
        elif mask:
            counted = node("ReduceSum", mask, keepdims=0, axes=[1])
        node("Identity", counted, output=new.result(1))


def _with_skip(new: New, value: str, skip: str, bias: str) -> str:
    """The sum, which is the fourth result."""
    new.require_one_result(1, 2)
    return new.sum(value, skip, bias, output=new.result(3))


def _gelu(new: New) -> None:
    node, value = new.maker.node, new.sum(*new.node.input)
    gate = node("Add", node("Erf", node("Mul", value, new.number(math.sqrt(0.5)))), new.number(1))
    node("Mul", node("Mul", value, gate), new.number(0.5), output=new.output)


def _tanh_gelu(new: New) -> None:
    node, value = new.maker.node, new.sum(*new.node.input)
    cubic, linear = map(new.number, _TANH_GELU)
    inner = node("Mul", value, node("Add", node("Mul", cubic, node("Mul", value, value)), linear))
    gate = node("Add", node("Tanh", inner), new.number(1))
    node("Mul", node("Mul", value, gate), new.number(0.5), output=new.output)


def _swish(new: New) -> None:
    (value,), alpha = new.node.input, new.attributes.get("alpha", 1.702)
    scaled = value if alpha == 1 else new.maker.node("Mul", value, new.number(alpha))
    new.maker.node("Mul", value, new.maker.node("Sigmoid", scaled), output=new.output)


def _whole_product(new: New) -> None:
    left, right, scale, right_scale, zero, right_zero, bias = new.inputs(7)
    _scaled_product(new, (left, zero), (right, right_zero), (scale, right_scale), bias)


def _dynamic_product(new: New) -> None:
    value, right, right_scale, right_zero, bias = new.inputs(5)
    left, scale, zero = new.maker.nodes_of("DynamicQuantizeLinear", value, outputs=3)
    _scaled_product(new, (left, zero), (right, right_zero), (scale, right_scale), bias)


def _scaled_product(
    new: New, left: tuple[str, str], right: tuple[str, str], scales: tuple[str, str], bias: str
) -> None:
    """Of whole numbers and their zero points, as the numbers they mean."""
    zeros = [left[1], right[1]]
    while zeros and not zeros[-1]:
        zeros.pop()
    node = new.maker.node
    floats = node("Cast", node("MatMulInteger", left[0], right[0], *zeros), to=onnx.TensorProto.FLOAT)
    scaled = node("Mul", floats, node("Mul", *scales), output="" if bias else new.output)
    if bias:
        node("Add", scaled, bias, output=new.output)


def _dynamic_recurrence(new: New) -> None:
    """An LSTM by the numbers that its weights mean. onnxruntime also rounds what is multiplied with them, steps of its
    own results among it, to bytes; here these stay floats.
    """
    value, weights, states, bias, lengths, hidden, cell, peepholes, *scales = new.inputs(12)
    given = [
        new.maker.node("Transpose", _meant(new, whole, *parts), perm=[0, 2, 1])
        for whole, parts in ((weights, scales[:2]), (states, scales[2:]))
    ]
    inputs = [value, *given, bias, lengths, hidden, cell, peepholes]
    made = onnx.helper.make_node("LSTM", inputs, new.node.output, name=f"{new.maker.prefix}.lstm")
    made.attribute.extend(new.node.attribute)
    new.maker.nodes.append(made)


def _meant(new: New, whole: str, scale: str, zero: str) -> str:
    """[directions, rows, columns] floats of bytes, whose scales and zero points are [directions] or one a column."""
    node, to = new.maker.node, onnx.TensorProto.FLOAT
    directions = new.sizes.get(whole, ())[0:1]
    if -1 in (directions or (-1,)):
        raise Stays
    each, nought = (new.maker.reshape(part, directions[0], 1, -1) for part in (scale, node("Cast", zero, to=to)))
    return node("Mul", node("Sub", node("Cast", whole, to=to), nought), each)


def _few_bits(new: New) -> None:
    """A product by weights of 4 or 8 bits, which have a scale and a zero point for each block of a row."""
    value, packed, scales, zeros, order, bias = new.inputs(6)
    attributes, node, maker = new.attributes, new.maker.node, new.maker
    bits = attributes.get("bits", 4)
    rows, columns, block = (int(attributes[name]) for name in ("N", "K", "block_size"))
    blocks = -(-columns // block)
    if order or bits not in (4, 8):
        raise Stays
    numbers = maker.reshape(_unpacked(new, packed, rows, bits), rows, blocks, block)
    zero = new.number(1 << (bits - 1))
    if zeros:
        floats = new.types.get(zeros) == onnx.TensorProto.FLOAT
        whole = zeros if floats else maker.first(_unpacked(new, zeros, rows, bits), blocks, 1)
        zero = maker.reshape(whole, rows, blocks, 1)
    scaled = node("Mul", node("Sub", numbers, zero), maker.reshape(scales, rows, blocks, 1))
    weight = maker.first(maker.reshape(scaled, rows, blocks * block), columns, 1)
    product = node("MatMul", value, node("Transpose", weight, perm=[1, 0]), output="" if bias else new.output)
    if bias:
        node("Add", product, bias, output=new.output)


def _unpacked(new: New, packed: str, rows: int, bits: int) -> str:
    """[rows, ...] floats of bytes, the lower half of each first."""
    node, maker = new.maker.node, new.maker
    whole = maker.reshape(node("Cast", packed, to=onnx.TensorProto.INT32), rows, -1, 1)
    if bits == 4:
        half = maker.weight(np.array(16, np.int32))
        upper = node("Div", whole, half)
        whole = node("Concat", node("Sub", whole, node("Mul", upper, half)), upper, axis=2)
    return maker.reshape(node("Cast", whole, to=onnx.TensorProto.FLOAT), rows, -1)


CONTRIBUTED_FORMS: dict[str, Callable[[New], None]] = {
    "BiasGelu": _gelu,
    "DynamicQuantizeLSTM": _dynamic_recurrence,
    "DynamicQuantizeMatMul": _dynamic_product,
    "EmbedLayerNormalization": _embedding,
    "FastGelu": _tanh_gelu,
    "FusedConv": _convolution,
    "FusedGemm": _gemm,
    "FusedMatMul": _product,
    "Gelu": _gelu,
    "MatMulIntegerToFloat": _whole_product,
    "MatMulNBits": _few_bits,
    "QuickGelu": _swish,
    "SkipLayerNormalization": _skip_layer_norm,
    "SkipSimplifiedLayerNormalization": _skip_rms_norm,
    "SimplifiedLayerNormalization": _rms_norm,
}
"""By name, of onnxruntime's own domain."""
DEFAULT_FORMS: dict[str, Callable[[New], None]] = {
    "LayerNormalization": _layer_norm,
    "SimplifiedLayerNormalization": _rms_norm,
}
"""Of those that it has in the standard's domain whatever the opset."""
