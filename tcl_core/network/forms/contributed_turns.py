"""onnxruntime's `RotaryEmbedding` in operators of the standard (`simpler_nodes`): values turned by their token's place.

Shapes: a table has a row of cosines, or of sines, for each place, [places, pairs].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from tcl_core.network.onnx_graph.stand_in import New, Stays


def rotary_embedding(new: New) -> None:
    """Of [batch, heads, tokens, values] or [batch, tokens, heads x values], at given places or from a given one on."""
    value, places, cosines, sines = new.inputs(4)
    attributes, maker, size, at = new.attributes, new.maker, new.sizes.get(value, ()), new.sizes.get(places, ())
    table = new.sizes.get(cosines, ())
    known = len(table) == 2 and len(size) in (3, 4) and -1 not in (*size, *at)
    if not known or attributes.get("is_packed_batching") or attributes.get("scale", 1.0) != 1:
        raise Stays
    pairs = table[1]
    heads = size[1] if len(size) == 4 else attributes.get("num_heads", 0) or size[2] // (2 * pairs)
    by_head = new.split_heads(value, heads) if len(size) == 3 else value
    tokens = size[-2] if len(size) == 4 else size[1]
    where = maker.node("Cast", places, to=onnx.TensorProto.INT64)
    if len(at) == 1:
        where = maker.node("Add", where, maker.weight(np.arange(tokens)))
    tables = [_rows(new, each, where, at, tokens) for each in (cosines, sines)]
    values = size[3] if len(size) == 4 else size[2] // heads
    rest = values - 2 * pairs
    output, side_by_side = new.output if len(size) == 4 else "", bool(attributes.get("interleaved"))
    turned = turn(new, by_head, (tables[0], tables[1]), pairs, rest, side_by_side=side_by_side, output=output)
    if len(size) == 3:
        new.joined_heads(turned)


def turn(
    new: New, value: str, tables: tuple[str, str], pairs: int, rest: int, *, side_by_side: bool, output: str = ""
) -> str:
    """The first pairs of values [batch, heads, tokens, 2 pairs + rest], by cosines and sines [.., tokens, pairs].

    A pair lies side by side, or half of the pairs' values apart.
    """
    node, maker = new.maker.node, new.maker
    parts = [maker.cut(value, [at * pairs], [(at + 1) * pairs], [3]) for at in range(2)]
    if side_by_side:
        split = maker.reshape(maker.first(value, 2 * pairs, 3), 0, 0, 0, pairs, 2)
        parts = [maker.node("Gather", split, maker.weight(np.array(at)), axis=4) for at in range(2)]
    cosine, sine = tables
    first = node("Sub", node("Mul", parts[0], cosine), node("Mul", parts[1], sine))
    second = node("Add", node("Mul", parts[0], sine), node("Mul", parts[1], cosine))
    whole = [first, second]
    if side_by_side:
        columns = [maker.reshape(each, 0, 0, 0, pairs, 1) for each in whole]
        whole = [maker.reshape(node("Concat", *columns, axis=4), 0, 0, 0, 2 * pairs, output="" if rest else output)]
        if not rest:
            return whole[0]
    if rest:
        whole.append(maker.cut(value, [2 * pairs], [2 * pairs + rest], [3]))
    return node("Concat", *whole, output=output, axis=3)


def _rows(new: New, table: str, where: str, at: Sequence[int], tokens: int) -> str:
    """Of a table, [tokens, pairs] or, where each of a batch is somewhere else, [batch, 1, tokens, pairs]."""
    rows = new.maker.node("Gather", table, where)
    return rows if len(at) == 1 else new.maker.reshape(rows, at[0], 1, tokens, -1)
