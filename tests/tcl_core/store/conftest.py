from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_samples import furnish

from tcl_core.store import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """An open workspace with a platform, a network and two tasks."""
    with Workspace.open(tmp_path / "work") as opened:
        furnish(opened)
        yield opened
