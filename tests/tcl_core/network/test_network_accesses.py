"""What anchors read and write, of kernels whose accesses can be told by hand."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import s_tir, te, topi

from tcl_core.domain import Access
from tcl_core.network.accesses import accesses_of


def accesses(result: Any, *inputs: Any) -> tuple[Access, ...]:
    function = te.create_prim_func([*inputs, result])
    schedule = s_tir.Schedule(tvm.IRModule({"main": function}), debug_mask="none")
    return accesses_of(schedule.get(schedule.get_sblock(result.op.name)))


def test_a_product_reads_rows_and_columns() -> None:
    a, b = te.placeholder((16, 32), name="a"), te.placeholder((32, 8), name="b")
    left, right, result = accesses(topi.matmul(a, b), a, b)
    assert left == Access(bytes=4.0, spans=(((0, 1.0),), ((2, 1.0),)))
    assert right == Access(bytes=4.0, spans=(((1, 1.0),), ((2, 1.0),)))
    assert result == Access(bytes=4.0, spans=(((0, 1.0),), ((1, 1.0),)))


def test_windows_overlap_and_strides_leave_gaps_for_them() -> None:
    data = te.placeholder((4, 21, 21), name="data")
    k = te.reduce_axis((0, 4), name="k")
    i, j = te.reduce_axis((0, 3), name="i"), te.reduce_axis((0, 3), name="j")
    result = te.compute((10, 10), lambda h, w: te.sum(data[k, 2 * h + i, 2 * w + j], axis=[k, i, j]), name="windows")
    (read, written) = accesses(result, data)
    assert set(read.spans) == {((0, 2.0), (3, 1.0)), ((1, 2.0), (4, 1.0)), ((2, 1.0),)}
    assert set(written.spans) == {((0, 1.0),), ((1, 1.0),)}


def test_alone_a_stride_touches_no_more_than_its_steps() -> None:
    data = te.placeholder((64,), name="data", dtype="float16")
    (read, _) = accesses(te.compute((32,), lambda i: data[2 * i], name="every_second"), data)
    assert read == Access(bytes=2.0, spans=(((0, 1.0),),))


def test_blocks_of_channels_are_one_axis() -> None:
    data = te.placeholder((5, 7, 8), name="data")
    (read, _) = accesses(te.compute((40, 7), lambda c, w: data[c // 8, w, c % 8], name="plain"), data)
    assert read == Access(bytes=4.0, spans=(((0, 1.0),), ((1, 1.0),)))


def test_a_pixel_that_several_results_read_is_touched_once() -> None:
    data = te.placeholder((8,), name="data")
    (read, _) = accesses(te.compute((32,), lambda i: data[i // 4], name="larger"), data)
    (((axis, added),),) = read.spans
    assert axis == 0
    assert 1 + added * 31 == pytest.approx(8)


def test_an_index_that_is_data_stays_where_it_is() -> None:
    table, index = te.placeholder((100, 6), name="table"), te.placeholder((9,), name="index", dtype="int64")
    bounded = te.compute((9, 6), lambda i, j: table[tvm.tirx.min(tvm.tirx.max(index[i], 0), 99), j], name="bounded")
    for result in (te.compute((9, 6), lambda i, j: table[index[i], j], name="looked_up"), bounded):
        spans = {each.spans for each in accesses(result, table, index)[:2]}
        assert spans == {(((1, 1.0),),), (((0, 1.0),),)}


def test_axes_are_together_by_way_of_a_third() -> None:
    data = te.placeholder((12, 12), name="data")
    (read, _) = accesses(te.compute((4, 5, 6), lambda a, c, b: data[a + b, b + c], name="skewed"), data)
    assert [sorted(axis for axis, _ in group) for group in read.spans] == [[0, 1, 2]]
