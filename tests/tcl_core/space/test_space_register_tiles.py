"""Which tiles of a sum of products fit the registers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcl_core.space.register_tiles import Product, Registers, fewest_rows, tiles_of, widest_vector

AVX512, AVX2 = Registers(number=32, bits=512), Registers(number=16, bits=256)


def matrices(rows: int, columns: int, vector: int = 8) -> Product:
    """`rows` x 64 times 64 x `columns` vectors."""
    return Product(
        name="product",
        extents=(rows, columns * vector, 64),
        batch=() if rows > 1 else (0,),
        rows=(0,) if rows > 1 else (),
        columns=(),
        lanes=1,
        sums=(2,),
        block=64,
        padded=False,
        vector=vector,
    )


@settings(deadline=None)
@given(rows=st.integers(1, 400), columns=st.integers(1, 100), registers=st.sampled_from([AVX512, AVX2]))
def test_tiles_divide_results_and_fit_registers(rows: int, columns: int, registers: Registers) -> None:
    product = matrices(rows, columns)
    tiles = tiles_of(product, registers)
    assert 1 <= len(tiles) == len({tile.columns for tile in tiles})
    for tile in tiles:
        fewest = fewest_rows(product, tile)
        assert columns % tile.columns == 0
        assert rows % fewest == 0
        assert fewest <= tile.most_rows
        assert tile.most_rows * tile.columns + tile.columns + 1 <= registers.number


def test_the_tile_with_least_to_read_comes_first() -> None:
    assert [(tile.columns, tile.most_rows) for tile in tiles_of(matrices(56, 36), AVX512)] == [
        (3, 9),  # 8 rows
        (4, 6),  # 4 rows
        (2, 14),
        (1, 30),  # 28 rows
    ]


@pytest.mark.parametrize(
    ("rows", "columns", "streams"),
    [
        (42, 512, True),
        (43, 512, False),  # all else is more than two thirds as many numbers
        (4, 511, False),  # fewer weights than 2^18
    ],
)
def test_weights_that_are_most_of_what_is_read_are_streamed(rows: int, columns: int, streams: bool) -> None:
    product = matrices(rows, columns)
    assert product.streams == streams
    several = replace(product, extents=(2, *product.extents), batch=(0,), rows=(1,), lanes=2, sums=(3,))
    assert not several.streams


def test_few_registers_hold_fewer_columns() -> None:
    assert [(tile.columns, tile.most_rows) for tile in tiles_of(matrices(12, 12), AVX2)] == [(3, 4), (2, 6), (1, 14)]


def test_few_registers_that_hold_one_column_of_many_rows_hold_two_rows_of_more() -> None:
    assert [(tile.columns, tile.most_rows) for tile in tiles_of(matrices(14, 12), AVX2)] == [(1, 14), (4, 2)]
    assert [(tile.columns, tile.most_rows) for tile in tiles_of(matrices(9, 12), AVX2)] == [(1, 14), (3, 4)]
    assert [(tile.columns, tile.most_rows) for tile in tiles_of(matrices(200, 25), AVX2)] == [(1, 14), (5, 2)]
    assert min(fewest_rows(matrices(14, 12), tile) for tile in tiles_of(matrices(14, 12), AVX512)) == 7


def blocked(window: int, channels: int, block: int) -> Product:
    return replace(matrices(56, 36), sums=(2, 3), extents=(56, 36 * 8, window, channels), block=block)


@pytest.mark.parametrize(
    ("registers", "window", "channels", "block", "together"),
    [
        (AVX2, 9, 64, 8, 8),
        (AVX2, 1, 64, 8, 8),
        (AVX2, 1, 20, 20, 20),  # not in blocks
        (AVX2, 9, 12, 8, 4),  # a block and a half
        (AVX512, 9, 64, 16, 16),
        (AVX512, 9, 24, 8, 8),
        (AVX512, 1, 64, 16, 64),
    ],
)
def test_no_step_of_the_sum_leaves_its_block(
    registers: Registers, window: int, channels: int, block: int, together: int
) -> None:
    assert {tile.together for tile in tiles_of(blocked(window, channels, block), registers)} == {together}


def test_additions_do_not_wait_for_each_other() -> None:
    product = matrices(56, 36)
    assert [fewest_rows(product, tile) for tile in tiles_of(product, AVX512)] == [4, 4, 4, 8]


def test_a_single_row_has_many_columns() -> None:
    assert tiles_of(matrices(1, 32), AVX512)[0].columns == 8


def test_sums_need_not_wait_for_weights_that_are_worked_out() -> None:
    worked_out = replace(matrices(1, 64), computed=True)
    assert [tile.columns for tile in tiles_of(worked_out, AVX2)] == [4, 2]
    assert [tile.columns for tile in tiles_of(worked_out, AVX512)] == [8, 4, 2]
    assert {tile.together for tile in tiles_of(worked_out, AVX512)} == {16}


def test_rows_that_nothing_divides_are_taken_one_by_one() -> None:
    (tile, *_) = tiles_of(matrices(197, 8), AVX512)
    assert (tile.columns, fewest_rows(matrices(197, 8), tile)) == (8, 1)


@given(lanes=st.integers(1, 500), fill=st.sampled_from([4, 8, 16]))
def test_an_widest_vector_divides_its_lanes_and_fits_a_register_it_mostly_fills(lanes: int, fill: int) -> None:
    vector = widest_vector(lanes, fill)
    if vector:
        assert lanes % vector == 0
        assert 1 < vector <= fill
        assert vector == lanes or vector > fill / 3
        assert all(lanes % wider for wider in range(vector + 1, fill + 1))


@pytest.mark.parametrize(
    ("lanes", "vector"),
    [(196, 14), (60, 15), (49, 7), (12, 12), (3, 3), (17, 0), (202, 0), (1, 0), (56, 14), (64, 16), (40, 10)],
)
def test_of_awkward_numbers(lanes: int, vector: int) -> None:
    assert widest_vector(lanes, 16) == vector
