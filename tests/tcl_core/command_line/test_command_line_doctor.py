"""What ``doctor`` says of the checkpoints that ship."""

from __future__ import annotations

from pathlib import Path

from tcl_core.command_line.doctor import checkpoints
from tests.tcl_core.checkpoints.conftest import OLD_LAYOUT, Make, make

__all__ = ["make"]


def test_that_none_ships_is_no_failure(shipped_folder: Path) -> None:
    (found,) = checkpoints()
    assert (found.ok, found.required, found.detail) == (False, False, "none ships")
    assert "starts cold" in found.mend


def test_each_that_ships_is_looked_at(shipped_folder: Path, make: Make) -> None:
    make("cpu").rename(shipped_folder / "cpu.safetensors")
    make("old", layout=OLD_LAYOUT).rename(shipped_folder / "cpu-znver3.safetensors")
    (shipped_folder / "cuda.safetensors").write_bytes(b"no checkpoint")
    general, old, damaged = checkpoints()
    assert general.ok and general.detail.startswith("cpu.safetensors, ")
    assert not old.ok and "cpu-znver3.safetensors is for feature vocabulary" in old.detail
    assert not damaged.ok and "cuda.safetensors" in damaged.detail
    assert not any(check.required for check in (general, old, damaged))
