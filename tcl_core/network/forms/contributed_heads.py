"""onnxruntime's `MultiHeadAttention` and `Attention` in operators of the standard (`simpler_nodes`).

Shapes: [batch, heads, tokens, values] of what is asked, known and worth.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import onnx

from tcl_core.network.onnx_graph.stand_in import New, Stays

UNSEEN = -1e30
"""Added to a score that is not to count: its share is 0 after any softmax, and no sum of two is infinite."""
_TO_THE_END = 2**31 - 1
_MASKED = -10000.0
"""onnxruntime's own, where the padding is masked by nothing else."""


def multi_head_attention(new: New) -> None:
    """Of [batch, tokens, heads x values] each; keys and values may be those of each head already, and have a past."""
    query, key, value, bias, padding, term, past_key, past_value, *more = new.inputs(10)
    heads, size = int(new.attributes["num_heads"]), new.sizes.get(query, ())
    if any(more) or not key or not value or len(size) != 3 or size[2] < heads:
        raise Stays
    new.require_one_result(3)
    ends = (size[2], 2 * size[2], _TO_THE_END)
    parts = [new.maker.cut(bias, [at * size[2]], [end], [0]) if bias else "" for at, end in enumerate(ends)]
    asked, known, worth = (
        _by_head(new, each, part, heads) for each, part in zip((query, key, value), parts, strict=True)
    )
    before = _size(new, past_key, 2) if past_key else 0
    known, worth = (
        _with_past(new, each, past, at) for at, (each, past) in enumerate([(known, past_key), (worth, past_value)], 1)
    )
    tokens = _size(new, key, -2)
    masks = (term, _padding(new, padding, size[0], before + tokens), _causal(new, size[1], tokens, before))
    share = shares(new, scored(new, asked, known, size[2] // heads), *masks)
    new.joined_heads(new.maker.node("MatMul", share, worth))


def packed_attention(new: New) -> None:
    """Of [batch, tokens, columns], which one product makes queries, keys and values of; the past is packed, too."""
    value, weight, bias, padding, past, term, *more = new.inputs(7)
    attributes, maker = new.attributes, new.maker
    heads, size, columns = int(attributes["num_heads"]), new.sizes.get(value, ()), new.sizes.get(weight, ())
    if any(more) or attributes.get("do_rotary") or len(size) != 3 or len(columns) != 2:
        raise Stays
    widths = attributes.get("qkv_hidden_sizes") or [columns[1] // 3] * 3
    product = new.sum(maker.node("MatMul", value, weight), bias)
    starts = np.cumsum([0, *widths]).tolist()
    asked, known, worth = (
        new.split_heads(maker.cut(product, [start], [end], [2]), heads) for start, end in pairwise(starts)
    )
    before = _size(new, past, 3) if past else 0
    if past:
        known, worth = (
            maker.node("Concat", maker.node("Gather", past, maker.weight(np.array(at))), each, axis=2)
            for at, each in enumerate((known, worth))
        )
    if new.result(1):
        shape = (1, size[0], heads, -1, widths[1] // heads)
        maker.node("Concat", maker.reshape(known, *shape), maker.reshape(worth, *shape), output=new.result(1), axis=0)
    masks = (term, _padding(new, padding, size[0], before + size[1]), _causal(new, size[1], size[1], before))
    share = shares(new, scored(new, asked, known, widths[0] // heads), *masks)
    new.joined_heads(maker.node("MatMul", share, worth))


def scored(new: New, asked: str, known: str, values: int) -> str:
    """How well each that asks goes with what is known; a head has so many `values` where no scale is given."""
    node, cap = new.maker.node, new.attributes.get("softcap", 0.0)
    scale = new.attributes.get("scale") or 1 / math.sqrt(values)
    scores = node("MatMul", node("Mul", asked, new.number(scale)), node("Transpose", known, perm=[0, 1, 3, 2]))
    return node("Mul", node("Tanh", node("Div", scores, new.number(cap))), new.number(cap)) if cap else scores


def shares(new: New, scores: str, *masks: str) -> str:
    """What each is worth to each that asks; `masks` are added to the scores, "" is nothing."""
    return new.maker.node("Softmax", new.sum(scores, *masks), axis=3)


def _size(new: New, value: str, axis: int) -> int:
    size = new.sizes.get(value, ())
    if len(size) < max(axis + 1, -axis) or size[axis] < 0:
        raise Stays
    return size[axis]


def _by_head(new: New, value: str, bias: str, heads: int) -> str:
    rank = len(new.sizes.get(value, ()))
    if rank == 4:
        return value
    if rank != 3:
        raise Stays
    return new.split_heads(new.sum(value, bias), heads)


def _with_past(new: New, value: str, past: str, result: int) -> str:
    """Behind what was kept of earlier tokens; it is one of the results, too."""
    name = new.result(result)
    if past:
        return new.maker.node("Concat", past, value, output=name, axis=2)
    return new.maker.node("Identity", value, output=name) if name else value


def _causal(new: New, rows: int, tokens: int, before: int) -> str:
    """What is added where nobody looks ahead: a token sees those before it and itself, [tokens, before + tokens]."""
    if not new.attributes.get("unidirectional"):
        return ""
    ahead = np.arange(before + tokens) > before + np.arange(rows)[:, None]
    return new.maker.weight(np.where(ahead, np.float32(UNSEEN), np.float32(0)))


def _padding(new: New, padding: str, batch: int, tokens: int) -> str:
    """What is added to the scores of tokens that are none.

    Of a mask [batch, tokens] or [batch, tokens, tokens], or of how many there are, [batch].
    """
    if not padding:
        return ""
    size = new.sizes.get(padding, ())
    node, masked = new.maker.node, new.attributes.get("mask_filter_value", _MASKED)
    if size == (batch,):
        count = new.maker.reshape(node("Cast", padding, to=onnx.TensorProto.INT64), batch, 1, 1, 1)
        counted = node("Less", new.maker.weight(np.arange(tokens)), count)
        return node("Where", counted, new.number(0), new.number(masked))
    if len(size) not in (2, 3) or -1 in size:
        raise Stays
    kept = new.maker.reshape(padding, size[0], 1, size[1] if len(size) == 3 else 1, size[-1])
    floats = node("Cast", kept, to=onnx.TensorProto.FLOAT)
    return node("Mul", node("Sub", new.number(1), floats), new.number(masked))
