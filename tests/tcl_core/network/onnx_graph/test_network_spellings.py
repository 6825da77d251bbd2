"""The default domain by its longer name, and weights without their zeros: read as onnxruntime reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.load import load_network
from tests.tcl_core.network.test_network_load import refusal

VALUES = np.array([1.0, -2.0, 3.0], np.float32)
COUNTED, BY_AXIS = np.array([0, 5, 11]), np.array([[0, 0], [1, 2], [3, 2]])
"""The same places of a [4, 3]."""


def sparse(tools: Any, places: Any) -> Any:
    return onnx.helper.make_sparse_tensor(tools.tensor("w", VALUES), tools.tensor("places", places), [4, 3])


def in_graph(tools: Any, places: Any) -> Any:
    model = tools.dense()
    del model.graph.initializer[:]
    model.graph.sparse_initializer.append(sparse(tools, places))
    return model


def in_node(tools: Any, places: Any) -> Any:
    model = tools.dense()
    del model.graph.initializer[:]
    model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["w"], sparse_value=sparse(tools, places)))
    return model


@pytest.mark.parametrize("places", [COUNTED, BY_AXIS], ids=["counted", "by axis"])
@pytest.mark.parametrize("made", [in_graph, in_node])
def test_sparse_weights_are_read(tools: Any, made: Any, places: Any) -> None:
    tools.compared(tools.save(made(tools, places)))


def test_a_sparse_weight_with_places_outside_is_refused(tools: Any) -> None:
    sentence = refusal(tools.save(in_graph(tools, np.array([0, 5, 12]))))
    assert sentence.startswith("A sparse weight in '")
    assert sentence.endswith("; export it again.")


def test_the_default_domain_by_its_longer_name(tools: Any) -> None:
    model = tools.dense()
    for named in (*model.graph.node, *model.opset_import):
        named.domain = "ai.onnx"
    tools.compared(tools.save(model))


def test_of_two_names_of_the_default_domain_the_first_counts(tools: Any) -> None:
    model = tools.dense()
    model.opset_import.append(onnx.helper.make_opsetid("ai.onnx", 9))
    loaded = load_network(tools.save(model), NetworkConfig()).model
    assert [(each.domain, each.version) for each in loaded.opset_import] == [("", 18)]
