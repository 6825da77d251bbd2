"""Weights that a model keeps in files of their own: which these are, and into the model with them.

onnx's own loader refuses links; in the cache of Hugging Face each file is one, to a blob in another folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

import onnx
import onnx.external_data_helper as external

from tcl_core.errors import UserError, first_line


def external_files(path: Path, model: Any) -> list[Path]:
    """The external-data files of a model, their links followed, in the order of their names.

    Raises:
        UserError: one is missing or lies outside the model's folder.
    """
    found = {PurePath(os.path.normpath(location)): file for _, location, file in _external_tensors(path, model)}
    return [found[location] for location in sorted(found)]


def load_external(path: Path, model: Any) -> None:
    """Put the weights into the model.

    Raises:
        UserError: a file is missing, outside the model's folder, or ends too early.
    """
    for tensor, _, file in list(_external_tensors(path, model)):
        try:
            content = _read(file, external.ExternalDataInfo(tensor), tensor.name)
        except (OSError, ValueError) as error:
            raise UserError(
                "network", f"The external data of '{path}' cannot be read ({first_line(error)}); copy it again."
            ) from error
        tensor.raw_data = content
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]


def _external_tensors(path: Path, model: Any) -> Iterator[tuple[Any, str, Path]]:
    """Each tensor that is kept elsewhere, with the place as the model names it and the file that this is."""
    for tensor in external._get_all_tensors(model):
        if external.uses_external_data(tensor):
            location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
            yield tensor, location, _find(path, tensor.name, location)


def _find(path: Path, name: str, location: str) -> Path:
    """The file of that name beside the model, or beside the one that the model is a link to.

    A link may lead into these two folders; it may not hand out what lies elsewhere.
    """
    relative = PurePath(os.path.normpath(location))
    inside = not relative.is_absolute() and ".." not in relative.parts
    folders = [Path(os.path.realpath(path.parent)), Path(os.path.realpath(path)).parent]
    files = [file for folder in folders if (file := Path(os.path.realpath(folder / relative))).is_file()]
    for file in files if inside else []:
        if any(file.is_relative_to(folder) for folder in folders):
            return file
    if files or not inside:
        raise UserError(
            "network",
            f"Tensor '{name}' of '{path}' wants the file '{location}' outside the model's folder; put it beside the "
            "model.",
        )
    raise UserError(
        "network", f"'{path}' keeps its weights in '{location}', which is missing; put it beside the model."
    )


def _read(file: Path, info: Any, name: str) -> bytes:
    """The bytes of one tensor; checked before any are read, as a damaged file may ask for any number of them."""
    with file.open("rb") as stream:
        size, start = os.fstat(stream.fileno()).st_size, info.offset or 0
        length = max(0, size - start) if info.length is None else info.length
        if start + length > size:
            raise ValueError(f"tensor '{name}' wants bytes {start:,} to {start + length:,} of {size:,}")
        stream.seek(start)
        content = stream.read(length)
    if len(content) != length:
        raise ValueError(f"tensor '{name}' wants {length:,} bytes, and {len(content):,} came")
    return content
