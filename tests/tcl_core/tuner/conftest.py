"""The bundled sample, opened once for all tests of the tuner."""

from __future__ import annotations

import pytest

from tcl_core.config import NetworkConfig
from tcl_core.tuner import open_network
from tcl_core.tuner.opening import Opened


@pytest.fixture(scope="session")
def opened() -> Opened:
    return open_network(None, "cpu", 1, NetworkConfig())
