"""Checkpoints of cost models: tensors in safetensors, what they are in the file's JSON header. No code is ever run.

The header holds the format's name and version, the model's name, the feature layout it was built for, facts of the
model (its config, say), the versions of the libraries that wrote it, and a SHA-256 over all of that and the tensors.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from stat import S_ISREG
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tcl_core.batches import FeatureLayout
from tcl_core.errors import UserError

FORMAT = "tcl-studio cost model 1"
_MOST = 2**31 - 1
_LEVELS = 32
"""Lists and objects inside each other; an origin's platform has five. How many Python can read and write depends on
who asks."""
_LIBRARIES = ("numpy", "torch", "safetensors", "xgboost", "xgboost-cpu", "apache-tvm")


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
    """Write next to `path`, flush to the disk, then rename over it.

    Raises:
        UserError: the file cannot be written.
    """
    metadata = {
        "format": FORMAT,
        "model": checkpoint.model,
        "layout": json.dumps(asdict(checkpoint.layout), sort_keys=True),
        "facts": json.dumps(checkpoint.facts, sort_keys=True),
        "libraries": json.dumps(dict(checkpoint.libraries) or library_versions(), sort_keys=True),
    }
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in checkpoint.tensors.items()}
    data = save(tensors, metadata | {"sha256": _digest(metadata, tensors)})
    write_whole(path, data)


def write_whole(path: Path, data: bytes) -> None:
    """The bytes of a checkpoint, all or none: an old file at `path` survives a full disk or a kill.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        _replace(path, data)
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> UserError:
    """What a person gets where the system does not take a checkpoint at `path`."""
    return UserError(
        "checkpoint",
        f"The checkpoint {path} cannot be written ({error.strerror or error}); see to the permissions and the free "
        "space there, or write it elsewhere.",
    )


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
        _refuse(path, "is damaged: its checksum does not match its content", "delete it or name another")
    checkpoint = _told(path, metadata, tensors, digest)
    found, found_layout = checkpoint.model, checkpoint.layout
    if model is not None and found != model:
        _refuse(path, f"holds the cost model '{found}', not '{model}'")
    if layout is not None and found_layout != layout:
        _refuse(
            path,
            f"was made for feature vocabulary {found_layout.version} ({found_layout.kinds} kinds, {found_layout.fields}"
            f" fields), not {layout.version} ({layout.kinds} kinds, {layout.fields} fields)",
        )
    return checkpoint


def whole_number(path: Path, checkpoint: Checkpoint, fact: str) -> int:
    """A fact of a checkpoint that was read from `path`.

    Raises:
        UserError: it is not there, or is no number that we write: the file is another program's.
    """
    found = checkpoint.facts.get(fact)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _MOST:
        _refuse(path, f"does not say its '{fact}', a whole number from 0 to {_MOST}")
    return found


def _told(path: Path, metadata: Mapping[str, str], tensors: Mapping[str, NDArray[Any]], digest: str) -> Checkpoint:
    """What a file says of itself. Whoever else writes files of this format may leave something out."""
    try:
        facts, libraries = _values(metadata["facts"]), _values(metadata["libraries"])
        layout = FeatureLayout(**_values(metadata["layout"]))
        if not all(isinstance(size, int) for size in asdict(layout).values()):
            raise TypeError("a layout is of whole numbers")
        return Checkpoint(
            model=metadata["model"],
            layout=layout,
            facts=dict(facts),
            tensors=tensors,
            libraries=dict(libraries),
            digest=digest,
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        _refuse(path, "does not say what it holds")


def _values(text: str) -> Any:
    """JSON values that can be written as JSON again, shown and kept: none is NaN, and every text is Unicode.

    Raises:
        ValueError, RecursionError: they are not.
    """
    values = json.loads(text)
    json.dumps(values, allow_nan=False, ensure_ascii=False).encode()
    if not _is_shallow(values, _LEVELS):
        raise ValueError(f"nested more than {_LEVELS} deep")
    return values


def _is_shallow(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


def _read(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    try:
        _require_readable(path)
        with safe_open(path, framework="numpy") as file:
            return dict(file.metadata() or {}), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        _refuse(path, "does not exist")
    except OSError as error:
        _refuse(path, f"cannot be read ({error.strerror or error})")
    except (SafetensorError, TypeError, KeyError, ValueError):
        # numpy has no type for some of the format's (bfloat16): such a file is not ours either.
        _refuse(path, "is not a checkpoint, or is cut short")


def _require_readable(path: Path) -> None:
    """What `safe_open` keeps to itself: it says of every file it may not open that there is none, and waits for a pipe.

    Raises:
        OSError: why it cannot be read.
    """
    if not S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a file")
    with path.open("rb"):
        pass


def library_versions() -> dict[str, str]:
    """Versions of the libraries here that a model's answers depend on, by the names they are installed under."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _refuse(path: Path, why: str, mend: str = "name another") -> NoReturn:
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
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
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
