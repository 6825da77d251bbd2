"""The tables of a dataset as Parquet: one file each, with the schema's version in its metadata.

A change of any column is a new `VERSION`; a dataset of another version is refused. No column holds nulls but those of
a failure, so that every row says all there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

VERSION: Final = 2
VERSION_KEY: Final = b"tcl-studio-dataset-schema"
DIGEST_KEY: Final = b"tcl-studio-dataset-digest"


def _row(**columns: Any) -> list[Any]:
    return [pa.field(name, kind, nullable=name.startswith("failure_")) for name, kind in columns.items()]


def _list(kind: Any) -> Any:
    return pa.list_(pa.field("element", kind, nullable=False))


_FEATURES = _row(
    cores=pa.int64(),
    vector_bits=pa.int64(),
    l1_bytes=pa.int64(),
    l2_bytes=pa.int64(),
    l3_bytes=pa.int64(),
    peak_flops=pa.float64(),
    bandwidth_bytes_s=pa.float64(),
    multiprocessors=pa.int64(),
    shared_memory_bytes=pa.int64(),
    warp_size=pa.int64(),
)
_STEP = _row(axis=pa.int64(), added=pa.float64())
_DOMAIN = _row(instruction=pa.int64(), kind=pa.string(), values=_list(_list(pa.int64())), literals=_list(pa.float64()))

SCHEMAS: Final[Mapping[str, Any]] = {
    "platforms": pa.schema(
        _row(
            fingerprint=pa.string(),
            name=pa.string(),
            kind=pa.string(),
            target_json=pa.string(),
            threads=pa.int64(),
            runnable=pa.bool_(),
            features=pa.struct(_FEATURES),
        )
    ),
    "networks": pa.schema(
        _row(
            name=pa.string(),
            digest=pa.string(),
            source=pa.string(),
            split=pa.string(),
            weights=_list(pa.struct(_row(task=pa.string(), weight=pa.int64()))),
        )
    ),
    "tasks": pa.schema(
        _row(
            key=pa.string(),
            name=pa.string(),
            weight=pa.int64(),
            module_json=pa.string(),
            flops=pa.float64(),
            bytes_moved=pa.float64(),
            dtype=pa.string(),
            axes=_list(pa.struct(_row(extent=pa.int64(), kind=pa.string()))),
            arguments=_list(pa.struct(_row(name=pa.string(), dtype=pa.string(), shape=_list(pa.int64())))),
            anchor=pa.string(),
            accesses=_list(pa.struct(_row(bytes=pa.float64(), spans=_list(_list(pa.struct(_STEP)))))),
        )
    ),
    "sketches": pa.schema(
        _row(
            task=pa.string(),
            platform=pa.string(),
            sketch=pa.int64(),
            trace_json=pa.string(),
            domains=_list(pa.struct(_DOMAIN)),
        )
    ),
    "records": pa.schema(
        _row(
            task=pa.string(),
            platform=pa.string(),
            position=pa.int64(),
            sketch=pa.int64(),
            decisions=_list(_list(pa.int64())),
            latencies_s=_list(pa.float64()),
            failure_stage=pa.string(),
            failure_cause=pa.string(),
            failure_message=pa.string(),
            cut_off=pa.bool_(),
            repeated_s=_list(pa.float64()),
        )
    ),
}
"""Columns by table; `position` is a record's place in the order of measurement of its task and platform."""


def file_name(table: str) -> str:
    """The file of a table."""
    return f"{table}.parquet"
