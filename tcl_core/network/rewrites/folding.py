"""Constant folding by onnxruntime, on the ONNX graph.

Its offline optimisation at the BASIC level does what exporters leave undone, with standard operators only: it computes
shape arithmetic (a tracing export's pads and reshapes), folds batch normalisation into convolutions, and drops
identities.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.external_data_helper
import onnx.numpy_helper
import onnxruntime

from tcl_core.errors import UserError
from tcl_core.network.onnx_graph.nodes import replace_nodes
from tcl_core.onnx_weights import LEAST, save_apart
from tcl_core.passing_folders import passing_folder

# It turns every matrix product of rank 3 into reshape, Gemm and reshape, which splits TVM's fused functions: 15 tasks
# of bert-tiny become 18, and its GELU leaves the matrix product (measured with onnxruntime 1.31).
_HARMFUL = ["MatMulAddFusion"]

_COPIES = 2
_GRAPH_BYTES = 1 << 20
"""Of what is no weight; and a disk with less than that is as good as full."""

_ERRORS_ONLY = 3
_OF_FOLDING = {
    "disable_prepacking": "1",  # nothing is run
    "optimized_model_external_initializers_file_name": "weights",
    "optimized_model_external_initializers_min_size_in_bytes": str(4 * LEAST),
}


@dataclass(frozen=True, kw_only=True)
class Simplified:
    """A simplified model.

    Attributes:
        model: `onnx.ModelProto`; None where there is none, and `problem` says why.
        empty: names of nodes that compute a tensor without elements.
    """

    model: Any
    problem: str = ""
    empty: tuple[str, ...] = ()


def fold_constants(model: Any) -> Simplified:
    """A copy of a model with static inputs as onnxruntime folds it, in operators of the standard and of its own.

    It leaves open where a constant is not zero, of which exporters make masks and ranges.

    Raises:
        UserError: the temporary folder has no room for it. What is not folded has other tasks, and no library could be
            linked there either.
    """
    made = _fold(model)
    while made.model is not None and _find_places(made.model.graph):
        made = _fold(made.model)
    return made


def _find_places(graph: Any) -> bool:
    """Whether there was a `NonZero` of a constant that has places; they are constants now, in place."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    given = {value.name for value in graph.output}
    found: dict[str, Any] = {}
    for node in graph.node:
        if node.op_type == "NonZero" and node.input[0] in constants and node.output[0] not in given:
            places = np.array(np.nonzero(onnx.numpy_helper.to_array(constants[node.input[0]])), np.int64)
            if places.size:
                found[node.output[0]] = onnx.numpy_helper.from_array(places, node.output[0])
    if found:
        replace_nodes(graph, [node for node in graph.node if node.output[0] not in found])
        graph.initializer.extend(found.values())
    return bool(found)


def _fold(model: Any) -> Simplified:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = 1
    for name, value in _OF_FOLDING.items():
        options.add_session_config_entry(f"session.{name}", value)
    with passing_folder("simplify") as folder:
        given, path = Path(folder) / "given.onnx", Path(folder) / "model.onnx"
        options.optimized_model_filepath = str(path)
        try:
            save_apart(model, given)
            onnxruntime.InferenceSession(
                str(given), options, providers=["CPUExecutionProvider"], disabled_optimizers=_HARMFUL
            )
        except Exception as error:  # noqa: BLE001  # a full disk, and a dozen pybind types with no common base
            _require_room(model, Path(folder))
            return Simplified(model=None, problem=str(error).splitlines()[0])
        folded = onnx.load(str(path), load_external_data=False)
        if _parts(folded.graph) == _parts(model.graph):
            # It writes down defaults, and another order, of what it leaves as it is. A new message: the memory of what
            # a message is overwritten with is added to its own.
            folded = onnx.ModelProto()
            folded.CopyFrom(model)
        else:
            onnx.external_data_helper.load_external_data_for_model(folded, folder)
    _forget_unused_opsets(folded)
    return Simplified(model=folded)


def _require_room(model: Any, folder: Path) -> None:
    """Refuse what did not fit: the model as it was given and as it is written down folded."""
    needed = _COPIES * sum(tensor.ByteSize() for tensor in model.graph.initializer) + _GRAPH_BYTES
    written = sum(file.stat().st_size for file in folder.iterdir())
    free = shutil.disk_usage(folder).free + written
    if free < needed:
        raise UserError(
            "network",
            f"The network takes {needed / 2**20:,.0f} MiB in '{folder.parent}' while it is simplified, and "
            f"{free / 2**20:,.0f} MiB are free there; free some space, or name another folder in TMPDIR.",
        )


def _parts(graph: Any) -> tuple[list[Any], list[str]]:
    """What tells graphs apart that one may have been made of the other: nodes and names of initializers."""
    nodes = sorted((node.name, node.op_type, list(node.input), list(node.output)) for node in graph.node)
    return nodes, sorted(tensor.name for tensor in graph.initializer)


def _forget_unused_opsets(model: Any) -> None:
    """Drop what onnxruntime adds: it imports all of its own domains, used or not."""
    used = {node.domain for node in model.graph.node} | {""}
    kept = [entry for entry in model.opset_import if entry.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)
