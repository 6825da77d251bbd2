"""A platform by fingerprint, by target text, by name, or refused in one sentence that names those there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tcl_core.errors import UserError
from tcl_core.store import Workspace
from tcl_core.training.platform_choice import choose_platform
from tests.tcl_core.store import store_samples as samples

V3 = '{"kind":"llvm","mcpu":"x86-64-v3","num-cores":%d}'


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(tmp_path / "w") as opened:
        opened.add_platform(samples.platform("cafe01", target_json=V3 % 2, threads=2))
        opened.add_platform(samples.platform("cafe02", target_json=V3 % 1, threads=1))
        opened.add_platform(samples.platform("beef03", target_json='{"kind":"llvm","mcpu":"znver5","num-cores":2}'))
        gpu = samples.platform("feed04", kind="cuda", name="A GPU", target_json='{"kind":"cuda","arch":"sm_80"}')
        opened.add_platform(gpu)
        yield opened


@pytest.mark.parametrize(
    ("text", "fingerprint"),
    [
        ("cafe01", "cafe01"),
        ("be", "beef03"),
        ("cpu:x86-64-v3/1", "cafe02"),
        ("cpu:x86-64-v3/2", "cafe01"),
        ("cpu:znver5", "beef03"),
        ("cuda", "feed04"),
        ('{"kind": "llvm", "num-cores": 1}', "cafe02"),
        ("A GPU", "feed04"),
        ("GPU", "feed04"),
    ],
)
def test_a_platform_is_found(workspace: Workspace, text: str, fingerprint: str) -> None:
    assert choose_platform(workspace, text).fingerprint == fingerprint


@pytest.mark.parametrize("text", ["", "cpu:x86-64-v4", "quantum", "cpu:x86-64-v3/7", "{broken", "[1]"])
def test_an_unknown_one_is_refused_by_naming_those_there_are(workspace: Workspace, text: str) -> None:
    with pytest.raises(UserError, match=r"by its name or fingerprint: cafe01.*cafe02.*beef03.*feed04"):
        choose_platform(workspace, text)


@pytest.mark.parametrize("text", ["cafe", "cpu:x86-64-v3", '{"mcpu":"x86-64-v3"}'])
def test_several_are_not_chosen_between(workspace: Workspace, text: str) -> None:
    with pytest.raises(UserError, match="several platforms") as refused:
        choose_platform(workspace, text)
    assert "cafe01" in str(refused.value)
    assert "beef03" not in str(refused.value)
    assert ("as in cpu/2" in str(refused.value)) != text.startswith("{"), "a target as JSON names its threads itself"


def test_cpu_is_this_machine(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcl_core.hardware.llvm_cpu.host_cpu", lambda _: "znver5")
    assert choose_platform(workspace, "cpu").fingerprint == "beef03"
    assert choose_platform(workspace, "cpu/2").fingerprint == "beef03"


def test_an_empty_workspace_says_what_to_do(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "empty") as empty, pytest.raises(UserError, match="collect"):
        choose_platform(empty, "cpu")
