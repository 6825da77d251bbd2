"""A bench is held to what an earlier run gave: by its ratio, or by the series it names; on the same machine only."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.bench.baseline import bundled_baseline_path, check_keepable, keep, read_baseline, stand
from tcl_core.bench.result import TIMES_AS_FAST, BenchResult, Series
from tcl_core.command_line.parser import BENCHES
from tcl_core.errors import UserError


def result(values: tuple[float, ...] = (10.0, 11.0, 12.0), unit: str = "s") -> BenchResult:
    series = (Series(name="ours", unit=unit, values=values), Series(name="peer", unit=unit, values=(1.0,)))
    return BenchResult(name="b", subject="s", machine="m", goal="g", series=series, held=("ours",))


def rated(ratio: float, low: float, high: float) -> BenchResult:
    return replace(result(), ratio=ratio, ratio_spread=(low, high))


def against(now: BenchResult, kept: BenchResult, folder: Path) -> list[bool]:
    keep(kept, folder / "b.json")
    baseline = read_baseline(folder / "b.json", "b")
    assert baseline is not None
    return [one.behind for one in stand(now, baseline).held]


@pytest.mark.parametrize(
    ("now", "behind"),
    [
        ((10.0, 11.0, 12.0), False),
        ((1.0, 2.0, 3.0), False),
        ((13.0, 20.0, 30.0), False),  # within a tenth of the worst that was kept
        ((13.3, 20.0, 30.0), True),
    ],
)
def test_a_series_in_seconds_may_not_rise_beyond_the_kept_spread(
    now: tuple[float, ...], behind: bool, tmp_path: Path
) -> None:
    assert against(result(now), result(), tmp_path) == [behind]


@pytest.mark.parametrize(("now", "behind"), [((1.0, 9.1), False), ((1.0, 8.9), True), ((50.0, 60.0), False)])
@pytest.mark.parametrize("unit", ["trials/s", TIMES_AS_FAST])
def test_what_should_be_high_may_not_fall(now: tuple[float, ...], behind: bool, unit: str, tmp_path: Path) -> None:
    assert against(result(now, unit), result(unit=unit), tmp_path) == [behind]


def test_a_ratio_is_held_instead_of_the_series(tmp_path: Path) -> None:
    kept = rated(5.0, 4.0, 6.0)
    slow_hour = replace(rated(4.5, 3.7, 5.0), series=result((90.0, 99.0)).series)
    assert against(slow_hour, kept, tmp_path) == [False]
    assert against(rated(3.0, 2.0, 3.5), kept, tmp_path) == [True]


@pytest.mark.parametrize("field", ["machine", "subject"])
def test_another_machine_or_subject_is_not_compared(field: str, tmp_path: Path) -> None:
    keep(result(), tmp_path / "b.json")
    baseline = read_baseline(tmp_path / "b.json", "b")
    assert baseline is not None
    standing = stand(replace(result((900.0,)), **{field: "else"}), baseline)
    assert standing.held == () and not standing.json()["compared"]
    assert standing.sentences() == (
        f"baseline of {baseline.date}: another {field} ({getattr(result(), field)}), so nothing is compared",
    )


def test_all_that_differs_is_told(tmp_path: Path) -> None:
    keep(result(), tmp_path / "b.json")
    baseline = read_baseline(tmp_path / "b.json", "b")
    assert baseline is not None
    standing = stand(replace(result(), machine="n", subject="t"), baseline)
    assert standing.sentences() == (
        f"baseline of {baseline.date}: another machine (m) and another subject (s), so nothing is compared",
    )
    assert standing.json()["others"] == ["machine", "subject"]


def test_figures_without_a_counterpart_are_named(tmp_path: Path) -> None:
    keep(replace(result(), held=("ours", "peer")), tmp_path / "b.json")
    baseline = read_baseline(tmp_path / "b.json", "b")
    assert baseline is not None
    alone = stand(result(), baseline)
    assert [one.now.name for one in alone.held] == ["ours"] and alone.json()["compared"]
    assert alone.sentences()[1:] == (
        f"baseline of {baseline.date}: only one of the two has peer, so that is not compared",
    )
    nothing = stand(rated(5.0, 4.0, 6.0), baseline)
    assert nothing.sentences() == (
        f"baseline of {baseline.date}: only one of the two has ours; peer; ratio, so that is not compared",
    )
    assert not nothing.json()["compared"]


def test_a_sentence_has_both_figures_and_the_verdict(tmp_path: Path) -> None:
    keep(rated(5.0, 4.0, 6.0), tmp_path / "b.json")
    baseline = read_baseline(tmp_path / "b.json", "b")
    assert baseline is not None
    (worse,) = stand(rated(3.0, 2.0, 3.5), baseline).sentences()
    assert worse == f"baseline of {baseline.date}: ratio was 5 (4 - 6), is 3 (2 - 3.5): FALLEN BEHIND"


def test_without_a_file_there_is_no_baseline(tmp_path: Path) -> None:
    assert read_baseline(tmp_path / "none.json", "b") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"bench": "other"}', '{"bench": "b", "date": "d"}'])
def test_a_file_that_is_no_result_of_the_bench_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UserError, match=r"cannot be read as a result of the bench b; name another file\.$"):
        read_baseline(tmp_path / "b.json", "b")


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written"):
        keep(result(), tmp_path / "file" / "b.json")


def test_what_was_kept_survives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "b.json"
    keep(result(), path)
    before = path.read_text()

    def half(path: Path, text: str, encoding: str) -> None:
        path.write_bytes(text.encode(encoding)[: len(text) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(UserError, match="cannot be written"):
        keep(result((1.0, 2.0)), path)
    assert path.read_text() == before
    assert [one.name for one in tmp_path.iterdir()] == ["b.json"]


def test_what_was_kept_stays_until_there_is_another(tmp_path: Path) -> None:
    keep(result(), tmp_path / "b.json")
    before = (tmp_path / "b.json").read_bytes()
    check_keepable(tmp_path / "b.json")
    assert (tmp_path / "b.json").read_bytes() == before
    check_keepable(tmp_path / "other.json")
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


@pytest.mark.parametrize("name", [name for name in BENCHES if bundled_baseline_path(name).exists()])
def test_baselines_that_ship_hold_something(name: str) -> None:
    baseline = read_baseline(bundled_baseline_path(name), name)
    assert baseline is not None and baseline.figures
