"""Where the bundled network lies: small enough to tune in minutes, made by `packaging/make_sample.py`."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def sample_path() -> Path:
    """Path of `resources/sample.onnx`, in a checkout as in an installed package."""
    return Path(str(resources.files("resources") / "sample.onnx"))
