"""Checkpoints of cost models: tensors in safetensors, what they are in the file's JSON header. No code is ever run.

The header holds the format's name and version, the model's name, the feature layout it was built for, facts of the
model (its config, say), the versions of the libraries that wrote it, and a SHA-256 over all of that and the tensors.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tcl_core.batches import FeatureLayout
from tcl_core.errors import UserError

FORMAT = "tcl-studio cost model 1"
_LIBRARIES = ("numpy", "torch", "safetensors", "xgboost", "apache-tvm")


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a file holds.

    Attributes:
        facts: JSON values the model needs before its tensors.
        libraries: versions that made it, which a copy keeps; those of here where it is new. For people, never compared.
        digest: SHA-256 (hex) over the content of what was read; "" before it is written.
    """

    model: str
    layout: FeatureLayout
    facts: Mapping[str, Any]
    tensors: Mapping[str, NDArray[Any]]
    libraries: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write next to `path`, flush to the disk, then rename over it: an old file survives a full disk or a kill.

    Raises:
        UserError: the file cannot be written.
    """
    metadata = {
        "format": FORMAT,
        "model": checkpoint.model,
        "layout": json.dumps(asdict(checkpoint.layout), sort_keys=True),
        "facts": json.dumps(checkpoint.facts, sort_keys=True),
        "libraries": json.dumps(dict(checkpoint.libraries) or _library_versions(), sort_keys=True),
    }
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in checkpoint.tensors.items()}
    data = save(tensors, metadata | {"sha256": _digest(metadata, tensors)})
    try:
        _replace(path, data)
    except OSError as error:
        raise UserError("checkpoint", f"The checkpoint {path} cannot be written: {error.strerror}.") from error


def read_checkpoint(path: Path, model: str | None = None, layout: FeatureLayout | None = None) -> Checkpoint:
    """The checkpoint of `model` for `layout`; None for whichever the file holds.

    Raises:
        UserError: not there, not a checkpoint of this model and layout, truncated or tampered with.
    """
    metadata, tensors = _read(path)
    if metadata.get("format") != FORMAT:
        _refuse(path, "is not a cost model checkpoint of this version")
    digest = metadata.pop("sha256", "")
    if digest != _digest(metadata, tensors):
        _refuse(path, "is damaged: its checksum does not match its content")
    found, found_layout = metadata["model"], FeatureLayout(**json.loads(metadata["layout"]))
    if model is not None and found != model:
        _refuse(path, f"holds the cost model '{found}', not '{model}'")
    if layout is not None and found_layout != layout:
        _refuse(
            path,
            f"was made for feature vocabulary {found_layout.version} ({found_layout.kinds} kinds, {found_layout.fields}"
            f" fields), not {layout.version} ({layout.kinds} kinds, {layout.fields} fields)",
        )
    return Checkpoint(
        model=found,
        layout=found_layout,
        facts=json.loads(metadata["facts"]),
        tensors=tensors,
        libraries=json.loads(metadata["libraries"]),
        digest=digest,
    )


def _read(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    try:
        with safe_open(path, framework="numpy") as file:
            return dict(file.metadata() or {}), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        _refuse(path, "does not exist", "name another")
    except OSError as error:
        _refuse(path, f"cannot be read ({error.strerror or error})", "name another")
    except (SafetensorError, TypeError, KeyError, ValueError):
        # numpy has no type for some of the format's (bfloat16): such a file is not ours either.
        _refuse(path, "is not a checkpoint, or is cut short")


def _library_versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _refuse(path: Path, why: str, mend: str = "delete it or name another") -> NoReturn:
    raise UserError("checkpoint", f"The checkpoint {path} {why}; {mend}.")


def _digest(metadata: Mapping[str, str], tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(dict(metadata), sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)  # mkstemp makes it private
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
