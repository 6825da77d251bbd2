"""The two streams: what a file gets is whole."""

from __future__ import annotations

import io
import os
import sys

import pytest
from rich.table import Table

from tcl_core.command_line.output import Output


@pytest.mark.parametrize("as_json", [False, True])
def test_no_column_is_cut_where_nobody_looks(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("a column with a long name", *(f"another, the {at}." for at in range(6)))
    table.add_row(*("0.9600 ± 0.0103" for _ in range(7)))
    Output(as_json=as_json).result.print(table)
    captured = capsys.readouterr()
    text, other = (captured.err, captured.out) if as_json else (captured.out, captured.err)
    assert "…" not in text and text.count("0.9600 ± 0.0103") == 7 and "a column with a long name" in text
    assert not other


def test_no_column_is_cut_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "40")):
        monkeypatch.setenv(name, value)
    table = Table("name", *(f"column {at}" for at in range(6)))
    table.add_row("it", *("0.0196" for _ in range(6)))
    output = Output(as_json=False)
    output.result.print(table)
    text = capsys.readouterr().out
    assert "…" not in text and text.count("0.0196") == 6 and "it" in text
    assert output.status.width == 40, "the bar has one line"


def test_the_object_is_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(as_json=True)
    output.result.print("for a person")
    output.emit({"a": 1})
    assert capsys.readouterr().out == '{"a": 1}\n'


def test_a_reader_that_leaves_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = os.pipe()
    os.close(theirs)
    with open(ours, "w", encoding="utf-8", buffering=1) as gone:  # noqa: PTH123 - a descriptor
        monkeypatch.setattr(sys, "stdout", gone)
        with pytest.raises(BrokenPipeError):
            Output(as_json=False).result.print("for a person")
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), ours)  # closing it writes once more


def test_a_name_is_shown_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name")
    for name in ("b [v1]", "out [/b] ü", "[red]a[blue]"):
        table.add_row(name)
    Output(as_json=False).result.print(table)
    text = capsys.readouterr().out
    assert all(name in text for name in ("b [v1]", "out [/b] ü", "[red]a[blue]"))


def test_a_terminal_that_lacks_a_character_is_told_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of records names microseconds by their sign, and ended as a bug where the locale is not UTF-8."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    Output(as_json=False).result.print("12 µs")
    assert written.getvalue() == b"12 ?s\n"
