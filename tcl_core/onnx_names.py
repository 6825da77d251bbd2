"""ONNX networks into TVM under names that every code generator can write.

TVM 0.27's ONNX frontend replaces the dots in an input's name, and no other character, and its CUDA code generator names
a kernel's argument after it: an input "gpu_0/data_0" does not compile. LLVM does not mind. This can go when the
frontend makes identifiers of names.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter


@contextlib.contextmanager
def names_as_identifiers() -> Iterator[None]:
    """Within the block the frontend gives a network's inputs distinct names that are identifiers in C."""
    before = ONNXGraphImporter._sanitize_name

    def sanitize(importer: Any, name: str) -> str:
        return str(before(importer, re.sub(r"\W", "_", name, flags=re.ASCII)))

    ONNXGraphImporter._sanitize_name = sanitize
    try:
        yield
    finally:
        ONNXGraphImporter._sanitize_name = before
