"""``evaluate`` as a person runs it: tables, one JSON object, files, and one sentence for bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.command_line import main as dispatch
from tcl_core.command_line.main import BAD_INPUT, DONE
from tcl_core.dataset import Dataset, sealed, write_dataset
from tests.tcl_core.evaluation.conftest import STRONG


@pytest.fixture
def folder(dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_dataset(tmp_path / "dataset", sealed(dataset))
    return tmp_path / "dataset"


@pytest.mark.slow
def test_a_table_as_json_and_in_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["evaluate", "--dataset", str(folder), "--only", "zero_shot", "--seeds", "1"]
    assert dispatch([*line, "--json", "--out", str(tmp_path / "out")]) == DONE
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert set(found["zero_shot"]) == {"weak CPU", "strong CPU"}
    assert "[6/6] zero_shot" in captured.err
    assert json.loads((tmp_path / "out" / "zero_shot.json").read_text(encoding="utf-8")) == found
    assert dispatch([*line, "--jobs", "2"]) == DONE
    captured = capsys.readouterr()
    assert "platform left out" in captured.out and "Zero-shot" in captured.out
    assert captured.err.count("found finished") == 6


def test_bad_input_is_one_sentence(
    folder: Path, dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = {key: found for key, found in dataset.records.items() if key[1] == STRONG}
    alone = tmp_path / "alone"
    write_dataset(alone, sealed(replace(dataset, records=one)))
    for place, words in ((tmp_path / "gone", "gone"), (alone, "one platform only")):
        assert dispatch(["evaluate", "--dataset", str(place)]) == BAD_INPUT
        captured = capsys.readouterr()
        assert captured.out == ""
        assert words in captured.err and captured.err.strip().count("\n") == 0


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_where_the_tables_go_is_asked_before_the_first(
    folder: Path, tmp_path: Path, out: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def begun(*_: object) -> None:
        raise AssertionError("a table was begun")

    monkeypatch.setattr("tcl_core.evaluation.evaluate.evaluate", begun)
    (tmp_path / "file").touch()
    assert dispatch(["evaluate", "--dataset", str(folder), "--out", str(tmp_path / out)]) == BAD_INPUT
    assert "file is no folder, so nothing can be written to" in capsys.readouterr().err
