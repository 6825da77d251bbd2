"""What a worker does before its first job."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are Linux processes")

_LIMITED = """
import resource, sys
from tcl_core.measure.worker import limit_memory
own, extra = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_DATA, (own, own))
limit_memory(extra)
print(*resource.getrlimit(resource.RLIMIT_DATA))
"""


@pytest.mark.parametrize(("own", "extra", "kept"), [(8 << 30, 1 << 40, True), (8 << 30, 1 << 20, False), (-1, 0, True)])
def test_a_limit_of_the_persons_own_is_not_raised(own: int, extra: int, kept: bool) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(own), str(extra)], capture_output=True, text=True, check=True
    )
    soft, hard = map(int, ended.stdout.split())
    assert soft == hard and (hard == own if kept else 1 << 20 < hard < own)
