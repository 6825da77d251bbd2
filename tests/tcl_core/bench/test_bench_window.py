"""The window's bench: processes in order, the first one's recording for the others, limits on the worst repeat."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tcl_core.bench import window
from tcl_core.bench.window import PARTS, Part, keeps
from tcl_core.domain import Platform


def test_parts_hand_the_recording_on(monkeypatch: pytest.MonkeyPatch, cpu_platform: Platform) -> None:
    commands: list[list[str]] = []

    def answer(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command[2:])
        part = next(p for p in PARTS if p.module == command[2] and p.arguments[:1] in ((command[3],), p.arguments))
        return subprocess.CompletedProcess(command, 0, stdout=json.dumps({name: 1.0 for name, _ in part.below}))

    monkeypatch.setattr(window.subprocess, "run", answer)
    monkeypatch.setattr(window, "resolve_platform", lambda *_: cpu_platform)  # the real one times this machine
    lines: list[str] = []
    result = window.run(lines.append)
    recording = commands[0][2]
    assert commands == [
        *[["app.window_bench", "--record", recording]] * 3,
        ["app.window_bench", "--crowd", recording],
        ["app.soak_bench", recording],
    ]
    assert recording != "RECORDING"
    assert len(lines) == len(commands)
    assert result.passed
    assert {series.name: series.unit for series in result.series}["hour_growth_mb"] == "mb"


def test_the_worst_repeat_decides() -> None:
    part = Part(module="m", goal="", below=(("late_ms", 60.0),))
    assert keeps((part,), {"late_ms": (12.0, 59.0)})
    assert not keeps((part,), {"late_ms": (12.0, 61.0, 13.0)})
