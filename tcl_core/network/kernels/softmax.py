"""Softmax over the last axis, its sums and maxima taken lane by lane.

A sum of floats has an order, so LLVM adds one element after another and each waits for the one before: of topi's
`fast_softmax` over 197 elements nearly all time goes there. Here every lane of a vector keeps a sum of its own, over
every lanes-th element, and the few lanes are summed up at the end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import tvm
from tvm import s_tir, te, tirx, topi

from tcl_core.network.relax_graph.rewriting import COMPUTED_ONCE
from tcl_core.own_operators.exponentials import fast_exp

_WIDEST = 16
_NARROWEST = 4


def lanes_for(extent: int, lanes: int) -> int:
    """The widest vector, of `lanes` at most, that an axis is cut into without a rest; 0 if there is none."""
    found = min(lanes, _WIDEST)
    while found >= _NARROWEST:
        if extent % found == 0 and extent > found:
            return found
        found //= 2
    return 0


def softmax_kernel(shape: tuple[int, ...], lanes: int) -> Any:
    """A float32 `PrimFunc` from and to `shape`, its last axis a multiple of `lanes`."""
    value = te.placeholder(shape, name="value", dtype="float32")
    rows = shape[:-1]
    chunks = shape[-1] // lanes

    def by_lane(combine: Any, source: Any, name: str) -> Any:
        chunk = te.reduce_axis((0, chunks), name="chunk")
        per_lane = te.compute(
            (*rows, lanes),
            lambda *at: combine(source[(*at[:-1], chunk * lanes + at[-1])], axis=chunk),
            name=f"{name}_by_lane",
        )
        lane = te.reduce_axis((0, lanes), name="lane")
        return te.compute(rows, lambda *at: combine(per_lane[(*at, lane)], axis=lane), name=name)

    top = by_lane(te.max, value, "softmax_max")
    shifted = te.compute(shape, lambda *at: value[at] - top[at[:-1]], name="softmax_shifted")
    powers = topi.fast_exp(shifted)
    total = by_lane(te.sum, powers, "softmax_sum")
    share = te.compute(rows, lambda *at: 1.0 / total[at], name="softmax_share")
    result = te.compute(shape, lambda *at: powers[at] * share[at[:-1]], name="softmax")
    schedule = s_tir.Schedule(
        tvm.IRModule({"main": te.create_prim_func([value, result], index_dtype_override="int64")})
    )
    for name in ("softmax_max_by_lane", "softmax_sum_by_lane"):
        *_, lane, chunk = schedule.get_loops(schedule.get_sblock(name))
        # Only a loop over independent elements that is innermost becomes a vector.
        schedule.reorder(chunk, lane)
    for annotation in COMPUTED_ONCE.items():  # for the sum and for the result
        schedule.annotate(schedule.get_sblock("T_fast_exp"), *annotation)
    return schedule.mod["main"].without_attr("global_symbol")


def softmax_of_few(value: Any, axis: int) -> Any:
    """Along an axis of few steps, which each result goes over for itself; a tensor expression, for processors."""

    def over_steps(combine: Callable[[Any, Any], Any], source: Any, name: str) -> Any:
        places = range(int(value.shape[axis]))
        return te.compute(
            value.shape,
            lambda *at: reduce(combine, (source(*at[:axis], place, *at[axis + 1 :]) for place in places)),
            name=name,
        )

    top = over_steps(tirx.max, value, "softmax_top")
    powers = fast_exp(te.compute(value.shape, lambda *at: value(*at) - top(*at), name="softmax_shifted"))
    total = over_steps(operator.add, powers, "softmax_total")
    return te.compute(value.shape, lambda *at: powers(*at) / total(*at), name="softmax")
