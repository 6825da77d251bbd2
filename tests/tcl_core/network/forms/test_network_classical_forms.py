"""Operators of classical learning: what onnxruntime makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from tests.tcl_core.network.contributed_cases import Case, X, agree, floats, refused, whole

DOMAIN, INT64 = "ai.onnx.ml", onnx.TensorProto.INT64
ROWS = {X: floats(6, 4)}
SOME_MISSING = {X: np.where(floats(6, 4) > 0.5, np.nan, floats(6, 4)).astype(np.float32)}
GREATEST = {X: np.float32([[1, -3, 2], [-1, -2, -4], [0, 0, 0], [-5, 0, -2]])}
"""Above zero, below and at it."""
WEIGHTS = floats(3, 4).ravel().tolist()
LABELS = {"classlabels_ints": [7, -2, 5], "coefficients": WEIGHTS, "intercepts": [0.1, 0.2, -0.3]}


def of(operator: str, given: dict[str, Any], **attributes: Any) -> Case:
    return Case(operator, given, domain=DOMAIN, **attributes)


def picked(value: Any, places: Any) -> Case:
    types = {"y": onnx.helper.np_dtype_to_tensor_dtype(value.dtype)}
    return of("ArrayFeatureExtractor", {"table": value, X: places}, constants=["table"], types=types)


def told(**attributes: Any) -> Case:
    return of("LinearClassifier", ROWS, results=("y", "scores"), types={"y": INT64}, **attributes)


@pytest.mark.parametrize(
    "case",
    [
        of("Scaler", ROWS, offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5, 2.0, 1.0, -1.0]),
        of("Scaler", {X: whole(3, 4, dtype=np.int64)}, offset=[1.0], scale=[0.5]),
        of("Normalizer", ROWS, norm="L1"),
        of("Normalizer", {X: np.concatenate([floats(2, 4), np.zeros((1, 4), np.float32)])}, norm="L2"),
        of("Normalizer", {X: floats(5)}, norm="L1"),
        of("Normalizer", {X: floats(5)}, norm="L2"),
        of("Normalizer", {X: floats(5)}, norm="MAX"),
        of("Normalizer", GREATEST, norm="MAX"),
        of("Normalizer", GREATEST, norm="MAX", opset=18),
        of("Normalizer", {X: whole(3, 4, low=-9, high=9, dtype=np.int64)}),
        of("Binarizer", ROWS, threshold=0.25),
        of("Imputer", SOME_MISSING, imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan")),
        of("Imputer", {X: np.float32([[1, 2], [2, 3]])}, imputed_value_floats=[9.0], replaced_value_float=2.0),
        of("OneHotEncoder", {X: whole(5, 2, high=4, dtype=np.int64)}, cats_int64s=[0, 2, 3]),
        of("OneHotEncoder", {X: np.float32([[0, 1], [2, 3]])}, cats_int64s=[3, 1]),
        of("LinearRegressor", ROWS, coefficients=WEIGHTS, intercepts=[0.1, 0.2, -0.3], targets=3),
        of("LinearRegressor", ROWS, coefficients=WEIGHTS[:4]),
        told(**LABELS),
        told(**LABELS, post_transform="SOFTMAX", multi_class=1),
        told(**LABELS, post_transform="LOGISTIC"),
        picked(np.array([4, -1, 9]), whole(5, high=3, dtype=np.int64)),
        picked(floats(3, 7), np.array([6, 0])),
    ],
    ids=repr,
)
def test_results_are_onnxruntimes(tools: Any, case: Case) -> None:
    agree(tools, case)


@pytest.mark.parametrize(
    "case",
    [
        of("Normalizer", {X: floats(2, 3, 4)}, norm="MAX"),
        of("LinearRegressor", ROWS, coefficients=WEIGHTS[:4], post_transform="PROBIT"),
        of("OneHotEncoder", {X: whole(5, 2, high=4, dtype=np.int64)}, cats_int64s=[0, 1, 2, 3], zeros=0),
    ],
    ids=repr,
)
def test_other_forms_are_refused_by_name(tools: Any, case: Case) -> None:
    refused(tools, case)
