"""The tuned task of the inspection's tests, and a room to ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tcl_core.what_if.commands import WhatIfRoom
from tests.tcl_core.inspection.conftest import filled, matmul_replays, matmul_space, taught

__all__ = ["filled", "matmul_replays", "matmul_space", "taught"]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples' platform, which no machine has, is this one."""
    monkeypatch.setattr("tcl_core.what_if.lender.as_reached", lambda platform, _target: platform)


@pytest.fixture
def room() -> Iterator[WhatIfRoom]:
    room = WhatIfRoom()
    yield room
    room.forget()
