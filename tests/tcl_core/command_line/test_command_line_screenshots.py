"""The command that takes pictures: what the window's script wrote, and what it failed with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tcl_core.command_line import screenshots
from tcl_core.command_line.main import BAD_INPUT, DONE, main


def window_that(monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    """Put another script in the window's place; it gets the folder and the minutes."""

    def start(command: list[str], **options: object) -> object:
        assert command[1:3] == ["-m", "app.screenshots"]
        return subprocess_popen([sys.executable, "-c", f"import sys; {does}", *command[3:]], **options)

    subprocess_popen = subprocess.Popen
    monkeypatch.setattr(screenshots.subprocess, "Popen", start)


def test_the_pictures_are_listed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    window_that(monkeypatch, "print(sys.argv[1] + '/a.png'); print(sys.argv[1] + '/' + sys.argv[2])")
    out = tmp_path / "new" / "folder"
    assert main(["screenshots", "--out", str(out), "--minutes", "0.5", "--json"]) == DONE
    assert json.loads(capsys.readouterr().out) == {"out": str(out), "pictures": [f"{out}/a.png", f"{out}/0.5"]}
    assert out.is_dir()


def test_a_run_without_pictures_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    window_that(monkeypatch, "sys.exit(2)")
    assert main(["screenshots", "--out", str(tmp_path)]) == BAD_INPUT
    assert "could not be taken" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["screenshots", "--out", str(tmp_path / "file" / "x")]) == BAD_INPUT
    assert "file is no folder, so nothing can be written to" in capsys.readouterr().err
