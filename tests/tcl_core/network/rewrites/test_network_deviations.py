"""Deviations of all kinds and along other axes than the last: one norm each, and the same results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import DEVIATION_NORM, GROUP_NORM, LAYER_NORM, OWN, RMS_NORM
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.network.norm_graphs import Graph

TARGET = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 1}'
CHANNELS, EDGE = 16, 4
SHAPE = (2, CHANNELS, EDGE, EDGE + 1)
GENERATOR = np.random.default_rng(0)
CONSTANTS = {
    "scale": GENERATOR.uniform(0.5, 1.5, (CHANNELS, 1, 1)).astype(np.float32),
    "bias": GENERATOR.standard_normal((1, CHANNELS, 1, 1)).astype(np.float32),
    "of_columns": GENERATOR.uniform(0.5, 1.5, EDGE + 1).astype(np.float32),
    "epsilon": np.float32(1e-2),
    "two": np.float32(2),
}
Form = Callable[[Graph], str]


def graph(shape: Sequence[int] = SHAPE, opset: int = 13) -> Graph:
    return Graph(shape, CONSTANTS, opset)


def operators(model: Any, *, on_cpu: bool = True) -> list[tuple[str, str]]:
    return [(node.domain, node.op_type) for node in simplify(model, on_cpu=on_cpu).model.graph.node]


def norms(model: Any) -> list[str]:
    return [operator for domain, operator in operators(model) if domain == OWN]


def agree(tools: Any, model: Any, scale: float = 1.0) -> None:
    config = NetworkConfig()
    network = import_network(load_network(tools.save(model), config), TARGET, config, 256)
    assert not network.report.issues
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(TARGET)), tvm.cpu())
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    data = (scale * (GENERATOR.standard_normal(shape) + 3)).astype(np.float32)
    found = machine["main"](tvm.runtime.tensor(data))
    found = [found] if isinstance(found, tvm.runtime.Tensor) else list(found)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for mine, theirs in zip(found, session.run(None, {"x": data}), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-4, atol=1e-5)


def variance(new: Graph, off: str, *axes: int, keepdims: int = 1) -> str:
    return new.mean(new("Mul", off, off), *axes, keepdims=keepdims)


def of_sample(new: Graph, off: str, axes: tuple[int, ...], shape: Sequence[int]) -> str:
    """As PyTorch's exporter has `var`: without its axes, made a sample's, and reshaped."""
    count = float(np.prod([SHAPE[axis] for axis in axes]))
    total = new("Mul", variance(new, off, *axes, keepdims=0), new.constant(np.float32(count)))
    return new("Reshape", new("Div", total, new.constant(np.float32(count - 1))), new.constant(np.array(shape)))


def weighted(new: Graph, value: str) -> str:
    return new("Add", new("Mul", value, "scale"), "bias")


def convnext(new: Graph) -> str:
    """ConvNeXt's and SAM's own normalisation of channels."""
    off = new("Sub", "x", new.mean("x", 1))
    deviation = new("Sqrt", new("Add", new.mean(new("Pow", off, "two"), 1), "epsilon"))
    return weighted(new, new("Div", off, deviation))


def taken_off_twice(new: Graph) -> str:
    """The mean for the variance and the mean for the result are nodes of their own."""
    off, other = (new("Sub", "x", new.mean("x", 1)) for _ in range(2))
    return weighted(new, new("Div", other, new("Sqrt", new("Add", variance(new, off, 1), "epsilon"))))


def of_a_sample(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x", 1))
    total = new("Add", of_sample(new, off, (1,), (2, 1, EDGE, EDGE + 1)), "epsilon")
    return weighted(new, new("Div", off, new("Sqrt", total)))


def by_root(new: Graph) -> str:
    inverse = new("Reciprocal", new("Sqrt", new("Add", variance(new, "x", 1), "epsilon")))
    return new("Mul", new("Mul", "x", inverse), "scale")


def without_epsilon(new: Graph) -> str:
    return new("Div", "x", new("Sqrt", variance(new, "x", 1)))


def turned(new: Graph) -> str:
    """As onnxruntime leaves it when it moves a transposition to where there is less to move."""
    off = new("Sub", "x", new.mean("x", 1))
    total = new("Add", of_sample(new, off, (1,), (2, EDGE, EDGE + 1, 1)), "epsilon")
    inverse = new("Transpose", new("Reciprocal", new("Sqrt", total)), perm=[0, 3, 1, 2])
    return new("Mul", new("Mul", "x", inverse), "scale")


def epsilon_outside(new: Graph) -> str:
    """As in the annotated transformer."""
    off = new("Sub", "x", new.mean("x", 1))
    deviation = new("Add", new("Sqrt", of_sample(new, off, (1,), (2, 1, EDGE, EDGE + 1))), "epsilon")
    return weighted(new, new("Div", off, deviation))


def length(new: Graph) -> str:
    """As PyTorch's `normalize`."""
    total = new("ReduceL2", "x", axes=[1], keepdims=1)
    least = new("Clip", total, new.constant(np.float32(1e-12)))
    return new("Mul", new("Div", "x", new("Expand", least, new.constant(np.array(SHAPE)))), "scale")


def length_of_sum(new: Graph) -> str:
    total = new("ReduceSum", new("Mul", "x", "x"), new.constant(np.array([1])), keepdims=1)
    return new("Div", "x", new("Max", new("Sqrt", total), new.constant(np.float32(1e-12))))


def of_columns(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x"))
    deviation = new("Add", new("Sqrt", variance(new, off)), "epsilon")
    return new("Mul", new("Div", off, deviation), "of_columns")


CASES: dict[Form, str] = {
    convnext: LAYER_NORM,
    taken_off_twice: LAYER_NORM,
    of_a_sample: LAYER_NORM,
    by_root: RMS_NORM,
    without_epsilon: RMS_NORM,
    turned: DEVIATION_NORM,
    epsilon_outside: DEVIATION_NORM,
    length: DEVIATION_NORM,
    length_of_sum: DEVIATION_NORM,
    of_columns: DEVIATION_NORM,
}


@pytest.mark.parametrize("form", CASES, ids=lambda form: form.__name__)
def test_each_is_one_norm(tools: Any, form: Form) -> None:
    new = graph()
    model = new.model(form(new))
    assert norms(model) == [CASES[form]]
    agree(tools, model)


@pytest.mark.parametrize("form", [convnext, of_a_sample, epsilon_outside], ids=lambda form: form.__name__)
def test_where_axes_are_inputs(tools: Any, form: Form) -> None:
    new = graph(opset=18)
    model = new.model(form(new))
    assert norms(model) == [CASES[form]]
    agree(tools, model)


@pytest.mark.parametrize("axes", [(2, 3), (1, 2, 3)], ids=["each channel", "all of a sample"])
def test_pixels_are_normalised_as_groups(tools: Any, axes: tuple[int, ...]) -> None:
    new = graph()
    off = new("Sub", "x", new.mean("x", *axes))
    total = new("Add", of_sample(new, off, axes, (2, CHANNELS if axes[0] == 2 else 1, 1, 1)), "epsilon")
    model = new.model(weighted(new, new("Div", off, new("Sqrt", total))))
    assert norms(model) == [GROUP_NORM]
    agree(tools, model)


def test_pixels_may_be_laid_in_a_row_for_their_mean(tools: Any) -> None:
    """As style transfer has it, whose scale and bias are another picture's."""
    new = graph()
    row = new("Reshape", "x", new.constant(np.array([2, CHANNELS, EDGE * (EDGE + 1)])))
    aligned = new.constant(np.array([2, CHANNELS, 1, 1]))
    mean = new("Reshape", new.mean(row, 2, keepdims=0), aligned)
    squares = variance(new, new("Sub", row, new.mean(row, 2)), 2, keepdims=0)
    deviation = new("Reshape", new("Sqrt", new("Add", squares, "epsilon")), aligned)
    model = new.model(new("Div", new("Sub", "x", mean), deviation))
    assert norms(model) == [GROUP_NORM]
    agree(tools, model)


def test_a_sample_that_is_all_but_constant_is_kept_from_zero(tools: Any) -> None:
    """Where the least length and what is added to a deviation decide."""
    for form in (length, length_of_sum, epsilon_outside):
        new = graph()
        agree(tools, new.model(form(new)), scale=0)


def along_two(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x", 1, 2))
    return new("Div", off, new("Sqrt", new("Add", variance(new, off, 1, 2), "epsilon")))


def weights_of_columns(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x", 1))
    return new("Mul", new("Div", off, new("Sqrt", new("Add", variance(new, off, 1), "epsilon"))), "of_columns")


def of_squares_elsewhere(new: Graph) -> str:
    """Centred along the channels, and by the root mean square of that along the columns."""
    off = new("Sub", "x", new.mean("x", 1))
    return new("Div", off, new("Sqrt", new("Add", variance(new, off), "epsilon")))


def of_twice_the_mean(new: Graph) -> str:
    off = new("Sub", "x", new("Mul", new.mean("x", 1), "two"))
    return new("Div", off, new("Sqrt", new("Add", variance(new, "x", 1), "epsilon")))


def at_most(new: Graph) -> str:
    total = new("ReduceL2", "x", axes=[1], keepdims=1)
    return new("Div", "x", new("Clip", total, new.constant(np.float32(1e-12)), new.constant(np.float32(1))))


def by_a_number_less(new: Graph) -> str:
    return new("Div", new("Sub", "x", "two"), new("Sqrt", new("Add", variance(new, "x", 1), "epsilon")))


@pytest.mark.parametrize(
    ("form", "found"),
    [
        (along_two, []),
        (weights_of_columns, [LAYER_NORM]),
        (of_squares_elsewhere, [RMS_NORM]),
        (of_twice_the_mean, []),
        (at_most, []),
        (by_a_number_less, []),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_is_none_stays(tools: Any, form: Form, found: list[str]) -> None:
    new = graph()
    model = new.model(form(new))
    assert norms(model) == found
    agree(tools, model)


def test_a_mean_without_its_axis_meets_another(tools: Any) -> None:
    """Of as many rows as columns: what is taken off a column is the mean of a row."""
    new = graph((4, 4))
    off = new("Sub", "x", new.mean("x", keepdims=0))
    model = new.model(new("Div", off, new("Sqrt", new("Add", variance(new, off), "epsilon"))))
    assert norms(model) == [RMS_NORM]
    agree(tools, model)


@pytest.mark.parametrize("others", [(), ("bias", "scale")], ids=["alone", "of three"])
def test_a_maximum_of_other_than_two_is_no_least(tools: Any, others: tuple[str, ...]) -> None:
    new = graph()
    total = new("ReduceL2", "x", axes=[1], keepdims=1)
    least = (new.constant(np.float32(1e-12)), *others) if others else ()
    model = new.model(new("Div", "x", new("Max", total, *least)))
    assert norms(model) == []
    agree(tools, model)


def test_a_root_of_less_than_nothing_is_none(tools: Any) -> None:
    new = graph()
    squares = new("Mul", variance(new, "x", 1), new.constant(np.float32(-1)))
    model = new.model(new("Div", "x", new("Sqrt", new("Add", squares, new.constant(np.float32(100))))))
    assert norms(model) == []
    agree(tools, model)


def test_an_axis_that_passes_another_is_none(tools: Any) -> None:
    """The deviations of rows by those of columns, of pictures as wide as high."""
    new = graph((2, CHANNELS, EDGE, EDGE))
    off = new("Sub", "x", new.mean("x", 1))
    deviation = new("Sqrt", new("Add", variance(new, off, 1), "epsilon"))
    model = new.model(new("Div", off, new("Transpose", deviation, perm=[0, 1, 3, 2])))
    assert norms(model) == []
    agree(tools, model)


@pytest.mark.parametrize("form", [convnext, of_columns], ids=lambda form: form.__name__)
def test_another_target_keeps_those_of_channels_and_of_other_deviations(form: Form) -> None:
    new = graph()
    model = new.model(form(new))
    assert OWN not in {domain for domain, _ in operators(model, on_cpu=False)}
