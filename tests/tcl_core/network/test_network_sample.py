from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.sample import sample_path


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    script = Path(__file__).resolve().parents[3] / "packaging" / "make_sample.py"
    spec = importlib.util.spec_from_file_location("make_sample", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bundled_file_is_what_the_script_makes(maker: ModuleType) -> None:
    assert maker.make_sample() == maker.onnx.load(str(sample_path()))


def test_it_is_small_and_has_what_people_tune() -> None:
    assert sample_path().stat().st_size < 2 << 20
    loaded = load_network(sample_path(), NetworkConfig())
    target = json.dumps({"kind": "llvm", "num-cores": 2})
    network = import_network(loaded, target, NetworkConfig())
    anchors = {task.anchor for task in network.tasks}
    assert {"conv2d_nchw", "group_conv2d_nchw", "matmul", "T_layer_norm"} <= anchors
    assert any("softmax" in task.name for task in network.tasks)
    assert any("erf" in task.name for task in network.tasks)
    assert 10 <= len(network.tasks) <= 18
    assert not network.report.issues


def test_its_activations_stay_in_a_sane_range() -> None:
    session = onnxruntime.InferenceSession(str(sample_path()), providers=["CPUExecutionProvider"])
    images = [np.random.default_rng(seed).standard_normal((1, 3, 64, 64)).astype(np.float32) for seed in range(3)]
    logits = np.concatenate([session.run(None, {"image": image})[0] for image in images])
    assert np.abs(logits).max() < 20
    assert logits.std(axis=0).max() > 1e-3
