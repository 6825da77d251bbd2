"""The test network of `library_network`, made once a session."""

from __future__ import annotations

import pytest
from library_network import TARGET, Imported, import_model, make_record, parallel_trace

from tcl_core.domain import Platform, PlatformFeatures, Record


@pytest.fixture(scope="session")
def imported() -> Imported:
    return import_model()


@pytest.fixture(scope="session")
def platform() -> Platform:
    features = PlatformFeatures(
        cores=2, vector_bits=0, l1_bytes=0, l2_bytes=0, l3_bytes=0, peak_flops=0.0, bandwidth_bytes_s=0.0
    )
    return Platform(
        fingerprint="f00d",
        name="any CPU",
        kind="llvm",
        target_json=TARGET,
        threads=2,
        runnable=True,
        features=features,
    )


@pytest.fixture(scope="session")
def records(imported: Imported) -> dict[str, tuple[Record, ...]]:
    """A record for each matrix product, none for the table look-up."""
    return {task.key: (make_record(task, parallel_trace(task)),) for task in imported.tasks if "matmul" in task.name}
