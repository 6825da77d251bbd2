"""The dataset: records of many tasks on several platforms, one folder of Parquet files that cost models learn from.

Order of reading: `base` (what a dataset is), `consistency` (what makes one whole), `digest`, `parquet` (the folder)
with `schema`, `tables` and `columns`; `merge` and `default_split` for making one, `noise` and `card` for telling of it.
pyarrow is loaded by the first read or write.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from tcl_core.dataset.base import Dataset, DatasetNetwork, Measured, Split
from tcl_core.dataset.card import data_card
from tcl_core.dataset.default_split import assign_splits
from tcl_core.dataset.digest import content_digest, sealed
from tcl_core.dataset.merge import merge_datasets
from tcl_core.dataset.noise import Noise, measure_noise

__all__ = [
    "Dataset",
    "DatasetNetwork",
    "Measured",
    "Noise",
    "Split",
    "assign_splits",
    "bundled_dataset_path",
    "bundled_dataset_paths",
    "content_digest",
    "data_card",
    "is_dataset",
    "measure_noise",
    "merge_datasets",
    "read_dataset",
    "sealed",
    "write_dataset",
]


def bundled_dataset_path() -> Path:
    """The folder of the dataset that ships, in a checkout as in an installed package."""
    return Path(str(resources.files("resources") / "dataset"))


def bundled_dataset_paths() -> tuple[Path, ...]:
    """All that ships: first the dataset that the tables are made from, then, in folders inside it, what was measured
    on further processors since.
    """
    tables = bundled_dataset_path()
    return (tables, *sorted(filter(is_dataset, tables.glob("*"))))


def is_dataset(directory: Path) -> bool:
    """Whether the folder has a dataset's files, damaged ones included."""
    from tcl_core.dataset.schema import SCHEMAS, file_name

    return all((directory / file_name(name)).is_file() for name in SCHEMAS)


def read_dataset(directory: Path) -> Dataset:
    """See `parquet.read_dataset`."""
    from tcl_core.dataset import parquet

    return parquet.read_dataset(directory)


def write_dataset(directory: Path, dataset: Dataset) -> None:
    """See `parquet.write_dataset`."""
    from tcl_core.dataset import parquet

    parquet.write_dataset(directory, dataset)
