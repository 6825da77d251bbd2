"""How a contest is told, and that a library nobody can compare ends the bench with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tcl_core.bench import end_to_end
from tcl_core.bench.result import BenchResult
from tcl_core.errors import UserError
from tcl_core.events import LibraryBuilt
from tcl_core.libraries import Contest, LibraryReport, Timing


@pytest.mark.parametrize(
    ("contest", "words"),
    [
        (Contest(rival="onnxruntime", ratio=1.5, low=1.2, high=1.8, rounds=30), "1.50x (1.20 - 1.80), faster"),
        (Contest(rival="onnxruntime", ratio=0.98, low=0.9, high=1.1, rounds=30), "0.98x (0.90 - 1.10), tie"),
        (Contest(rival="untuned", ratio=9.0, low=None, high=None, rounds=3), "9.00x, too few rounds"),
    ],
)
def test_a_contest_in_words(contest: Contest, words: str) -> None:
    assert end_to_end.told(contest) == words


def test_a_library_that_did_not_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = LibraryReport(path=None, tasks=(), rtol=1e-3, atol=1e-3, failures=("it crashed",), crashed=True)

    class Runner:
        def __init__(self, *_: object) -> None: ...

        def events(self) -> list[LibraryBuilt]:
            return [LibraryBuilt(report=broken)]

    class Opened:
        class imported:  # noqa: N801
            class network:  # noqa: N801
                name = "mine"

    monkeypatch.setattr(end_to_end, "Tuner", Runner)
    with pytest.raises(UserError, match="mine cannot be compared"):
        end_to_end.tune(cast(Any, Opened), None, 1, 1.0)


@pytest.fixture
def raced(monkeypatch: pytest.MonkeyPatch) -> Callable[..., BenchResult]:
    """The bench on a machine of so many cores, over networks that nobody has to tune."""
    timing = Timing(median_ms=2.0, low_ms=1.0, high_ms=4.0, repeats=40)
    contests = (
        Contest(rival="onnxruntime", ratio=1.5, low=1.2, high=1.8, rounds=30),
        Contest(rival="untuned TVM", ratio=9.0, low=None, high=None, rounds=3),
    )
    found = LibraryReport(path=None, tasks=(), rtol=1e-3, atol=1e-3, tuned=timing, contests=contests)

    def opening(path: str | None, *_: object) -> SimpleNamespace:
        network = SimpleNamespace(name=Path(path or "mine").stem, digest=f"{path or 'mine'}:content")
        return SimpleNamespace(platform=SimpleNamespace(name="m"), imported=SimpleNamespace(network=network))

    def race(*networks: str, cores: int = 2) -> BenchResult:
        monkeypatch.setattr(end_to_end, "detect", lambda: SimpleNamespace(cores=cores))
        monkeypatch.setattr(end_to_end, "open_network", opening)
        monkeypatch.setattr(end_to_end, "tune", lambda *_: found)
        return end_to_end.run(lambda _: None, networks)

    return race


def test_how_many_times_as_fast_is_what_later_runs_are_held_to(raced: Callable[..., BenchResult]) -> None:
    result = raced()
    rows = {row["name"]: row for row in result.json()["series"]}
    assert result.held == tuple(
        f"mine, {threads} threads: {rival} / tuned" for threads in (2, 1) for rival in ("onnxruntime", "untuned TVM")
    )
    faster, far = (rows[name] for name in result.held[:2])
    assert (faster["low"], faster["median"], faster["high"]) == (1.2, 1.5, 1.8)
    assert (far["low"], far["median"], far["high"]) == (9.0, 9.0, 9.0)
    assert result.passed


def test_a_machine_of_one_core_is_benched_with_one_thread(raced: Callable[..., BenchResult]) -> None:
    assert raced(cores=1).held == tuple(f"mine, 1 threads: {rival} / tuned" for rival in ("onnxruntime", "untuned TVM"))


def test_what_it_ran_on_is_told_by_name_and_content_once_for_all_threads(raced: Callable[..., BenchResult]) -> None:
    assert raced("a/n.onnx").subject.startswith("n (a/n.onnx), tuned for 3 minutes each")
    assert raced("b/n.onnx", "m.onnx").subject.startswith("n (b/n.onnx), m (m.onnx:c), tuned for")


def test_networks_whose_files_are_called_alike_are_told_apart(raced: Callable[..., BenchResult]) -> None:
    told = raced("a/model.onnx", "b/model.onnx", "other.onnx", cores=1).json()
    assert len({row["name"] for row in told["series"]}) == len(told["series"])
    assert [*told["remarks"]][::2] == [
        "a/model.onnx, 1 threads: onnxruntime / tuned",
        "b/model.onnx, 1 threads: onnxruntime / tuned",
        "other, 1 threads: onnxruntime / tuned",
    ]
