"""Names of a network's inputs in TVM."""

from __future__ import annotations

import warnings

from onnx import TensorProto, helper
from tvm.relax.frontend.onnx import from_onnx

from tcl_core.onnx_names import names_as_identifiers


def parameters(*names: str) -> list[str]:
    """Of the function that adds up inputs of these names."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in names]
    output = helper.make_tensor_value_info("sum", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Sum", list(names), ["sum"])], "sum", inputs, [output])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the frontend warns of each renamed input
        module = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    return [variable.name for variable in module["main"].params]


def test_they_are_distinct_identifiers_in_the_order_of_the_inputs() -> None:
    with names_as_identifiers():
        found = parameters("gpu_0/data_0", "gpu_0.data_0", "x", "1:in put", "große")
    assert all(name.isidentifier() and name.isascii() for name in found)
    assert len(set(found)) == 5
    assert found[0] == "gpu_0_data_0" and found[2] == "x"


def test_the_frontend_is_as_it_was_afterwards() -> None:
    """Fails when TVM makes identifiers of names itself: `onnx_names` can go then."""
    with names_as_identifiers():
        pass
    assert parameters("gpu_0/data_0") == ["gpu_0/data_0"]
