"""The window's bench: processes in order, the first one's recording for the others, limits on the worst repeat."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tcl_core.bench import window
from tcl_core.bench.window import PARTS, Part, keeps
from tcl_core.domain import Platform


def test_parts_hand_the_recording_on(monkeypatch: pytest.MonkeyPatch, cpu_platform: Platform) -> None:
    commands: list[list[str]] = []

    def answer(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        module = command[2].split("from ")[1].split(" import main;")[0]
        commands.append([module, *command[3:]])
        part = next(p for p in PARTS if p.module == module and p.arguments[:1] in ((command[3],), p.arguments))
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


def test_an_engine_does_not_import_the_bench(tmp_path: Path) -> None:
    (tmp_path / "benched.py").write_text(
        "import multiprocessing, sys\n"
        "def loaded(pipe):\n"
        "    pipe.send('__mp_main__' in sys.modules and hasattr(sys.modules['__mp_main__'], 'loaded'))\n"
        "def main(arguments):\n"
        "    ours, theirs = multiprocessing.Pipe()\n"
        "    engine = multiprocessing.get_context('spawn').Process(target=loaded, args=(theirs,))\n"
        "    engine.start()\n"
        "    print(arguments, ours.recv())\n"
        "    engine.join()\n"
    )
    command = [sys.executable, "-c", window._START.format(module="benched"), "given"]
    done = subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.split("\n")[0] == "['given'] False"


def test_the_worst_repeat_decides() -> None:
    part = Part(module="m", goal="", below=(("late_ms", 60.0),))
    assert keeps((part,), {"late_ms": (12.0, 59.0)})
    assert not keeps((part,), {"late_ms": (12.0, 61.0, 13.0)})
