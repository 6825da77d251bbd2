"""``verify`` and ``export`` in the terminal: the tables a person reads, the object a program reads, and Ctrl+C."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import replace

import library_samples
import pytest

from tcl_core.command_line.main import DONE, INTERRUPTED, UNMATCHED, main
from tcl_core.events import CancelToken, Event, LibraryCommand, Notice
from tcl_core.libraries import LibraryReport
from tcl_core.library_events import ExportLibrary, LibraryDone, LibraryStopped, TimeLibrary, VerifyLibrary
from tcl_core.tuner import export


class Engine:
    """Stands for `carry_out`: answers every command with one report, or is stopped."""

    def __init__(self) -> None:
        self.report: LibraryReport | None = library_samples.report()
        self.commands: list[LibraryCommand] = []
        self.interrupted = False
        self.notices: tuple[Notice, ...] = ()

    def __call__(self, command: LibraryCommand, _cancel: CancelToken) -> Iterator[Event]:
        self.commands.append(command)
        if self.interrupted:
            signal.raise_signal(signal.SIGINT)
        yield from self.notices
        yield (
            LibraryStopped()
            if self.report is None
            else LibraryDone(command=command, network="sample", report=self.report)
        )


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(export, "carry_out", made)
    return made


def test_the_options_become_a_command(engine: Engine) -> None:
    assert main(["verify", "--workspace", "w", "--network", "n", "--rtol", "1e-2", "--atol", "0"]) == DONE
    assert main(["verify", "--workspace", "w", "--times"]) == DONE
    assert main(["export", "--workspace", "w", "--out", "/o", "--rtol", "0.5"]) == DONE
    verify, timed, exported = engine.commands
    assert isinstance(verify, VerifyLibrary) and (verify.config.rtol, verify.config.atol) == (1e-2, 0.0)
    assert verify.network == "n"
    assert isinstance(timed, TimeLibrary) and (timed.config.rtol, timed.config.atol) == (1e-3, 1e-3)
    assert isinstance(exported, ExportLibrary) and (exported.out, exported.config.rtol) == ("/o", 0.5)


def test_a_person_reads_times_verdicts_and_errors(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    main(["verify", "--workspace", "w", "--times"])
    told = capsys.readouterr().out
    untuned, onnxruntime = (next(line for line in told.splitlines() if name in line) for name in ("untuned TVM", "tie"))
    assert "36.1x as fast" in untuned and "35.2x - 36.9x" in untuned
    assert max(map(len, (untuned, onnxruntime))) < 80
    assert onnxruntime.startswith("onnxruntime") and "0.97x - 1.05x" in onnxruntime
    assert "matches onnxruntime: greatest absolute error 2.4e-06 of results up to 4.5 (tolerance rtol 0.001" in told
    assert "zeros would match" not in told
    assert "mask: absolute 0.0e+00" in told
    assert "not tuned: fused_mean (no record that ran)" in told


def test_where_it_ran_is_said(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.report = replace(library_samples.report(), device="pi:9090", onnxruntime=None, contests=())
    main(["verify", "--workspace", "w", "--times"])
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("whole network, on pi:9090")
    assert any(line.startswith("onnxruntime (not on the device)") for line in told)
    main(["verify", "--workspace", "w", "--times", "--json"])
    assert json.loads(capsys.readouterr().out)["device"] == "pi:9090"


def test_a_check_alone_shows_no_times(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.report = replace(
        library_samples.differing(), path=None, tuned=None, untuned=None, onnxruntime=None, contests=()
    )
    main(["verify", "--workspace", "w"])
    told = capsys.readouterr().out
    assert "median" not in told and "library:" not in told
    assert "DOES NOT MATCH" in told
    assert "logits: absolute 5.0e-01, relative inf, 12 of 1,000 elements outside" in told


def test_what_did_not_run_is_told_in_one_line(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    failures = ("untuned did not run: " + "why " * 80 + "not", "onnxruntime did not run: no kernel")
    engine.report = replace(library_samples.report(), failures=failures)
    main(["verify", "--workspace", "w"])
    assert set(failures) <= set(capsys.readouterr().out.splitlines())


def test_results_that_zeros_would_match_are_named(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    small = tuple(replace(each, largest=8e-5) for each in library_samples.report().outputs)
    engine.report = library_samples.report(outputs=small)
    main(["verify", "--workspace", "w"])
    told = capsys.readouterr().out
    assert "of results up to 8e-05" in told and "zeros would match, too: verify with a smaller --atol" in told


def test_what_comes_with_an_export_is_read_in_full(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.notices = (Notice(sentence="The report of run 1 will not tell of it."),)
    assert main(["export", "--workspace", "w", "--out", "/o", "--json"]) == DONE
    told = capsys.readouterr()
    assert "The report of run 1 will not tell of it." in told.err
    assert json.loads(told.out)["matches"]


def test_a_program_reads_one_object(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.report = library_samples.differing()
    main(["verify", "--workspace", "w", "--times", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["network"], told["matches"]) == ("sample", False)
    assert told["outputs"][0] == {
        "name": "logits",
        "elements": 1000,
        "beyond_tolerance": 12,
        "largest": 4.5,
        "max_abs_error": 0.5,
        "max_rel_error": None,
    }
    assert told["against"]["onnxruntime"] == {
        "speed_up": 1.02,
        "interval": [0.97, 1.05],
        "rounds": 11,
        "verdict": "tie",
    }
    assert (told["tuned_tasks"], told["fallback_tasks"]) == (2, ["fused_mean"])


def test_a_task_that_does_without_its_best_record_is_named(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = library_samples.report().tasks
    engine.report = library_samples.report(tasks=(replace(first, passed_over=1), *others))
    main(["verify", "--workspace", "w"])
    assert "tuned: fused_a1 (without its best record, which no longer applies)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(library_samples.differing(), id="differing"),
        pytest.param(library_samples.report(outputs=(), crashed=True), id="broken"),
        pytest.param(library_samples.report(outputs=()), id="not checked"),
    ],
)
@pytest.mark.parametrize("options", [[], ["--times"], ["--json"]])
def test_a_script_hears_of_results_that_do_not_match(
    engine: Engine, report: LibraryReport, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine.report = report
    assert main(["verify", "--workspace", "w", *options]) == UNMATCHED
    assert capsys.readouterr().err == ""


def test_a_bundle_that_was_written_was_written_whatever_its_check_said(engine: Engine) -> None:
    engine.report = library_samples.differing()
    assert main(["export", "--workspace", "w", "--out", "/o"]) == DONE


def test_a_stop_is_told(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.report = None
    assert main(["verify", "--workspace", "w"]) == INTERRUPTED
    assert "nothing was written" in capsys.readouterr().err


def test_a_stop_that_comes_while_the_bundle_is_written_does_not_say_that_nothing_was(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.interrupted = True
    assert main(["export", "--workspace", "w", "--out", "/o"]) == DONE
    told = capsys.readouterr()
    assert "nothing was written" not in told.err
    assert "Stopping; a bundle that is being written by now is finished. Ctrl+C again ends at once." in told.err
    assert f"library: {library_samples.report().path}" in told.out
