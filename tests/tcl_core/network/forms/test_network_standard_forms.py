"""Operators of the standard that the frontend lacks: what onnxruntime makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tcl_core.network.contributed_cases import Case, X, agree, floats, refused

WINDOW = np.hanning(16).astype(np.float32)
SIGNAL = {X: floats(2, 50, 1), "step": np.array(6), "window": WINDOW, "length": np.array(16)}
CONSTANT = ["step", "window", "length"]


def inputs_of(given: dict[str, Any], *order: str) -> list[str]:
    """Names in that order, "" for one that is left out; the last ones of these not at all."""
    names = [name if name in given else "" for name in order]
    while not names[-1]:
        names.pop()
    return names


def transform(shape: tuple[int, ...], *, length: int = 0, axis: int | None = None, **attributes: Any) -> Case:
    given = {X: floats(*shape)}
    given |= {"length": np.array(length)} if length else {}
    if attributes.get("opset", 17) >= 20 and axis is not None:
        given["at"] = np.array(axis)
    elif axis is not None:
        attributes["axis"] = axis
    names = inputs_of(given, X, "length", "at")
    constants = [name for name in given if name != X]
    return Case("DFT", given, names=names, constants=constants, domain="", **attributes)


def cached(batch: int, new: int, places: dict[str, Any], *, axis: int = 2, **attributes: Any) -> Case:
    """Eight entries, of which some are new."""
    sizes = [[batch, 2, 3, 4], [batch, 2, 3, 4]]
    sizes[0][axis], sizes[1][axis] = 8, new
    given = {X: floats(*sizes[0]), "new": floats(*sizes[1]), **places}
    return Case("TensorScatter", given, domain="", opset=24, axis=axis, **attributes)


def blocks(shape: tuple[int, ...], extents: tuple[int, ...], sides: tuple[int, ...], **attributes: Any) -> Case:
    given = {X: floats(*shape), "picture": np.array(extents), "block": np.array(sides)}
    return Case("Col2Im", given, constants=["picture", "block"], domain="", opset=18, **attributes)


def deformed(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    plane: tuple[int, int],
    *,
    bias: bool = False,
    mask: bool = False,
    **attributes: Any,
) -> Case:
    """Offsets of a step or two: some windows reach over the edges."""
    places = kernel[2] * kernel[3] * attributes.get("offset_group", 1)
    given = {X: floats(*shape), "w": floats(*kernel), "offset": floats(shape[0], 2 * places, *plane)}
    given |= {"bias": floats(kernel[0])} if bias else {}
    given |= {"mask": floats(shape[0], places, *plane)} if mask else {}
    names = inputs_of(given, X, "w", "offset", "bias", "mask")
    return Case("DeformConv", given, names=names, constants=["w"], domain="", opset=22, **attributes)


def turned(*shape: int, along: int, constant: bool = False) -> Case:
    """Of lengths of one step and of all of them, too."""
    lengths = np.arange(shape[1 - along]) % shape[along] + 1
    lengths[-1] = shape[along]
    given = {X: floats(*shape), "lengths": lengths}
    axes = {"time_axis": along, "batch_axis": 1 - along}
    return Case("ReverseSequence", given, constants=["lengths"] * constant, domain="", **axes)


CASES = [
    Case("STFT", SIGNAL, constants=CONSTANT, domain=""),
    Case("STFT", SIGNAL, constants=CONSTANT, domain="", onesided=0),
    Case("STFT", {**SIGNAL, X: floats(2, 50)}, constants=CONSTANT, domain=""),
    Case("STFT", SIGNAL, names=[X, "step", "window"], constants=CONSTANT, domain=""),
    Case(
        "STFT",
        {X: floats(1, 40, 1), "step": np.array(5), "length": np.array(15)},
        names=[X, "step", "", "length"],
        constants=["step", "length"],
        domain="",
    ),
    Case("STFT", SIGNAL, constants=["step", "length"], domain=""),
    transform((2, 12, 1)),
    transform((2, 12, 2)),
    transform((2, 12, 1), onesided=1),
    transform((2, 13, 1), onesided=1),
    transform((2, 12, 2), inverse=1),
    transform((2, 12, 1), length=16),
    transform((2, 12, 1), length=9),
    transform((2, 5, 12, 1), axis=1),
    transform((2, 5, 12, 1), axis=2, onesided=1),
    transform((2, 5, 12, 2), axis=1, opset=20),
    transform((2, 5, 12, 2), opset=20),
    transform((2, 7, 2), length=12, axis=1, inverse=1, onesided=1),
    transform((2, 7, 2), length=13, axis=1, inverse=1, onesided=1, opset=20),
    transform((3, 7, 5, 2), length=12, axis=1, inverse=1, onesided=1),
    Case("Compress", {X: floats(4, 5), "which": np.array([1, 0, 1, 1], bool)}, constants=["which"], domain="", axis=0),
    Case("Compress", {X: floats(4, 5), "which": np.array([0, 0, 1], bool)}, constants=["which"], domain="", axis=-1),
    Case("Compress", {X: floats(2, 3), "which": np.array([0, 1, 0, 0, 1], bool)}, constants=["which"], domain=""),
    Case("LpNormalization", {X: floats(3, 4, 5)}, domain=""),
    Case("LpNormalization", {X: floats(3, 4, 5)}, domain="", axis=1, p=1),
    Case("LpNormalization", {X: floats(3, 4, 5) * np.array([[1], [0], [1], [1]], np.float32)}, domain="", opset=18),
    Case("RMSNormalization", {X: floats(3, 4), "scale": floats(3, 4)}, domain="", opset=23, axis=0, epsilon=0.1),
    Case("RMSNormalization", {X: floats(5), "scale": floats(5)}, domain="", opset=23),
    Case("RMSNormalization", {X: floats(1, 5), "scale": floats(1, 5)}, domain="", opset=23, axis=0),
    Case("RMSNormalization", {X: floats(3, 4), "scale": floats(4)}, domain="", opset=23),
    Case("RMSNormalization", {X: floats(2, 3, 4), "scale": floats(1)}, domain="", opset=23),
    Case("RMSNormalization", {X: floats(2, 3, 4), "scale": floats(4)}, domain="", opset=23, axis=1),
    Case("RMSNormalization", {X: floats(2, 3, 4), "scale": floats(3, 1)}, domain="", opset=23, axis=0),
    Case("RMSNormalization", {X: floats(2, 3, 4), "scale": floats(1)}, constants=["scale"], domain="", opset=23),
    cached(1, 3, {"at": np.array([2])}),
    cached(1, 3, {"at": np.array([6])}, mode="circular"),
    cached(2, 1, {"at": np.array([2, 5])}),
    cached(2, 1, {"at": np.array([2, 13])}, mode="circular"),
    cached(1, 3, {}),
    cached(1, 2, {"at": np.array([4])}, axis=1),
    blocks((2, 12, 12), (4, 5), (2, 2)),
    blocks((1, 27, 49), (14, 14), (3, 3), strides=[2, 2], pads=[1, 1, 1, 1]),
    blocks((1, 12, 9), (9, 8), (2, 3), strides=[3, 2], dilations=[2, 2], pads=[0, 1, 1, 0]),
    blocks((1, 8, 4), (6, 7), (2, 2), strides=[3, 3]),
    blocks((1, 6, 5), (11,), (3,), strides=[2]),
    blocks((1, 16, 12), (3, 4, 3), (2, 2, 2)),
    deformed((1, 4, 7, 9), (5, 4, 3, 3), (7, 9), pads=[1, 1, 1, 1], bias=True, mask=True),
    deformed((2, 16, 8, 8), (6, 8, 2, 3), (4, 2), strides=[2, 2], dilations=[1, 2], group=2, offset_group=2, mask=True),
    turned(5, 3, 4, along=0),
    turned(3, 5, 4, along=1),
    turned(3, 5, 2, 4, along=1, constant=True),
    turned(4, 6, along=0, constant=True),
    deformed((1, 16, 6, 5), (16, 1, 3, 3), (6, 5), pads=[1, 1, 1, 1], group=16),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_are_onnxruntimes(tools: Any, case: Case) -> None:
    agree(tools, case)


@pytest.mark.parametrize(
    "case",
    [
        Case("STFT", SIGNAL, constants=["window", "length"], domain=""),
        Case("STFT", {**SIGNAL, X: floats(2, 50, 2)}, constants=CONSTANT, domain="", onesided=0),
        Case("DFT", {X: floats(2, 12, 1), "length": np.array(8)}, domain=""),
        transform((2, 7, 2), inverse=1, onesided=1, opset=20),
        transform((2, 7, 2), length=16, inverse=1, onesided=1),
        transform((2, 7, 1), length=12, inverse=1, onesided=1),
        cached(2, 3, {"at": np.array([2, 5])}),
    ],
    ids=repr,
)
def test_other_forms_are_refused_by_name(tools: Any, case: Case) -> None:
    refused(tools, case)
