from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper
import pytest

from tcl_core.errors import UserError
from tests.tcl_core.network.agreement import agree, module_of


def padded(tools: Any, mode: str, pads: list[int], axes: list[int] | None = None) -> Any:
    weights = [tools.tensor("pads", np.array(pads)), *([tools.tensor("axes", np.array(axes))] if axes else [])]
    node = tools.node("Pad", ["x", "pads", *(["", "axes"] if axes else [])], ["y"], name="pad", mode=mode)
    return tools.save(tools.model([node], [tools.value("x", [2, 6])], [tools.value("y", None)], weights, opset=19))


@pytest.mark.parametrize(
    ("mode", "pads"), [("reflect", [5, 5]), ("reflect", [-2, 3]), ("wrap", [6, 3]), ("edge", [9, -1])]
)
def test_what_is_there_is_repeated_behind_it(tools: Any, mode: str, pads: list[int]) -> None:
    agree(padded(tools, mode, pads, [1]), np.arange(12, dtype=np.float32).reshape(2, 6))


@pytest.mark.parametrize(
    ("mode", "pads", "message"),
    [
        ("reflect", [0, 6, 0, 0], "it mirrors more than there is"),
        ("reflect", [0, 0, 2, 0], "it mirrors more than there is"),
        ("wrap", [0, -1, 0, 2], "it cuts off"),
    ],
)
def test_a_pad_that_is_read_otherwise_is_refused_by_name(tools: Any, mode: str, pads: list[int], message: str) -> None:
    with pytest.raises(UserError, match=rf"Node 'pad' \(Pad\) .* {message}"):
        module_of(padded(tools, mode, pads))


def test_a_pad_goes_around_in_opsets_that_have_no_word_for_it(tools: Any) -> None:
    """PyTorch's exporter writes it into opset 18, which onnxruntime takes as it is meant."""
    around = tools.node("Pad", ["x", "pads"], ["y"], mode="wrap")
    weights = [tools.tensor("pads", np.array([0, 1, 0, 2]))]
    model = tools.model([around], [tools.value("x", [2, 4])], [tools.value("y", [2, 7])], weights, opset=18)
    agree(tools.save(model), np.arange(8, dtype=np.float32).reshape(2, 4))


FILLS = {
    "a number": ([1, 0, 2, 1], None, np.float32(2.5)),
    "along one axis": ([1, 2], [-1], np.float32(-np.inf)),
    "where it cuts off, too": ([1, -1, 2, -1], None, np.float32(2.5)),
    "a whole number": ([1, 0, 2, 1], None, np.int64(1 << 40)),
    "a truth": ([1, 0, 2, 1], None, np.bool_(True)),
}


def filled(tools: Any, pads: list[int], axes: list[int] | None, fill: Any, *, mode: str = "constant") -> Any:
    kind = onnx.helper.np_dtype_to_tensor_dtype(fill.dtype)
    weights = [tools.tensor("pads", np.array(pads)), *([tools.tensor("axes", np.array(axes))] if axes else [])]
    node = tools.node("Pad", ["x", "pads", "fill", *(["axes"] if axes else [])], ["y"], name="pad", mode=mode)
    inputs = [tools.value("x", [2, 6], kind), tools.value("fill", [], kind)]
    return tools.save(tools.model([node], inputs, [tools.value("y", None, kind)], weights))


@pytest.mark.parametrize("case", FILLS)
def test_a_pad_is_filled_with_what_comes_in(tools: Any, case: str) -> None:
    """The frontend had no word for it but one of Python's: a 'Var' has no attribute 'value'."""
    pads, axes, fill = FILLS[case]
    data = np.random.default_rng(0).normal(size=(2, 6)).astype(fill.dtype)
    (found,) = agree(filled(tools, pads, axes, fill), data, np.array(fill))
    assert (found == fill).any()


def test_a_pad_that_repeats_passes_over_what_it_would_be_filled_with(tools: Any) -> None:
    data = np.arange(12, dtype=np.float32).reshape(2, 6)
    agree(filled(tools, [1, 0, 2, 1], None, np.float32(7), mode="edge"), data, np.array(7, np.float32))
