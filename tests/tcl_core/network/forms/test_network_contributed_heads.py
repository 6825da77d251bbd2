"""Attention of onnxruntime's own, and what turns its values by place: what onnxruntime makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tcl_core.network.contributed_cases import Case, X, agree, floats, refused, whole

HEADS = {X: floats(2, 5, 24), "k": floats(2, 7, 24), "v": floats(2, 7, 24)}
PAST = {"pk": floats(2, 4, 3, 6), "pv": floats(2, 4, 3, 6)}
PRESENT = ("y", "present_key", "present_value")
ROWS = floats(2, 5, 24)
PACKED = {X: ROWS, "w": floats(24, 72) / 5, "b": floats(72)}
TURNS = {"cosines": floats(32, 4), "sines": floats(32, 4)}
PLACES = whole(2, 5, high=32, dtype=np.int64)
AHEAD: dict[str, Any] = {"num_heads": 4, "unidirectional": 1}


def grouped(
    *,
    tokens: int,
    past: int = 0,
    length: int = 0,
    packed: bool = False,
    places: bool = False,
    term: bool = False,
    **attributes: Any,
) -> Case:
    """Six heads of 16 values that ask two."""
    heads, groups, values, total = 6, 2, 16, length or past + tokens
    wide = heads + 2 * groups if packed else heads
    given = {X: floats(1, tokens, wide * values)}
    if not packed:
        given |= {"k": floats(1, tokens, groups * values), "v": floats(1, tokens, groups * values)}
    if past:
        given |= {"pk": floats(1, groups, past, values), "pv": floats(1, groups, past, values)}
    given |= {"last": np.array([total - 1], np.int32), "total": np.array(past + tokens, np.int32)}
    if attributes.get("do_rotary"):
        given |= {"cosines": floats(32, 8), "sines": floats(32, 8)}
    if places:
        given["at"] = np.arange(tokens)[None] * 2
    if term:
        given["term"] = floats(1, 1, tokens, past + tokens)
    order = [X, "k", "v", "pk", "pv", "last", "total", "cosines", "sines", "at", "term"]
    names = [name if name in given else "" for name in order]
    return Case(
        "GroupQueryAttention",
        given,
        names=names,
        results=PRESENT,
        constants=["total"],
        num_heads=heads,
        kv_num_heads=groups,
        **attributes,
    )


CASES = [
    Case("MultiHeadAttention", HEADS, num_heads=4),
    Case("MultiHeadAttention", {**HEADS, "b": floats(72)}, num_heads=4, scale=0.3),
    Case("MultiHeadAttention", {**HEADS, "v": floats(2, 7, 32), "b": floats(80)}, num_heads=4),
    Case(
        "MultiHeadAttention",
        {**HEADS, "kept": (np.arange(14).reshape(2, 7) % 3 > 0).astype(np.int32), "term": floats(1, 4, 5, 7)},
        names=[X, "k", "v", "", "kept", "term"],
        num_heads=4,
    ),
    Case(
        "MultiHeadAttention",
        {**HEADS, **PAST},
        names=[X, "k", "v", "", "", "", "pk", "pv"],
        results=PRESENT,
        num_heads=4,
    ),
    Case(
        "MultiHeadAttention", {X: floats(2, 5, 24), "k": floats(2, 4, 7, 6), "v": floats(2, 4, 7, 6)}, num_heads=4
    ),
    Case("MultiHeadAttention", {X: floats(2, 5, 24), "k": floats(2, 5, 24), "v": floats(2, 5, 24)}, **AHEAD),
    Case("Attention", PACKED, num_heads=4),
    Case("Attention", PACKED, scale=0.2, **AHEAD),
    Case("Attention", {X: ROWS, "w": floats(24, 56), "b": floats(56)}, num_heads=4, qkv_hidden_sizes=[16, 16, 24]),
    Case("Attention", {**PACKED, "kept": (np.arange(10).reshape(2, 5) % 3 > 0).astype(np.int32)}, num_heads=4),
    Case("Attention", {**PACKED, "kept": (np.arange(50).reshape(2, 5, 5) % 4 > 0).astype(np.int32)}, num_heads=4),
    Case("Attention", {**PACKED, "kept": np.array([3, 5], np.int32)}, num_heads=4),
    Case("Attention", {**PACKED, "term": floats(1, 4, 5, 5)}, names=[X, "w", "b", "", "", "term"], num_heads=4),
    Case(
        "Attention",
        {**PACKED, "past": floats(2, 2, 4, 3, 6)},
        names=[X, "w", "b", "", "past"],
        results=("y", "present"),
        **AHEAD,
    ),
    Case("Attention", PACKED, results=("y", "present"), num_heads=4),
    Case("RotaryEmbedding", {X: floats(1, 4, 5, 8), "at": np.array([3]), **TURNS}),
    Case("RotaryEmbedding", {X: floats(2, 5, 32), "at": np.array([3]), **TURNS}),
    Case("RotaryEmbedding", {X: floats(2, 4, 5, 8), "at": PLACES, **TURNS}, interleaved=1),
    Case("RotaryEmbedding", {X: floats(2, 5, 32), "at": PLACES, **TURNS}, interleaved=1, num_heads=4),
    Case("RotaryEmbedding", {X: floats(2, 5, 40), "at": PLACES, **TURNS}, rotary_embedding_dim=8, num_heads=4),
    Case(
        "RotaryEmbedding",
        {X: floats(2, 5, 40), "at": np.array([2]), **TURNS},
        rotary_embedding_dim=8,
        num_heads=4,
        interleaved=1,
    ),
    grouped(tokens=5),
    grouped(tokens=5, do_rotary=1),
    grouped(tokens=1, past=6, do_rotary=1),
    grouped(tokens=1, past=6, length=5, do_rotary=1),
    grouped(tokens=3, past=6, do_rotary=1, rotary_interleaved=1),
    grouped(tokens=5, do_rotary=1, packed=True),
    grouped(tokens=1, past=6, softcap=2.0, scale=0.3),
    grouped(tokens=5, past=4, local_window_size=3),
    grouped(tokens=5, local_window_size=3),
    grouped(tokens=2, past=4, places=True, do_rotary=1),
    grouped(tokens=2, past=4, term=True),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_are_onnxruntimes(tools: Any, case: Case) -> None:
    agree(tools, case)


@pytest.mark.parametrize(
    "case",
    [
        Case("MultiHeadAttention", {X: floats(2, 5, 24), "kv": floats(2, 5, 4, 2, 6)}, num_heads=4),
        Case("Attention", {**PACKED, "kept": np.ones((2, 1, 5, 5), np.int32)}, num_heads=4),
        grouped(tokens=5, smooth_softmax=1),
        Case("RotaryEmbedding", {X: floats(2, 5, 32), "at": PLACES, **TURNS}, scale=2.0),
    ],
    ids=repr,
)
def test_other_forms_are_refused_by_name(tools: Any, case: Case) -> None:
    refused(tools, case)
