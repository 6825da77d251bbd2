"""Targets on devices, as the form writes them."""

from __future__ import annotations

import pytest

from app.models.run_request import on_device, target_problem


@pytest.mark.parametrize(
    ("target", "address", "joined"),
    [
        ("cpu", "pi.local:9090", "cpu@pi.local:9090"),
        ("cpu", "", "cpu"),
        ("cpu@pi.local:9090", "desk:9190/pi4", "cpu@desk:9190/pi4"),
        ("cpu:x86-64-v3@pi.local:9090", "", "cpu:x86-64-v3"),
        ('{"kind": "llvm"}@pi.local:9090', "", '{"kind": "llvm"}'),
        ("cpu@nowhere", "pi.local:9090", "cpu@pi.local:9090"),
        ("cpu @ nowhere", "", "cpu"),
    ],
)
def test_a_target_is_put_on_a_device(target: str, address: str, joined: str) -> None:
    assert on_device(target, address) == joined


def test_what_is_wrong_with_a_target() -> None:
    assert target_problem("cpu") == target_problem("cpu@pi.local:9090") == target_problem('{"kind": "llvm"}') == ""
    assert '"pi.local:0" is no address of a device' in target_problem("cpu@pi.local:0")
