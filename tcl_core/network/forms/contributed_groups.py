"""onnxruntime's `GroupQueryAttention` in operators of the standard (`simpler_nodes`), of one sequence.

Several heads ask what one head of keys and values knows, as language models have it. How many tokens there are with
those of the past is told as the network runs: what is new is put behind them, and nobody looks ahead. Behind
the last of them zeros are given on.

Shapes: B = 1 sequence, H heads that ask in G groups, S new tokens behind at most P, D values.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import onnx

from tcl_core.network.forms.contributed_heads import UNSEEN, scored, shares
from tcl_core.network.forms.contributed_turns import turn
from tcl_core.network.onnx_graph.stand_in import New, Stays

_INPUTS = 14
_PAST_KEY, _PAST_VALUE, _LENGTH, _COSINES, _SINES, _PLACES, _TERM = 3, 4, 5, 7, 8, 9, 10


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """As in the legend.

    Attributes:
        kept: tokens of the keys and values that are given on.
    """

    heads: int
    groups: int
    tokens: int
    past: int
    values: int
    kept: int


def group_query_attention(new: New) -> None:
    """Queries, keys and values apart or packed, [B, S, heads x D] each; a past [B, G, P, D]."""
    given, maker = new.inputs(_INPUTS), new.maker
    if any(given[_TERM + 1 :]) or not given[_LENGTH] or new.attributes.get("smooth_softmax"):
        raise Stays
    new.require_one_result(3)
    sizes = _sizes(new)
    before = _before(new, given[_LENGTH], sizes)
    counts = (sizes.heads, sizes.groups, sizes.groups)
    asked, known, worth = (new.split_heads(each, count) for each, count in zip(_parts(new, sizes), counts, strict=True))
    if new.attributes.get("do_rotary"):
        asked, known = _turned(new, asked, before, sizes), _turned(new, known, before, sizes)
    known, worth = (
        _with_past(new, each, given[_PAST_KEY + at], before, sizes, new.result(at + 1))
        for at, each in enumerate((known, worth))
    )
    together = maker.reshape(asked, 1, sizes.groups, -1, sizes.values)
    scores = maker.reshape(scored(new, together, known, sizes.values), 1, sizes.heads, sizes.tokens, sizes.kept)
    share = shares(new, scores, _told(new, given[_TERM], sizes), _ahead(new, before, sizes))
    heads = maker.node("MatMul", maker.reshape(share, 1, sizes.groups, -1, sizes.kept), worth)
    new.joined_heads(maker.reshape(heads, 1, sizes.heads, sizes.tokens, sizes.values))


def _sizes(new: New) -> _Sizes:
    """
    Raises:
        Stays: one of them is not known, or there are several sequences.
    """
    given, attributes = new.inputs(_INPUTS), new.attributes
    heads, groups = int(attributes["num_heads"]), int(attributes["kv_num_heads"])
    size, past = new.sizes.get(given[0], ()), new.sizes.get(given[_PAST_KEY], ()) if given[_PAST_KEY] else (1, 0, 0, 0)
    if len(size) != 3 or len(past) != 4 or size[0] != 1 or -1 in (*size, *past):
        raise Stays
    width = size[2] if given[1] else size[2] * heads // (heads + 2 * groups)
    behind = past[2] + size[1]
    present = new.sizes.get(new.result(1), ())
    kept = present[2] if len(present) == 4 and present[2] > 0 else behind
    if kept not in (behind, past[2]):
        raise Stays
    return _Sizes(heads=heads, groups=groups, tokens=size[1], past=past[2], values=width // heads, kept=kept)


def _before(new: New, length: str, sizes: _Sizes) -> str:
    """How many tokens of the past there are, [1]."""
    node, weight = new.maker.node, new.maker.weight
    if not sizes.past:
        return weight(np.zeros(1, np.int64))
    last = new.maker.reshape(node("Cast", length, to=onnx.TensorProto.INT64), 1)
    return node("Max", node("Sub", last, weight(np.array([sizes.tokens - 1]))), weight(np.zeros(1, np.int64)))


def _parts(new: New, sizes: _Sizes) -> list[str]:
    query, key, value = new.inputs(3)
    if key:
        return [query, key, value]
    ends = np.cumsum([0, sizes.heads, sizes.groups, sizes.groups]) * sizes.values
    return [new.maker.cut(query, [start], [end], [2]) for start, end in pairwise(ends.tolist())]


def _turned(new: New, value: str, first: str, sizes: _Sizes) -> str:
    """By where its tokens are: behind the past, or at places that are given."""
    cosines, sines, places = new.inputs(_PLACES + 1)[_COSINES:]
    table = new.sizes.get(cosines, ())
    if len(table) != 2 or table[1] < 1:
        raise Stays
    node = new.maker.node
    where = new.maker.reshape(places, -1) if places else node("Add", first, new.maker.weight(np.arange(sizes.tokens)))
    rows = [node("Gather", each, where) for each in (cosines, sines)]
    side_by_side = bool(new.attributes.get("rotary_interleaved"))
    return turn(new, value, (rows[0], rows[1]), table[1], sizes.values - 2 * table[1], side_by_side=side_by_side)


def _with_past(new: New, value: str, past: str, before: str, sizes: _Sizes, output: str) -> str:
    """Behind as many of the past as there are, [1, G, kept, D]."""
    node, weight = new.maker.node, new.maker.weight
    if not sizes.past:
        return node("Identity", value, output=output)
    token = weight(np.arange(sizes.kept))
    place = node("Sub", token, before)
    is_new = node("Less", weight(np.array([-1])), place)
    is_none = node("Less", weight(np.array([sizes.tokens - 1])), place)
    source = node("Where", is_new, node("Add", place, weight(np.array([sizes.past]))), token)
    row = node("Where", is_none, weight(np.array([sizes.past + sizes.tokens])), source)
    nothing = weight(np.zeros((1, sizes.groups, 1, sizes.values), np.float32))
    return node("Gather", node("Concat", past, value, nothing, axis=2), row, output=output, axis=2)


def _told(new: New, term: str, sizes: _Sizes) -> str:
    if term and new.sizes.get(term, ())[3:] != (sizes.kept,):
        raise Stays
    return term


def _ahead(new: New, before: str, sizes: _Sizes) -> str:
    """What is added to the scores of tokens that are not there yet, or out of the window, [S, kept]."""
    node, weight = new.maker.node, new.maker.weight
    token, window = weight(np.arange(sizes.kept)), new.attributes.get("local_window_size", -1)
    asking = node("Add", before, weight(np.arange(sizes.tokens)[:, None]))
    hidden = node("Less", asking, token)
    if window > 0:
        hidden = node("Or", hidden, node("Less", token, node("Sub", asking, weight(np.array([window - 1])))))
    return node("Where", hidden, new.number(UNSEEN), new.number(0))
