"""Where maxima are, and what is put there: as onnxruntime has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.operators import spell_out
from tests.tcl_core.network.contributed_cases import TARGET

HALVED = {"kernel_shape": [2, 2], "strides": [2, 2]}


def pool(
    tools: Any, size: list[int], opset: int = 18, elem_type: int = onnx.TensorProto.FLOAT, **attributes: Any
) -> Any:
    nodes = [tools.node("MaxPool", ["x"], ["y", "places"], name="pool", **attributes)]
    outputs = [tools.value("y", None, elem_type), tools.value("places", None, onnx.TensorProto.INT64)]
    return tools.save(tools.model(nodes, [tools.value("x", size, elem_type)], outputs, opset=opset))


@pytest.mark.parametrize("opset", [11, 22])
@pytest.mark.parametrize(
    ("size", "attributes"),
    [
        ([2, 3, 8, 10], HALVED),
        ([2, 3, 9, 10], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ([1, 3, 9, 10], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        ([1, 3, 9, 10], {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 0, 1, 1]}),
        ([1, 3, 9, 10], {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ([2, 3, 9, 10], {"kernel_shape": [3, 2], "storage_order": 1}),
        ([2, 3, 9], {"kernel_shape": [3], "strides": [2]}),
        ([2, 3, 5, 6, 7], {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "storage_order": 1}),
    ],
)
def test_places_are_those_of_the_first_maxima(
    tools: Any, size: list[int], attributes: dict[str, Any], opset: int
) -> None:
    tools.compared(pool(tools, size, opset, **attributes))


@pytest.mark.parametrize("size", [None, [2, 3, 9, 11]])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 1, 0]])
def test_values_are_put_back_where_the_maxima_were(tools: Any, size: list[int] | None, pads: list[int]) -> None:
    """As networks that segment do: what comes back has the places of an earlier picture."""
    weight = np.random.default_rng(0).uniform(0.5, 1.5, (3, 3, 1, 1)).astype(np.float32)
    given = HALVED | {"pads": pads}
    nodes = [
        tools.node("MaxPool", ["x"], ["small", "places"], **given),
        tools.node("Conv", ["small", "w"], ["c"]),
        tools.node("MaxUnpool", ["c", "places", *(["size"] if size else [])], ["y"], **given),
    ]
    weights = [tools.tensor("w", weight), *([tools.tensor("size", np.array(size))] if size else [])]
    ends = [tools.value("x", size or [2, 3, 8, 10])], [tools.value("y", None)]
    tools.compared(tools.save(tools.model(nodes, *ends, weights)))


def test_what_is_best_so_far_is_read_by_one_maximum_and_one_comparison(tools: Any) -> None:
    """Schedules compute it where it is read: twice in the next one of a window would be 2 ** 35 times in this one's."""
    loaded = load_network(pool(tools, [1, 2, 12, 12], kernel_shape=[6, 6], strides=[6, 6]), NetworkConfig())
    nodes = spell_out(loaded.model).graph.node
    floats = [node for node in nodes if node.op_type in {"Slice", "Max"}]
    readers = {name: [node.op_type for node in nodes if name in node.input] for node in floats for name in node.output}
    assert len(readers) == 36 + 35
    assert all(sorted(each) in (["Greater", "Max"], []) for each in readers.values())


@pytest.mark.parametrize(("opset", "elem_type"), [(10, onnx.TensorProto.FLOAT), (18, onnx.TensorProto.DOUBLE)])
def test_of_other_types_and_before_opset_11_they_are_refused_by_name(tools: Any, opset: int, elem_type: int) -> None:
    path = pool(tools, [1, 2, 8, 8], opset, elem_type, **HALVED)
    with pytest.raises(UserError, match=r"Node 'pool' \(MaxPool\) cannot be imported"):
        import_network(load_network(path, NetworkConfig()), TARGET, NetworkConfig(), 256)
