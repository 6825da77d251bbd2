"""Marks for schedule rules: those that nobody knows are gone and nothing warns; those that somebody knows stay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.domain import Task
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.space.design_space import DesignSpace

CPU = {"kind": "llvm", "num-cores": 1}
RULE = "meta_schedule.pool_max"


def pooling(tools: Any) -> Task:
    node = tools.node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    path = tools.save(tools.model([node], [tools.value("x", [1, 4, 8, 8])], [tools.value("y", [1, 4, 4, 4])]))
    config = NetworkConfig()
    (task,) = import_network(load_network(path, config), json.dumps(CPU), config).tasks
    return task


@pytest.fixture
def known_rule() -> Iterator[None]:
    name = f"s_tir.meta_schedule.cpu.{RULE}"
    tvm_ffi.register_global_func(name, lambda schedule, block: [schedule])
    yield
    tvm_ffi.registry.remove_global_func(name)


def test_sketches_come_without_a_warning(tools: Any, capfd: pytest.CaptureFixture[str]) -> None:
    task = pooling(tools)
    assert RULE not in task.module_json
    assert len(DesignSpace(task, json.dumps(CPU)).sketches) > 1  # the usual rules are applied
    assert "Unknown schedule rule" not in capfd.readouterr().err


def test_a_kernel_computes_what_it_did(tools: Any) -> None:
    run = tvm.compile(tvm.ir.load_json(pooling(tools).module_json), tvm.target.Target(CPU))["main"]
    data = np.random.default_rng(0).standard_normal((1, 4, 8, 8)).astype(np.float32)
    result = tvm.runtime.empty((1, 4, 4, 4))
    run(tvm.runtime.tensor(data), result)
    np.testing.assert_array_equal(result.numpy(), data.reshape(1, 4, 4, 2, 4, 2).max(axis=(3, 5)))


@pytest.mark.usefixtures("known_rule")
def test_a_rule_that_is_known_stays(tools: Any) -> None:
    assert RULE in pooling(tools).module_json


def test_a_kernel_without_a_root_can_be_scheduled_and_nothing_warns(
    tools: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    indices = np.array([[0, 2, 1], [1, 0, 2]])
    node = tools.node("ScatterElements", ["x", "i", "u"], ["y"], axis=1, reduction="add")
    inputs = [tools.value("x", [2, 4]), tools.value("u", [2, 3])]
    model = tools.model([node], inputs, [tools.value("y", [2, 4])], [tools.tensor("i", indices)])
    config = NetworkConfig()
    network = import_network(load_network(tools.save(model), config), json.dumps(CPU), config)
    (task,) = network.tasks
    assert len(DesignSpace(task, json.dumps(CPU)).sketches) == 1
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(CPU)), tvm.cpu())
    data, updates = np.ones((2, 4), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = data.copy()
    np.add.at(expected, (np.arange(2)[:, None], indices), updates)
    result = machine["main"](tvm.runtime.tensor(data), tvm.runtime.tensor(updates))
    np.testing.assert_array_equal(result.numpy(), expected)
    assert "pragma" not in capfd.readouterr().err
