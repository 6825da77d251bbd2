"""`Einsum` as a matrix product: the same results, whatever order the equation has."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.network.rewrites.einsums import as_product

SIZES = dict(zip("abcdefg", (2, 3, 1, 4, 5, 2, 6), strict=True))
OPSET = 17


def node_of(equation: str) -> Any:
    return onnx.helper.make_node("Einsum", ["l", "r"], ["y"], name="sum", equation=equation)


def shapes_of(equation: str) -> dict[str, tuple[int, ...]]:
    left, right = equation.replace(" ", "").partition("->")[0].split(",")
    return {"l": tuple(SIZES[each] for each in left), "r": tuple(SIZES[each] for each in right)}


def compared(equation: str) -> list[str]:
    """The kinds of nodes in its place, after their result was found to be NumPy's."""
    shapes = shapes_of(equation)
    made = as_product(node_of(equation), shapes, OPSET)
    assert made is not None
    nodes, weights = made
    assert [node.name for node in nodes].count("sum") == 1
    inputs = [onnx.helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [onnx.helper.make_tensor_value_info("y", 1, None)], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    data = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    (found,) = session.run(None, data)
    expected = np.einsum(equation.replace(" ", ""), data["l"], data["r"])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    return [node.op_type for node in nodes]


@st.composite
def equations(draw: st.DrawFn) -> str:
    """Of up to seven letters in any order: known to both and kept, summed up, of the left or right alone."""
    letters = draw(st.permutations("abcdefg"))
    batch, summed, rows, columns = (draw(st.integers(least, 2)) for least in (0, 1, 0, 0))
    rows = max(rows, 1 - columns)
    cuts = np.cumsum([batch, summed, rows, columns])
    parts = ["".join(letters[start:end]) for start, end in zip([0, *cuts], cuts, strict=False)]
    left, right, result = parts[0] + parts[1] + parts[2], parts[0] + parts[1] + parts[3], parts[0] + parts[2] + parts[3]
    left, right, result = ("".join(draw(st.permutations(each))) for each in (left, right, result))
    return f"{left},{right}->{result}"


@given(equation=equations())
def test_results_are_numpys(equation: str) -> None:
    assert compared(equation).count("MatMul") == 1


@pytest.mark.parametrize(
    ("equation", "kinds"),
    [
        ("abd,ade->abe", ["MatMul"]),
        ("ade,abd->abe", ["MatMul"]),
        ("abd, aed -> abe", ["Transpose", "MatMul"]),
        ("bd,de", ["MatMul"]),
        ("abd,dge->abge", ["Reshape", "Reshape", "MatMul", "Reshape"]),
    ],
    ids=["as it lies", "turned", "transposed", "without a result named", "axes taken together"],
)
def test_nothing_is_moved_that_lies_as_a_product_reads_it(equation: str, kinds: list[str]) -> None:
    assert compared(equation) == kinds


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("ab,ab->ab", (2, 3), (2, 3)),
        ("a,b->ab", (2,), (3,)),
        ("abd,d->a", (2, 3, 4), (4,)),
        ("aad,de->ae", (2, 2, 4), (4, 5)),
        ("...ad,de->...ae", (2, 3, 4), (4, 5)),
        ("ab,ab->", (2, 3), (2, 3)),
    ],
    ids=["by element", "outer", "summed alone", "a diagonal", "any axes", "one number"],
)
def test_others_stay(equation: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    assert as_product(node_of(equation), {"l": left, "r": right}, OPSET) is None


@pytest.mark.parametrize("shape", [(2, -1), (2, 3), (2,), ()], ids=["open", "other", "of another rank", "unknown"])
def test_of_shapes_that_are_not_known_or_do_not_fit_it_stays(shape: tuple[int, ...]) -> None:
    assert as_product(node_of("ad,de->ae"), {"l": shape, "r": (4, 5)}, OPSET) is None


def test_of_three_tensors_it_stays() -> None:
    node = onnx.helper.make_node("Einsum", ["l", "r", "s"], ["y"], equation="ab,bd,de->ae")
    assert as_product(node, {"l": (2, 3), "r": (3, 4), "s": (4, 5)}, OPSET) is None
