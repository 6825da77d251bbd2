"""onnxruntime's `MultiHeadAttention` in operators of the standard (`contributed`)."""

from __future__ import annotations

import math

import onnx

from tcl_core.network.contributed_forms import New, Stays

_TO_THE_END = 2**31 - 1


def attention(new: New) -> None:
    """Of [batch, tokens, heads x values] each; keys and values may be those of each head already, and have a past."""
    query, key, value, bias, padding, term, past_key, past_value, *more = new.inputs(10)
    attributes, node, maker = new.attributes, new.maker.node, new.maker
    heads, size = int(attributes["num_heads"]), new.sizes.get(query, ())
    if any(more) or not key or not value or attributes.get("unidirectional") or len(size) != 3 or size[2] < heads:
        raise Stays
    new.require_one_result(3)
    ends = (size[2], 2 * size[2], _TO_THE_END)
    parts = [maker.cut(bias, [at * size[2]], [end], [0]) if bias else "" for at, end in enumerate(ends)]
    asked, known, worth = (
        _by_head(new, each, part, heads) for each, part in zip((query, key, value), parts, strict=True)
    )
    known, worth = (
        _with_past(new, each, past, at) for at, (each, past) in enumerate([(known, past_key), (worth, past_value)], 1)
    )
    scale = attributes.get("scale") or 1 / math.sqrt(size[2] // heads)
    scores = node("MatMul", node("Mul", asked, new.number(scale)), node("Transpose", known, perm=[0, 1, 3, 2]))
    hidden = _hidden(new, padding, attributes.get("mask_filter_value", -10000.0)) if padding else ""
    shares = node("Softmax", new.sum(scores, term, hidden), axis=3)
    mixed = node("Transpose", node("MatMul", shares, worth), perm=[0, 2, 1, 3])
    maker.reshape(mixed, 0, 0, -1, output=new.output)


def _by_head(new: New, value: str, bias: str, heads: int) -> str:
    rank = len(new.sizes.get(value, ()))
    if rank == 4:
        return value
    if rank != 3:
        raise Stays
    split = new.maker.reshape(new.sum(value, bias), 0, 0, heads, -1)
    return new.maker.node("Transpose", split, perm=[0, 2, 1, 3])


def _with_past(new: New, value: str, past: str, result: int) -> str:
    """Behind what was kept of earlier tokens; it is one of the results, too."""
    name = next(iter(new.node.output[result : result + 1]), "")
    if past:
        return new.maker.node("Concat", past, value, output=name, axis=2)
    return new.maker.node("Identity", value, output=name) if name else value


def _hidden(new: New, padding: str, masked: float) -> str:
    """What is added to the scores of tokens that are none: [batch, 1, 1, tokens] of [batch, tokens]."""
    size = new.sizes.get(padding, ())
    if len(size) != 2 or -1 in size:
        raise Stays
    node = new.maker.node
    kept = node("Cast", new.maker.reshape(padding, size[0], 1, 1, size[1]), to=onnx.TensorProto.FLOAT)
    return node("Mul", node("Sub", new.number(1), kept), new.number(masked))
