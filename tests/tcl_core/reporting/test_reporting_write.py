"""The page: whole and well formed, nothing from outside, nothing of a name or a message taken for markup."""

from __future__ import annotations

import dataclasses
import errno
import os
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import library_samples
import pytest

from tcl_core.command_line.main import main
from tcl_core.domain import Source
from tcl_core.errors import UserError
from tcl_core.libraries import Timing
from tcl_core.library_events import WriteReport
from tcl_core.reporting import write
from tcl_core.reporting.write import write_page, write_report
from tcl_core.store import Workspace
from tests.tcl_core.reporting.conftest import config, furnished, measured

VOID = {"meta", "line", "path", "br"}


class Page(HTMLParser):
    """Tags must close in order; texts and attributes are kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page(folder: Path, **wanted: object) -> Page:
    out = folder.parent / "report.html"
    write_report(WriteReport(workspace=str(folder), network=None, out=str(out), **wanted))  # type: ignore[arg-type]
    return Page(out.read_text(encoding="utf-8"))


def test_records_of_a_database_have_a_column_where_there_are_any(folder: Path, tmp_path: Path) -> None:
    assert "imported" not in page(folder, run=2).text.lower()
    taken = dataclasses.replace(measured(20, 120.0, 9e-4), source=Source.IMPORTED)
    told = page(furnished(tmp_path / "imported", [taken]), run=2).text
    assert "earlierimported" in "".join(told.split()) and "Imported: records of a MetaSchedule database" in told
    _name, _best, _rate, _share, trials_failed, earlier, imported = told[told.index("fused_a1") :].splitlines()[:7]
    assert (trials_failed, earlier, imported) == ("10", "5", "1")


def test_a_page_tells_the_run(folder: Path) -> None:
    told = page(folder, run=1)
    for text in (
        "run 1",
        "the time was used up",
        "A CPU, 2 threads",
        "36.10x as fast",
        "tie",
        "0.97 to 1.05",
        "Same results as onnxruntime: greatest absolute error 2.4e-06",
        "of results up to 4.5 ",
        "fused_b2",
        "untuned: no record that ran",
        "timeout",
        "3 of",
        "search.elite",
        "3.11.9",
    ):
        assert text in told.text, text
    assert told.tags.count("svg") == 1
    assert "1:38" in told.text, "98.5 s"


def test_kernels_and_networks_of_nanoseconds_have_three_digits(folder: Path) -> None:
    connection = sqlite3.connect(folder / "workspace.sqlite")
    with connection:
        connection.execute(
            "UPDATE records SET latency_s = 3.12e-8, latencies_s = '[3.12e-8]' WHERE latency_s IS NOT NULL"
        )
    connection.close()
    timing = Timing(median_ms=1.234e-4, low_ms=1.1e-4, high_ms=2.2e-4, repeats=9)
    told = page(folder, library=library_samples.report(tuned=timing, contests=())).text
    assert "0.0312" in told and "0.000123 ms" in told and "0.000110 to 0.000220" in told


def test_names_and_messages_are_text(folder: Path) -> None:
    told = page(folder, run=1)
    assert "script" not in told.tags and "b" not in told.tags
    assert "<script>alert('net')</script> & \"co\"" in told.text
    assert "<b>extent</b>" in told.text


def test_nothing_is_fetched_from_outside(folder: Path) -> None:
    told = page(folder, run=1)
    assert not {"src", "href", "xlink:href", "action"} & {name for name, _ in told.attributes}
    assert not {"link", "img", "iframe", "script", "object"} & set(told.tags)
    assert "url(" not in told.text and "@import" not in told.text


def test_a_run_without_a_library_says_so_or_shows_what_was_checked_since(folder: Path) -> None:
    assert "ended before its library was built, so nothing was checked" in page(folder).text
    later = page(folder, library=library_samples.differing()).text
    assert "was checked afterwards" in later and "measured afterwards" in later
    assert "measured at the end" in page(folder, run=1).text
    assert "✗ Results differ from onnxruntime" in later and "infinite" in later
    assert "nobody noted them" in later


def test_a_run_that_is_not_over_has_its_library_still_before_it(folder: Path) -> None:
    with Workspace.open(folder) as workspace:
        number = workspace.start_run(config(folder), "d1", "cafe01")
        told = page(folder, run=number).text
    assert "still running" in told and "its library is built, checked and timed at its end" in told
    assert "ended before its library" not in told


def test_a_task_that_does_without_its_best_record_says_so(folder: Path) -> None:
    first, *others = library_samples.report().tasks
    library = library_samples.report(tasks=(dataclasses.replace(first, passed_over=2), *others))
    assert "without its 2 best records, which no longer apply" in page(folder, library=library).text


def test_results_that_zeros_would_match_are_named(folder: Path) -> None:
    assert "zeros would match" not in page(folder, run=1).text
    small = tuple(dataclasses.replace(each, largest=1e-4) for each in library_samples.report().outputs)
    assert "zeros would match" in page(folder, library=library_samples.report(outputs=small)).text


def test_a_library_that_broke_or_was_only_checked(folder: Path) -> None:
    broken = library_samples.report(
        outputs=(), crashed=True, tuned=None, untuned=None, onnxruntime=None, contests=(), failures=("crash (SIGSEGV)",)
    )
    told = page(folder, library=broken).text
    assert "✗ The library broke when it was run." in told and "crash (SIGSEGV)" in told
    assert "One run of the network" not in told


def test_a_run_without_a_success_draws_nothing(folder: Path) -> None:
    connection = sqlite3.connect(folder / "workspace.sqlite")
    with connection:
        connection.execute("DELETE FROM records WHERE latency_s IS NOT NULL")
    connection.close()
    told = page(folder, run=1)
    assert "nothing to draw" in told.text and "svg" not in told.tags


def test_a_report_is_written_over_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    for text in (f"{write.MARK} 1", f"{write.MARK} 2"):
        write_page(path, text)
    assert path.read_text() == f"{write.MARK} 2"
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]
    path.write_text("a letter")
    with pytest.raises(UserError, match="is no report of a run; name a new file"):
        write_page(path, write.MARK)
    with pytest.raises(UserError, match="cannot be written"):
        write_page(path.parent, write.MARK)
    with pytest.raises(UserError, match=r"report.html is no folder, so nothing can be written to"):
        write_page(path / "below.html", write.MARK)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipe has a name there")
def test_a_pipe_is_written_and_not_asked_what_it_holds(tmp_path: Path) -> None:
    """It would answer when somebody else writes to it: never."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_page(tmp_path / "pipe", write.MARK)
        assert os.read(reader, 100) == write.MARK.encode()
    finally:
        os.close(reader)


def test_a_full_disk_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    write_page(path, f"{write.MARK} old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UserError, match="disk is full"):
        write_page(path, f"{write.MARK} new")
    assert path.read_text() == f"{write.MARK} old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_the_command_line_writes_the_same_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder.parent / "by hand.html"
    assert main(["report", "--workspace", str(folder), "--run", "1", "--out", str(out)]) == 0
    assert f"report of run 1: {out}" in capsys.readouterr().out
    assert "36.10x as fast" in Page(out.read_text(encoding="utf-8")).text
    assert main(["report", "--workspace", str(folder), "--run", "8", "--out", str(out)]) == 2
    assert "no run 8" in capsys.readouterr().err
