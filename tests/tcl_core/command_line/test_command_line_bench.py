"""``bench`` in the terminal: what is compared, with its spread, and which bench takes a person's networks."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tcl_core.bench import end_to_end
from tcl_core.bench.result import BenchResult, Series
from tcl_core.command_line.main import BAD_INPUT, DONE, INTERRUPTED, main

RACES = ("quality", "time_to_quality")
RACE_OPTIONS = ["--network", "a.onnx", "--same-tasks"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sequence[str], float | None]]:
    calls: list[tuple[Sequence[str], float | None]] = []

    def run(report: Callable[[str], None], networks: Sequence[str] = (), minutes: float | None = None) -> BenchResult:
        report("at it")
        calls.append((networks, minutes))
        series = Series(name="a.onnx: tuned", unit="ms", values=(1.0, 2.0, 4.0), runs=120)
        return BenchResult(
            name="end_to_end", subject="s", machine="m", goal="g", series=(series,), passed=False, held=(series.name,)
        )

    monkeypatch.setattr(end_to_end, "run", run)
    return calls


def test_networks_and_minutes_reach_the_bench_that_takes_them(
    asked: list[tuple[Sequence[str], float | None]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "end_to_end", "--network", "a.onnx", "--network", "b.onnx", "--minutes", "2"]) == DONE
    assert main(["bench", "end_to_end", "--json"]) == DONE
    assert asked == [(("a.onnx", "b.onnx"), 2.0), ((), None)]
    told, _, data = capsys.readouterr().out.partition("{")
    assert "2.00" in told and "120" in told and "goal g: MISSED" in told
    assert json.loads("{" + data)["series"][0]["repeats"] == 120


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["scoring", "--minutes", "2"], "scoring has no --minutes; leave it to end_to_end."),
        (["quality", "--minutes", "2"], "quality has no --minutes; leave it to end_to_end."),
        (
            ["scoring", "--network", "a.onnx"],
            "scoring has no --network; leave it to end_to_end, quality, time_to_quality.",
        ),
        (["end_to_end", "--same-tasks"], "end_to_end has no --same-tasks; leave it to quality, time_to_quality."),
        (
            ["quality", "--network", "a.onnx", "--network", "b.onnx"],
            "A race is over one network; give one --network at a time.",
        ),
        (["throughput", "--target", "cuda", "--keep"], "name a --baseline to keep"),
    ],
)
def test_an_option_that_a_bench_lacks_is_refused(
    option: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *option]) == BAD_INPUT
    assert told in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        *(
            (race, ["--network", "a.onnx", "--same-tasks"], {"networks": ("a.onnx",), "same_tasks": True})
            for race in RACES
        ),
        ("throughput", ["--target", "cuda"], {"target": "cuda"}),
    ],
)
def test_a_bench_is_told_its_options(
    name: str, words: list[str], told: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, object]] = []

    def run(report: Callable[[str], None], **options: object) -> BenchResult:
        asked.append(options)
        return BenchResult(name=name, subject="s", machine="m", goal="g", series=())

    monkeypatch.setattr(importlib.import_module(f"tcl_core.bench.{name}"), "run", run)
    assert main(["bench", name, *words]) == DONE
    assert main(["bench", name]) == DONE
    assert asked == [told, {}]


def test_a_target_that_cannot_run_here_is_refused_before_anything_is_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "throughput", "--target", "cpu:cortex-a72"]) == BAD_INPUT
    assert "This machine cannot run code for cortex-a72" in " ".join(capsys.readouterr().err.split())


def test_a_result_is_kept_and_the_next_one_held_to_it(
    asked: list[tuple[Sequence[str], float | None]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = tmp_path / "mine.json"
    assert main(["bench", "end_to_end", "--baseline", str(baseline), "--keep"]) == DONE
    assert json.loads(baseline.read_text())["bench"] == "end_to_end"
    capsys.readouterr()
    assert main(["bench", "end_to_end", "--baseline", str(baseline)]) == DONE
    assert "a.onnx: tuned was 2 (1 - 4), is 2 (1 - 4): held" in " ".join(capsys.readouterr().out.split())
    assert main(["bench", "end_to_end", "--baseline", str(baseline), "--json"]) == DONE
    told = json.loads(capsys.readouterr().out)["baseline"]
    assert told["compared"] and [one["behind"] for one in told["held"]] == [False]


def test_a_baseline_that_is_not_there_is_said_before_the_bench_runs(
    asked: list[tuple[Sequence[str], float | None]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "end_to_end", "--baseline", str(tmp_path / "none.json")]) == BAD_INPUT
    assert "There is no baseline" in capsys.readouterr().err
    assert asked == []


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("folder", "folder cannot be written (Is a directory); name another file"),
        ("file/kept.json", "file is no folder, so nothing can be written to"),
    ],
)
def test_where_nothing_can_be_kept_nothing_is_measured(
    asked: list[tuple[Sequence[str], float | None]],
    place: str,
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert main(["bench", "end_to_end", "--baseline", str(tmp_path / place), "--keep"]) == BAD_INPUT
    assert told in " ".join(capsys.readouterr().err.split())
    assert asked == []


def test_a_folder_is_made_for_what_is_kept(
    asked: list[tuple[Sequence[str], float | None]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = tmp_path / "to" / "be" / "made.json"
    assert main(["bench", "end_to_end", "--baseline", str(baseline), "--keep"]) == DONE
    assert json.loads(baseline.read_text())["bench"] == "end_to_end"


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_result_that_could_not_be_kept_is_told_all_the_same(
    options: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = tmp_path / "kept.json"

    def run(report: object) -> BenchResult:
        baseline.mkdir()  # meanwhile
        series = Series(name="tuned", unit="ms", values=(1.0, 2.0, 4.0))
        return BenchResult(name="end_to_end", subject="s", machine="m", goal="g", series=(series,))

    monkeypatch.setattr(end_to_end, "run", run)
    assert main(["bench", "end_to_end", "--baseline", str(baseline), "--keep", *options]) == BAD_INPUT
    told = capsys.readouterr()
    assert "tuned" in told.out
    assert "kept.json cannot be written (Is a directory); name another file" in " ".join(told.err.split())


def test_a_stop_says_that_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(report: object) -> BenchResult:
        raise KeyboardInterrupt

    monkeypatch.setattr(end_to_end, "run", stopped)
    assert main(["bench", "end_to_end", "--baseline", str(tmp_path / "kept.json"), "--keep"]) == INTERRUPTED
    assert "no figure is kept" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
