"""Inputs fixed to numbers are constants: what follows from them is computed once, and the rest is as onnxruntime's."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.values import fix_values

TARGET = '{"kind": "llvm", "num-cores": 1}'


@pytest.fixture
def masked(tools: Any) -> Any:
    """``y = x * mask / rate``."""
    nodes = [
        tools.node("Cast", ["mask"], ["shown"], to=onnx.TensorProto.FLOAT),
        tools.node("Mul", ["x", "shown"], ["kept"]),
        tools.node("Div", ["kept", "rate"], ["y"]),
    ]
    inputs = [
        tools.value("x", [2, 4]),
        tools.value("mask", [1, 4], onnx.TensorProto.INT64),
        tools.value("rate", []),
    ]
    return tools.model(nodes, inputs, [tools.value("y", [2, 4])])


@pytest.mark.parametrize(("mask", "meant"), [((1.0,), [1, 1, 1, 1]), ((1.0, 0.0, 1.0, 1.0), [1, 0, 1, 1])])
def test_fixed_inputs_are_no_inputs_any_more(tools: Any, masked: Any, mask: tuple[float, ...], meant: Any) -> None:
    path = tools.save(masked)
    config = NetworkConfig(values=(("mask", mask), ("rate", (0.5,))))
    loaded = load_network(path, config)
    assert [spec.name for spec in loaded.network.inputs] == ["x"]
    assert loaded.network.values == config.values
    assert [list(fixed.dims) for fixed in loaded.model.graph.initializer] == [
        [1, 4],
        [],
    ]  # of no axes where it has none
    network = import_network(loaded, TARGET, config, 256)
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target({"kind": "llvm"})), tvm.cpu())
    given = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rate = np.array(0.5, np.float32)
    (expected,) = session.run(None, {"x": given, "mask": np.array([meant], np.int64), "rate": rate})
    np.testing.assert_allclose(machine["main"](tvm.runtime.tensor(given)).numpy(), expected, rtol=1e-6)


def test_a_network_of_other_values_is_another(tools: Any, masked: Any) -> None:
    path = tools.save(masked)
    configs = [NetworkConfig(), *(NetworkConfig(values=(("rate", (rate,)),)) for rate in (1.0, 2.0))]
    assert len({load_network(path, config).network.digest for config in configs}) == 3


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        ("z", (1.0,), "the inputs are 'x', 'mask', 'rate'"),
        ("mask", (1.0, 0.0), "gives 2 numbers for input 'mask', which has 4 (1x4)"),
        ("mask", (0.5,), "a number that int64 does not hold"),
        ("rate", (1e39,), "a number that float32 does not hold"),
    ],
)
def test_what_does_not_fit_is_refused(masked: Any, name: str, numbers: tuple[float, ...], expected: str) -> None:
    with pytest.raises(UserError) as caught:
        fix_values(masked, [(name, numbers)])
    assert expected in str(caught.value)
    assert str(caught.value).endswith(".")


def test_an_input_is_fixed_once(masked: Any) -> None:
    with pytest.raises(UserError, match="--value names 'rate', but the inputs are 'x', 'mask'"):
        fix_values(masked, [("rate", (1.0,)), ("rate", (2.0,))])


def test_a_network_without_another_input_is_refused(tools: Any, masked: Any) -> None:
    config = NetworkConfig(values=(("mask", (1.0,)), ("rate", (1.0,)), ("x", (1.0,))))
    with pytest.raises(UserError, match=r"--value fixes every input, .* leave one of them out"):
        load_network(tools.save(masked), config)


def test_the_fixed_network_is_told_as_such(tools: Any, masked: Any) -> None:
    network = load_network(tools.save(masked), NetworkConfig(values=(("rate", (2.0,)),))).network
    assert dataclasses.replace(network, values=()) != network
