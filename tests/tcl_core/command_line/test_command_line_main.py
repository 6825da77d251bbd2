"""Bad input, one sentence each; ``--json`` keeps stdout to one object."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tcl_core.command_line import main as dispatch
from tcl_core.command_line.main import BAD_INPUT, BUG, INTERRUPTED
from tcl_core.domain import Candidate, Failure, Rationale, Record, Stage
from tcl_core.errors import Interrupted
from tcl_core.store import Workspace, record_table
from tcl_core.store.metaschedule import TUNING_RECORDS
from tests.tcl_core.store import store_samples as samples


def sentence(capsys: pytest.CaptureFixture[str], *line: str) -> str:
    assert dispatch(line) == BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == ""
    text = captured.err.strip()
    assert "Traceback" not in text
    assert text.count("\n") == 0
    return text


def test_a_missing_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "gone.onnx" in sentence(capsys, "tasks", str(tmp_path / "gone.onnx"))


def test_what_is_not_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "picture.onnx"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    assert "picture.onnx" in sentence(capsys, "tasks", str(path))


def test_an_unknown_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "quantum" in sentence(capsys, "tune", "--target", "quantum", "--workspace", str(tmp_path))


def test_no_workspace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere" in sentence(capsys, "records", "--workspace", str(tmp_path / "nowhere"))
    assert "nowhere" in sentence(
        capsys, "export", "--workspace", str(tmp_path / "nowhere"), "--out", str(tmp_path / "out")
    )


def test_export_of_what_was_never_tuned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Workspace.open(tmp_path / "w").close()
    text = sentence(capsys, "export", "--workspace", str(tmp_path / "w"), "--out", str(tmp_path / "out"))
    assert "no network" in text


def test_records_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failure = Failure(stage=Stage.MEASURE, cause="timeout")
    with Workspace.open(tmp_path / "w") as workspace:
        workspace.add_platform(samples.platform())
        workspace.add_network(samples.network(), [samples.task()])
        rationale = Rationale(score=0.5, uncertainty=1.0)
        assert workspace.add_record(samples.record(latencies_s=(), failure=failure, rationale=rationale))
    assert dispatch(["records", "--workspace", str(tmp_path / "w"), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["records"]
    assert row["task"] == samples.task().name
    assert row["decisions"] == [list(decision) for decision in samples.record().candidate.decisions]
    assert row["failure"] == {"stage": "measure", "cause": "timeout"}
    assert (row["score"], row["R"], row["D"], row["U"]) == (0.5, None, None, 1.0)


def test_a_person_is_shown_the_newest_records_and_how_many_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    from_row = record_table._from_row

    def counted(row: tuple[Any, ...]) -> Record:
        nonlocal read
        read += 1
        return from_row(row)

    with Workspace.open(tmp_path / "w") as workspace:
        workspace.add_platform(samples.platform())
        workspace.add_network(samples.network(), [samples.task()])
        workspace.add_records([samples.record(number, latencies_s=(1e-6 * (1 + number),)) for number in range(45)])
    monkeypatch.setattr(record_table, "_from_row", counted)
    assert dispatch(["records", "--workspace", str(tmp_path / "w")]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [float(row.split()[2]) for row in rows[1:-1]] == [float(number) for number in range(6, 46)]
    assert rows[-1] == "40 of 45 records shown; --json holds all"
    assert read == 40, "a workspace may hold millions"


def test_who_lists_records_reads_no_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are most of what a workspace holds, and nobody is shown them: damaged ones are not even noticed."""
    with Workspace.open(tmp_path / "w") as workspace:
        workspace.add_platform(samples.platform())
        workspace.add_network(samples.network(), [samples.task()])
        assert workspace.add_record(samples.record())
        workspace._connection.execute("UPDATE records SET trace_json = x'00'")
    assert dispatch(["records", "--workspace", str(tmp_path / "w"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["records"]) == 1


def test_records_go_to_metaschedule_and_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("here", "there"):
        with Workspace.open(tmp_path / name) as workspace:
            workspace.add_platform(samples.platform())
            workspace.add_network(samples.network(), [samples.task()])
            workspace.add_sketches("cafe01", [samples.sketch()])
            if name == "here":
                trace_json = samples.sketch().trace_json.removesuffix("[]]") + "[[0,[2,32]],[1,1]]]"
                candidate = Candidate("a1", 0, ((2, 32), (1,)))
                assert workspace.add_record(samples.record(candidate=candidate, trace_json=trace_json))
    database = str(tmp_path / "database")
    where = ("--platform", "cafe")
    assert dispatch(["records", "--workspace", str(tmp_path / "here"), "--export", database, *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exported"] == 1
    line = ["records", "--workspace", str(tmp_path / "there"), "--import", database, *where]
    assert dispatch([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"imported": 1, "duplicates": 0, "failures": []}
    with (tmp_path / "database" / TUNING_RECORDS).open("a", encoding="utf-8") as file:
        file.write("[0, ")
    assert dispatch(line) == 0
    told = capsys.readouterr()
    assert "0 records were taken" in told.out and "1 was there already, 1 line was left out" in told.out
    assert "line 2" in told.err
    assert "nowhere" in sentence(capsys, *line[:-3], str(tmp_path / "nowhere"), *where)
    assert "no platform beef" in sentence(capsys, *line[:-1], "beef")


@pytest.mark.parametrize("made", [False, True])
def test_records_for_a_folder_without_a_workspace_say_how_it_gets_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: bool
) -> None:
    folder = tmp_path / "my records"
    if made:
        folder.mkdir()
    told = sentence(capsys, "records", "--workspace", str(folder), "--import", str(tmp_path))
    assert f"`main.py tune NETWORK.onnx --workspace '{folder}'`, then import." in told
    assert folder.exists() is made and not (made and [*folder.iterdir()])
    file = tmp_path / "file"
    file.touch()
    assert "is a file" in sentence(capsys, "records", "--workspace", str(file), "--import", str(tmp_path))


def test_doctor_gives_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["doctor", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {"name", "ok", "detail", "mend", "required"} == set(checks[0])


def test_a_stop_promises_no_more_than_holds_of_every_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> None:
        raise Interrupted

    monkeypatch.setattr("tcl_core.command_line.doctor.run", stopped)
    assert dispatch(["doctor"]) == INTERRUPTED
    assert capsys.readouterr().err == "Stopped; what was finished by then is kept.\n"


def test_a_stop_that_met_a_class_in_the_making_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def loading(*_: object) -> None:
        raise RuntimeError("Error calling __set_name__ on 'cached_property' instance") from KeyboardInterrupt()

    monkeypatch.setattr("tcl_core.command_line.doctor.run", loading)
    assert dispatch(["doctor"]) == INTERRUPTED
    assert capsys.readouterr().err == "Stopped; what was finished by then is kept.\n"


def test_json_that_nobody_can_be_told_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worked: list[object] = []
    monkeypatch.setattr("tcl_core.command_line.doctor.run", lambda *line: worked.append(line))
    monkeypatch.setattr(sys, "stdout", None)
    assert dispatch(["doctor", "--json"]) == BAD_INPUT
    assert "standard output, which is closed" in capsys.readouterr().err
    assert not worked
    assert dispatch(["doctor"]) == 0


def test_a_path_that_cannot_be_reached_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    name = "n" * 300
    said = sentence(capsys, "checkpoints", "show", name)
    assert said.startswith(f"{name} cannot be reached (File name too long); open the way to it, or name another.")


_MAIN = "import sys; from tcl_core.command_line.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a file that is always full")
@pytest.mark.parametrize("options", [["--json"], []])
def test_a_full_disk_behind_the_output_is_no_bug(options: list[str], tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "w") as workspace:
        samples.furnish(workspace)
    line = [sys.executable, "-c", _MAIN, "records", "--workspace", str(tmp_path / "w"), *options]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert ended.returncode == BAD_INPUT
        assert ended.stderr.splitlines() == [
            "Not everything was written (No space left on device); free some space, or write elsewhere."
        ]
        assert subprocess.run(line, stdout=full, stderr=full, check=False).returncode == BAD_INPUT


def test_a_full_disk_is_no_bug_where_the_output_is_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "report.html")

    monkeypatch.setattr("tcl_core.command_line.doctor.run", full)
    monkeypatch.setattr(sys, "stdout", None)
    assert dispatch(["doctor"]) == BAD_INPUT
    assert capsys.readouterr().err.startswith("report.html cannot be written (No space left on device);")


def log_named(text: str) -> Path:
    """In a folder whose name may have blanks."""
    return Path(text.strip().removesuffix(".").partition("the details are in ")[2])


def test_a_file_of_ours_that_is_gone_is_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        Path("/nonexistent/file").read_bytes()

    monkeypatch.setattr("tcl_core.command_line.doctor.run", broken)
    assert dispatch(["doctor"]) == BUG
    log_named(capsys.readouterr().err).unlink()


def test_a_bug_names_its_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("seven")

    monkeypatch.setattr("tcl_core.command_line.doctor.run", broken)
    assert dispatch(["doctor"]) == BUG
    log = log_named(capsys.readouterr().err)
    assert "ZeroDivisionError: seven" in log.read_text(encoding="utf-8")
    log.unlink()


def test_a_bug_is_told_where_no_log_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("seven")

    def nowhere(**_: object) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tcl_core.command_line.doctor.run", broken)
    monkeypatch.setattr("tempfile.mkstemp", nowhere)
    assert dispatch(["doctor"]) == BUG
    text = capsys.readouterr().err
    assert "ZeroDivisionError: seven" in text and "in no file, as none could be written (No usable" in text
