"""What the benches run on: one 3x3 convolution with bias and ReLU, 256 channels at 14x14, as ResNets have it; or what
a person names.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tcl_core.config import NetworkConfig

NETWORK = "one 3x3 convolution, 256 channels, 14x14, with bias and ReLU, float32"
SUBJECT = "one 3x3 convolution, summed directly, 256 channels, 14x14, with bias and ReLU, float32"
IMPORTED = NetworkConfig(winograd=False)
"""How `SUBJECT` is imported: as the one task that all peers can tune."""
_SHOWN = 8
"""Digits of a digest: nobody has files of one name by the billion."""


def in_words(name: str, digest: str) -> str:
    """A network by its name and content: figures of another file of that name are not to be compared with its own."""
    return f"{name} ({digest[:_SHOWN]})"


def write_convolution(folder: Path) -> Path:
    """Write the one-convolution network into a folder."""
    generator = np.random.default_rng(0)
    weight = (generator.standard_normal((256, 256, 3, 3)) / 48).astype(np.float32)
    bias = generator.standard_normal(256).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "weight", "bias"], ["c"], name="conv", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["y"], name="relu"),
        ],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 256, 14, 14])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256, 14, 14])],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    path = folder / "convolution.onnx"
    onnx.save(model, path)
    return path
