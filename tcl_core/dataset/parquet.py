"""A dataset as a folder of Parquet files, written whole or not at all, and refused in one sentence where it is damaged.

Reading checks each file's schema version, its pages' checksums, that the files belong together (their content has the
digest they name), and that nothing is named that is not there.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tcl_core.dataset.base import Dataset
from tcl_core.dataset.consistency import first_fault
from tcl_core.dataset.digest import content_digest
from tcl_core.dataset.schema import DIGEST_KEY, SCHEMAS, VERSION, VERSION_KEY, file_name
from tcl_core.dataset.tables import from_tables, to_tables
from tcl_core.destinations import check_folder
from tcl_core.errors import UserError, first_line

_MEND = "make it again with packaging/make_dataset.py, or restore it from a copy"
_LEVEL = 15
"""zstd's level: a dataset is written once and read many times; the levels beyond gain a percent."""


def write_dataset(directory: Path, dataset: Dataset) -> None:
    """Write the folder `directory`, or replace the dataset in it; other files in it stay.

    Everything is written next to it first and then takes its place, so an old dataset survives a full disk. A group
    without records or sketches is not kept.

    Raises:
        UserError: the dataset is not whole (see `consistency`), or the folder is none or cannot be written.
    """
    fault = first_fault(dataset)
    if fault is not None:
        raise _refusal(f"The dataset for {directory} is not whole: {fault}; collect its records again.")
    directory = directory.resolve()
    check_folder(directory, "dataset")
    tables = to_tables(dataset)
    staging = directory.with_name(f".{directory.name}.{uuid.uuid4().hex}")
    try:
        staging.mkdir(parents=True)
        try:
            _write_tables(staging, tables, content_digest(dataset))
            _take_place(staging, directory)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise _refusal(
            f"The dataset {directory} cannot be written ({error.strerror or error}); free some space or check its "
            "permissions, and try again: what was there before is still there."
        ) from error


def read_dataset(directory: Path) -> Dataset:
    """Read the folder `directory`.

    Raises:
        UserError: nothing there, not Parquet, truncated, changed, of another schema version, or not whole.
    """
    tables, digests = {}, set()
    for name in SCHEMAS:
        tables[name] = _read_table(directory, name)
        digests.add((tables[name].schema.metadata or {}).get(DIGEST_KEY, b"").decode(errors="replace"))
    try:
        dataset = from_tables(sorted(digests)[0], tables)
    except ValueError as error:
        raise _refusal(f"The dataset {directory} is damaged ({first_line(error)}); {_MEND}.") from error
    fault = first_fault(dataset)
    if fault is not None:
        raise _refusal(f"The dataset {directory} is not whole: {fault}; {_MEND}.")
    if digests != {content_digest(dataset)}:
        raise _refusal(
            f"The files of the dataset {directory} do not belong together or were changed since it was made; {_MEND}."
        )
    return dataset


def _refusal(sentence: str) -> UserError:
    return UserError("dataset", sentence)


def _write_tables(folder: Path, tables: Mapping[str, Any], digest: str) -> None:
    """Write and flush to the disk."""
    metadata = {VERSION_KEY: str(VERSION).encode(), DIGEST_KEY: digest.encode()}
    for name, table in tables.items():
        path = folder / file_name(name)
        pq.write_table(
            table.replace_schema_metadata(metadata),
            path,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=True,
            write_page_checksum=True,
        )
        with path.open("rb+") as file:
            os.fsync(file.fileno())


def _take_place(staging: Path, directory: Path) -> None:
    """Rename the new folder over the old one, in two steps: a folder cannot be replaced in one.

    A kill between them leaves the old folder under the name ending in ".previous".
    """
    if not directory.exists():
        staging.rename(directory)
        return
    previous = staging.with_name(f"{staging.name}.previous")
    directory.rename(previous)
    try:
        staging.rename(directory)
    except OSError:
        previous.rename(directory)
        raise
    ours = {file_name(name) for name in SCHEMAS}
    for entry in previous.iterdir():
        if entry.name not in ours:
            entry.rename(directory / entry.name)
    shutil.rmtree(previous, ignore_errors=True)


def _read_table(directory: Path, name: str) -> Any:
    path = directory / file_name(name)
    if not path.is_file():
        raise _refusal(
            f"There is no dataset in {directory} ({path.name} is missing); name the folder of a dataset, or make one "
            "with packaging/make_dataset.py."
        )
    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read()
    except (pa.ArrowException, OSError) as error:
        raise _refusal(f"{path} is not a whole Parquet file ({first_line(error)}); {_MEND}.") from error
    version = (table.schema.metadata or {}).get(VERSION_KEY, b"none").decode(errors="replace")
    if version != str(VERSION):
        raise _refusal(
            f"{path} has dataset schema {version} and this version reads {VERSION}; update TCL Studio, or make the "
            "dataset again with packaging/make_dataset.py."
        )
    if not table.schema.equals(SCHEMAS[name]):
        raise _refusal(f"{path} has other columns than dataset schema {VERSION}; {_MEND}.")
    return table
