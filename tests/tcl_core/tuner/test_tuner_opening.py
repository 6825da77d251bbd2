"""Whether what a workspace remembers can be run from here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tcl_core.domain import Platform
from tcl_core.hardware.target import resolve_platform
from tcl_core.tuner.opening import as_reached


def test_a_platform_is_here_where_its_fingerprint_is_made_again() -> None:
    own = resolve_platform("cpu", 1, measure=False)
    assert as_reached(own, "cpu") == own
    assert not as_reached(replace(own, fingerprint="copied"), "cpu").runnable
    assert not as_reached(replace(own, runnable=False), "cpu").runnable
    assert not as_reached(replace(own, threads=4096), "cpu").runnable, "more threads than this machine has"


@pytest.mark.slow
def test_a_platform_that_a_device_has_is_reached_there(device: str, cpu_platform: Platform) -> None:
    there = resolve_platform(f"cpu@{device}", 1, measure=False)
    kept = replace(there, device="")  # as a workspace has it

    assert as_reached(kept, f"cpu@{device}") == there
    assert there.device == device
    away = as_reached(kept, "cpu@127.0.0.1:1")
    assert (away.runnable, away.device) == (False, ""), "nobody answers there"
    assert not as_reached(replace(kept, fingerprint="another"), f"cpu@{device}").runnable
