"""One network, run by TVM or by onnxruntime on arrays by input name; `arrays` gives what came out, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@runtime_checkable
class OwnClock(Protocol):
    """A contender that is not timed by who calls it: between the two lies a network."""

    def seconds(self, least_s: float) -> list[float]:
        """Of single runs in a row that take so long together."""

    def __call__(self) -> Any:
        """Run once."""


Contender = Callable[[], Any] | OwnClock
"""Runs on inputs it was given beforehand, and leaves its results where they are, so that neither way is timed."""

_ERRORS_ONLY, _NOTHING_BUT_FATAL = 3, 4
_EXACT_SUMS = "session.x64quantprecision"


def tvm_contender(library: Any, kind: str, names: Sequence[str], inputs: Mapping[str, Array]) -> Contender:
    """TVM's virtual machine on an executable or a loaded module.

    Args:
        library: `tvm.runtime.Executable`, or path of an exported library.
        kind: "llvm" or "cuda", the device it runs on.
        names: input names in the order of the function's parameters.
    """
    import tvm
    from tvm import relax

    device = tvm.cuda() if kind == "cuda" else tvm.cpu()
    module = tvm.runtime.load_module(str(library)) if isinstance(library, str | Path) else library
    machine = relax.VirtualMachine(module, device)
    main = machine["main"]
    arguments = [tvm.runtime.tensor(inputs[name], device=device) for name in names]

    def run() -> Any:
        result = main(*arguments)
        device.sync()
        return result

    return run


def onnxruntime_contender(model: str, threads: int, inputs: Mapping[str, Array], *, exact: bool = False) -> Contender:
    """The CPU provider of onnxruntime at its default optimisation level.

    Args:
        model: its path.
        exact: with sums of products of bytes that do not saturate. By default two of them share 16 bits on a processor
            without VNNI, where they are quicker and can be cut off (onnxruntime 1.32, `session.x64quantprecision`).
            With products by weights of few bits that do not round their rows to bytes, where a file allows it and where
            it makes them of weights that are scaled first. And with the greatest values in their order, where a file
            leaves it open: any order is right, and another one differs element by element.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    if exact:
        options.log_severity_level = _NOTHING_BUT_FATAL  # who asks for it goes on where it cannot be made
        options.add_session_config_entry(_EXACT_SUMS, "1")
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
        model = _without_leaves(model)
    providers = ["CPUExecutionProvider"]
    try:
        session = onnxruntime.InferenceSession(model, options, providers=providers)
    except Exception:  # one of onnxruntime's dozen pybind types, which have no common base
        if not exact:
            raise
        # Some transformers in pairs it cannot open so (1.32: "Attempt to replace the existing tensor").
        options.add_session_config_entry(_EXACT_SUMS, "0")
        session = onnxruntime.InferenceSession(model, options, providers=providers)
    feed = dict(inputs)

    def run() -> Any:
        return session.run(None, feed)

    return run


def _without_leaves(model: str) -> str:
    """A copy beside the model with no leave to be inexact (`accuracy_level` of onnxruntime's `MatMulNBits`) or in any
    order (`sorted` of `TopK`), in branches and functions either; the model itself where it gives none.
    """
    import onnx

    from tcl_core.onnx_branches import all_nodes

    read = onnx.load(model, load_external_data=False)
    nodes = [each for part in (read.graph, *read.functions) for each in all_nodes(part)]
    lax = [node for node in nodes if any(_is_leave(node, each) for each in node.attribute)]
    for node in lax:
        kept = [each for each in node.attribute if not _is_leave(node, each)]
        del node.attribute[:]
        node.attribute.extend(kept)
    if not lax:
        return model
    copy = Path(model).with_name("exact.onnx")
    onnx.save(read, copy)
    return str(copy)


def _is_leave(node: Any, attribute: Any) -> bool:
    """Whether an attribute of a node is one; the default of both is none."""
    return bool(attribute.name == "accuracy_level" or (node.op_type == "TopK" and attribute.name == "sorted"))


def arrays(result: Any) -> list[Array]:
    """What a contender returned, on the host: an array or a tensor, or a (nested) sequence of them."""
    if hasattr(result, "numpy"):
        return [np.asarray(result.numpy())]
    if isinstance(result, np.ndarray | np.generic):
        return [np.asarray(result)]
    return [array for part in result for array in arrays(part)]
