"""Whether what a workspace remembers is this machine."""

from __future__ import annotations

from dataclasses import replace

from tcl_core.domain import Platform
from tcl_core.hardware.target import resolve_platform
from tcl_core.tuner.opening import is_here


def test_a_platform_is_here_where_its_fingerprint_is_made_again(cpu_platform: Platform) -> None:
    own = resolve_platform("cpu", 1, measure=False)
    assert is_here(own)
    assert not is_here(replace(own, fingerprint="copied"))
    assert not is_here(replace(own, runnable=False))
    assert not is_here(replace(own, threads=4096)), "more threads than this machine has"
