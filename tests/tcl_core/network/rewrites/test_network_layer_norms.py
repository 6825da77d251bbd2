"""Layer normalisations that were spelled out are one node and one kernel again, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import LAYER_NORM, OWN, RMS_NORM
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.network.norm_graphs import Graph

TARGET = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 1}'
ROWS, COLUMNS = 5, 24
GENERATOR = np.random.default_rng(0)
CONSTANTS = {
    "scale": GENERATOR.uniform(0.5, 1.5, COLUMNS).astype(np.float32),
    "bias": GENERATOR.standard_normal((1, 1, COLUMNS)).astype(np.float32),
    "epsilon": np.float32(1e-4),
    "one": np.ones(1, np.float32),
    "two": np.float32(2),
    "half": np.float32(0.5),
    "by_row": GENERATOR.uniform(0.5, 1.5, (ROWS, 1)).astype(np.float32),
}


def new_graph(opset: int = 13) -> Graph:
    return Graph([2, ROWS, COLUMNS], CONSTANTS, opset)


def deviation(new: Graph, off: str, *, by_power: bool = False) -> str:
    square = new("Pow", off, "two") if by_power else new("Mul", off, off)
    total = new("Add", new.mean(square), "epsilon")
    return new("Pow", total, "half") if by_power else new("Sqrt", total)


def pytorch(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x"))
    return new("Add", new("Mul", new("Div", off, deviation(new, off, by_power=True)), "scale"), "bias")


def pytorch_turned(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x", 2))
    return new("Add", "bias", new("Mul", "scale", new("Div", off, deviation(new, off))))


def by_reciprocal(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x"))
    return new("Add", new("Mul", new("Mul", off, new("Reciprocal", deviation(new, off))), "scale"), "bias")


def plain(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x"))
    return new("Div", off, deviation(new, off))


def tensorflow(new: Graph) -> str:
    mean = new.mean("x")
    off = new("Sub", "x", mean)
    factor = new("Mul", new("Reciprocal", deviation(new, off)), "scale")
    return new("Add", new("Mul", "x", factor), new("Sub", "bias", new("Mul", factor, mean)))


def tensorflow_unscaled(new: Graph) -> str:
    mean = new.mean("x")
    factor = new("Div", "one", deviation(new, new("Sub", "x", mean)))
    return new("Add", new("Sub", "bias", new("Mul", mean, factor)), new("Mul", factor, "x"))


def llama(new: Graph) -> str:
    return new("Mul", "scale", new("Mul", "x", new("Div", "one", deviation(new, "x", by_power=True))))


def scaled_first(new: Graph) -> str:
    return new("Mul", new("Mul", "scale", "x"), new("Reciprocal", deviation(new, "x")))


def scaled_deviation(new: Graph) -> str:
    return new("Mul", "x", new("Mul", new("Reciprocal", deviation(new, "x")), "scale"))


def divided(new: Graph) -> str:
    return new("Div", "x", deviation(new, "x"))


LAYER = (pytorch, pytorch_turned, by_reciprocal, plain, tensorflow, tensorflow_unscaled)
BY_ROOT = (llama, scaled_first, scaled_deviation, divided)
Form = Callable[[Graph], str]


def operators(model: Any) -> list[tuple[str, str]]:
    simplified = simplify(model, on_cpu=True).model
    return [(node.domain, node.op_type) for node in simplified.graph.node]


def imported(tools: Any, model: Any) -> ImportedNetwork:
    config = NetworkConfig()
    return import_network(load_network(tools.save(model), config), TARGET, config, 256)


def agree(tools: Any, model: Any) -> None:
    machine = relax.VirtualMachine(tvm.compile(imported(tools, model).module, tvm.target.Target(TARGET)), tvm.cpu())
    data = (GENERATOR.standard_normal((2, ROWS, COLUMNS)) + 3).astype(np.float32)
    found = machine["main"](tvm.runtime.tensor(data))
    found = [found] if isinstance(found, tvm.runtime.Tensor) else list(found)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for mine, theirs in zip(found, session.run(None, {"x": data}), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", [*LAYER, *BY_ROOT], ids=lambda form: form.__name__)
def test_each_way_of_writing_it_is_one_node_and_one_kernel(tools: Any, form: Form) -> None:
    new = new_graph()
    model = new.model(form(new))
    assert operators(model) == [(OWN, LAYER_NORM if form in LAYER else RMS_NORM)]
    network = imported(tools, model)
    assert [task.weight for task in network.tasks] == [1]
    assert {node.domain for node in network.simplified().graph.node} == {""}
    agree(tools, model)


def test_shape_inference_takes_a_model_with_one(tools: Any) -> None:
    """It refuses a domain that is not imported, and whoever refuses an operator behind the norm asks it."""
    new = new_graph()
    model = new.model(new("Add", new("Mul", "scale", pytorch(new)), "bias"))
    simplified = simplify(model).model
    assert (OWN, LAYER_NORM) in {(node.domain, node.op_type) for node in simplified.graph.node}
    onnx.shape_inference.infer_shapes(simplified)


@pytest.mark.parametrize("opset", [11, 17, 18])
@pytest.mark.parametrize("form", [pytorch, tensorflow, llama], ids=lambda form: form.__name__)
def test_in_other_opsets(tools: Any, opset: int, form: Form) -> None:
    new = new_graph(opset)
    model = new.model(form(new))
    assert len(imported(tools, model).tasks) == 1
    agree(tools, model)


def test_one_after_the_other(tools: Any) -> None:
    new = new_graph()
    first = pytorch(new)
    off = new("Sub", first, new.mean(first))
    second = new("Mul", new("Div", off, deviation(new, off)), "scale")
    model = new.model(second)
    assert operators(model) == [(OWN, LAYER_NORM)] * 2
    agree(tools, model)


def test_a_sum_behind_one_by_the_root_mean_square_is_one(tools: Any) -> None:
    new = new_graph()
    model = new.model(new("Add", llama(new), "bias"))
    assert operators(model) == [(OWN, RMS_NORM), ("", "Add")]
    agree(tools, model)


def test_what_something_else_reads_is_still_there(tools: Any) -> None:
    new = new_graph()
    mean = new.mean("x")
    off = new("Sub", "x", mean)
    model = new.model(new("Div", off, deviation(new, off)), mean, new("Mul", off, "scale"))
    assert operators(model).count((OWN, LAYER_NORM)) == 1
    agree(tools, model)


def of_what_is_off_another_mean(new: Graph) -> str:
    off = new("Sub", "x", new.mean("x", 1))
    return new("Div", off, deviation(new, off))


def of_another_value(new: Graph) -> str:
    other = new("Exp", "x")
    off = new("Sub", "x", new.mean(other))
    return new("Div", off, new("Sqrt", new("Add", new.mean(new("Mul", other, other)), "epsilon")))


def by_anothers_deviation(new: Graph) -> str:
    return new("Div", "x", deviation(new, new("Exp", "x")))


def scaled_by_row(new: Graph) -> str:
    return new("Mul", divided(new), "by_row")


def cubed(new: Graph) -> str:
    return new("Div", "x", new("Sqrt", new("Add", new.mean(new("Mul", "x", new("Abs", "x"))), "epsilon")))


@pytest.mark.parametrize(
    ("form", "found"),
    [
        (of_what_is_off_another_mean, 1),
        (of_another_value, 0),
        (by_anothers_deviation, 0),
        (scaled_by_row, 1),
        (cubed, 0),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_what_only_looks_like_one_stays(tools: Any, form: Form, found: int) -> None:
    new = new_graph()
    model = new.model(form(new))
    assert [domain for domain, _ in operators(model)].count(OWN) == found
    agree(tools, model)


def test_what_has_no_axis_is_none(tools: Any) -> None:
    new = new_graph()
    total = new("ReduceSum", "x", keepdims=0)
    agree(tools, new.model(new("Add", new("Mul", total, "half"), "epsilon")))


def test_of_other_types_it_stays() -> None:
    new = new_graph()
    model = new.model(pytorch(new), elem_type=onnx.TensorProto.DOUBLE)
    assert OWN not in {domain for domain, _ in operators(model)}
