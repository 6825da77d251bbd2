"""One network, run by TVM or by onnxruntime: arrays in (by input name), arrays out (in order of the outputs)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Contender = Callable[[], list[Array]]
"""Runs on inputs it was given beforehand, so that feeding them is not timed."""

_ERRORS_ONLY = 3


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

    def run() -> list[Array]:
        result = main(*arguments)
        device.sync()
        return _arrays(result)

    return run


def onnxruntime_contender(model: str | bytes, threads: int, inputs: Mapping[str, Array]) -> Contender:
    """The CPU provider of onnxruntime at its default optimisation level.

    Args:
        model: path or serialised `onnx.ModelProto`.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = dict(inputs)

    def run() -> list[Array]:
        return [np.asarray(array) for array in session.run(None, feed)]

    return run


def _arrays(result: Any) -> list[Array]:
    """A tensor, or a (nested) tuple of tensors, copied to the host."""
    if hasattr(result, "numpy"):
        return [np.asarray(result.numpy())]
    return [array for part in result for array in _arrays(part)]
