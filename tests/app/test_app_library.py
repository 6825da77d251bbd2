"""The library panel around an engine that answers from recordings: check, times, export, report, runners, tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import checkpoint_samples
import library_engine
import library_samples
import pytest
import recorded_run
import studio_engines
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from app import desktop
from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.run_state import Activity, EngineHealth
from app.settings import Settings
from app.views.library_actions import LibraryActions

Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def studio(open_studio: Open, qtbot: QtBot) -> Studio:
    """A studio with the sample open, in a workspace that holds a run of it."""
    studio = open_studio(library_engine.building)
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.library.tuned)
    studio.window.show_panel("library")
    return studio


def actions(studio: Studio) -> LibraryActions:
    return studio.window.library_panel.actions_


def click(qtbot: QtBot, button: QPushButton) -> None:
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def done(qtbot: QtBot, studio: Studio, text: str) -> None:
    """Wait for an announcement that says this, and for the engine to be free."""
    qtbot.waitUntil(lambda: text in studio.window.banner.text)
    assert studio.models.run.activity is Activity.READY and not studio.models.library.doing


def column(table: object, number: int) -> list[str]:
    model = table.model()  # type: ignore[attr-defined]
    return [model.index(row, number).data() for row in range(model.rowCount())]


def start(qtbot: QtBot, studio: Studio) -> None:
    """A whole run, to its library."""
    studio.window.actions_.start.trigger()
    qtbot.waitUntil(lambda: "Finished after" in studio.window.banner.text)


def test_a_network_that_was_never_tuned_says_what_to_do(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    assert actions(studio)._why.text() == "Open a network first."
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    assert "Tune this network first" in actions(studio)._why.text()
    assert not actions(studio).verify_button.isEnabled() and not studio.window.actions_.export.isEnabled()


def test_an_earlier_run_is_enough_to_verify(studio: Studio, qtbot: QtBot) -> None:
    panel = studio.window.library_panel
    assert panel._stack.currentIndex() == 0
    click(qtbot, actions(studio).verify_button)
    done(qtbot, studio, "Same results as onnxruntime: greatest absolute error 2.4e-06")
    assert panel._stack.currentIndex() == 1 and panel._headline.text() == "Checked, not timed"
    assert column(panel.outputs, 0) == ["logits", "mask"]
    assert column(panel.outputs, 1) == ["2.4e-06", "0"]
    assert column(panel.times, 1) == ["not timed"] * 3
    assert column(panel.tasks, 4).count("fallback: no record that ran") == 1


def test_times_tell_a_tie_and_outlive_the_next_check(studio: Studio, qtbot: QtBot) -> None:
    panel = studio.window.library_panel
    click(qtbot, actions(studio).time_button)
    done(qtbot, studio, "36.1× as fast as untuned TVM, a tie with onnxruntime")
    assert column(panel.times, 4) == ["tuned is faster", "–", "tie"]
    assert column(panel.times, 5)[2] == "0.970 to 1.05×"
    assert len(studio.models.estimates.references) == 3
    click(qtbot, actions(studio).verify_button)
    done(qtbot, studio, "Same results")
    assert column(panel.times, 4) == ["tuned is faster", "–", "tie"], "the same library: its times still hold"


def test_why_a_rival_is_left_out_is_told_below_the_tables(studio: Studio) -> None:
    slow = "untuned did not run: a run takes longer than 20 s"
    studio.models.library.take(library_samples.report(failures=(slow,)))
    assert studio.window.library_panel._coverage.text().startswith(f"{slow}. 2 of 3 tasks run")


def test_a_check_is_stopped(studio: Studio, qtbot: QtBot) -> None:
    studio.library.choose_tolerance(library_engine.HELD_RTOL, 1e-3)
    click(qtbot, actions(studio).verify_button)
    qtbot.waitUntil(lambda: "compile, check" in studio.models.library.doing)
    assert studio.models.run.activity is Activity.CHECKING
    assert not studio.window.actions_.start.isEnabled() and not actions(studio).export_button.isEnabled()
    assert studio.window.status.text() == "Building the library: compile, check"
    click(qtbot, actions(studio).stop_button)
    done(qtbot, studio, "Stopped; nothing was written.")
    assert studio.engine.generation == 1 and not actions(studio).stop_button.isVisible()


def test_an_engine_that_dies_in_a_check_leaves_the_window_usable(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(library_engine.building)
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.library.tuned)
    studio.library.choose_tolerance(library_engine.FATAL_RTOL, 1e-3)
    studio.library.verify()
    qtbot.waitUntil(lambda: "SIGKILL" in studio.window.banner.text)
    assert not studio.models.library.doing
    qtbot.waitUntil(lambda: studio.models.run.engine is EngineHealth.READY)
    assert actions(studio).verify_button.isEnabled()


def test_the_tolerance_is_kept_and_goes_with_checks_and_runs(studio: Studio, qtbot: QtBot, settings: Settings) -> None:
    fields = actions(studio).tolerance._fields
    fields[0].selectAll()
    qtbot.keyClicks(fields[0], "x")
    assert not actions(studio).verify_button.isEnabled()
    assert "A tolerance is a number" in actions(studio)._why.text()
    fields[0].selectAll()
    qtbot.keyClicks(fields[0], "1e-2")
    click(qtbot, actions(studio).verify_button)
    done(qtbot, studio, "(rtol 0.01, atol 0.001)")
    assert settings.tolerance == (1e-2, 1e-3)
    start(qtbot, studio)
    sentences = [studio.models.log.entry(row).sentence for row in range(studio.models.log.rowCount())]
    assert any("LibraryConfig(rtol=0.01, atol=0.001" in sentence for sentence in sentences)


def test_a_kept_tolerance_is_there_at_the_next_start(open_studio: Open, settings: Settings) -> None:
    settings.tolerance = (1e-5, 0.0)
    studio = open_studio(studio_engines.playing)
    assert actions(studio).tolerance.tolerance == (1e-5, 0.0)
    settings._store.setValue("tolerance", '[1, "two"]')
    assert settings.tolerance is None


def test_a_runner_is_copied_from_the_bundle(studio: Studio, qtbot: QtBot, tmp_path: Path) -> None:
    assert not actions(studio).copy_button.isEnabled() and "Export the library first" in actions(studio)._why.text()
    (tmp_path / "run.py").write_text("import tvm\nrun()\n", encoding="utf-8")
    studio.window.export_requested.emit(str(tmp_path))
    done(qtbot, studio, f"Exported to {tmp_path}. Same results")
    assert actions(studio).copy_button.isEnabled() and actions(studio).folder_button.isEnabled()
    python, cpp = actions(studio)._menu.actions()
    python.trigger()
    assert QGuiApplication.clipboard().text() == "import tvm\nrun()\n"
    assert "Copied run.py, 2 lines" in studio.window.banner.text
    cpp.trigger()
    assert "run.cpp cannot be read" in studio.window.banner.text
    assert QGuiApplication.clipboard().text() == "import tvm\nrun()\n"


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files a person chooses, last first; and what is opened afterwards, appended."""
    files: list[str] = []
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (files.pop() if files else "", ""))
    return files


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is handed to the desktop, which opens all but what it calls unknown."""
    seen: list[str] = []

    class Desktop:
        @staticmethod
        def openUrl(url: object) -> bool:  # noqa: N802  Qt's name
            seen.append(url.toLocalFile())  # type: ignore[attr-defined]
            return "unknown" not in seen[-1]

    monkeypatch.setattr(desktop, "QDesktopServices", Desktop)
    return seen


def test_a_run_is_reported_and_the_page_opened(
    studio: Studio, qtbot: QtBot, chosen: list[str], opened: list[str], tmp_path: Path
) -> None:
    button = actions(studio).report_button
    assert button.isEnabled() and [run.id for run in button.shown] == [1]
    page = tmp_path / "resnet.v2.html"
    page.touch()
    chosen.append(str(tmp_path / "resnet.v2"))
    button.menu().actions()[0].trigger()
    done(qtbot, studio, f"The report of run 1 lies in {page}.")
    assert studio.models.log.entry(0).sentence == "report without a library"
    studio.window.banner.action_button.click()
    assert opened == [str(page)]
    chosen.append("/reports/letter.html")
    button.menu().actions()[0].trigger()
    done(qtbot, studio, "'/reports/letter.html' is no report of a run.")
    button.menu().actions()[0].trigger()  # the question is cancelled
    assert studio.models.run.activity is Activity.READY


def test_a_page_that_is_gone_is_announced(
    studio: Studio, qtbot: QtBot, chosen: list[str], opened: list[str], tmp_path: Path
) -> None:
    chosen.append(str(tmp_path / "gone.html"))
    actions(studio).report_button.menu().actions()[0].trigger()
    done(qtbot, studio, "The report of run 1")
    studio.window.banner.action_button.click()
    assert studio.window.banner.text == f"There is no {tmp_path / 'gone.html'} any more." and not opened


def test_the_bundles_folder_is_shown_or_it_is_said_why_not(
    studio: Studio, qtbot: QtBot, opened: list[str], tmp_path: Path
) -> None:
    for name in ("bundle", "unknown"):
        (tmp_path / name).mkdir()
        studio.window.export_requested.emit(str(tmp_path / name))
        done(qtbot, studio, f"Exported to {tmp_path / name}.")
        click(qtbot, actions(studio).folder_button)
        assert opened[-1] == str(tmp_path / name)
    assert "no program that opens" in studio.window.banner.text
    (tmp_path / "unknown").rmdir()
    click(qtbot, actions(studio).folder_button)
    assert studio.window.banner.text == f"There is no {tmp_path / 'unknown'} any more." and len(opened) == 2


def test_what_was_checked_since_the_run_goes_into_its_report(studio: Studio, qtbot: QtBot, chosen: list[str]) -> None:
    click(qtbot, actions(studio).time_button)
    done(qtbot, studio, "a tie")
    chosen.append("/reports/r.html")
    actions(studio).report_button.menu().actions()[0].trigger()
    done(qtbot, studio, "The report of run 1")
    assert studio.models.log.entry(0).sentence == "report with a library"


def test_the_tasks_are_foretold_in_a_run_and_told_after_it(studio: Studio, qtbot: QtBot) -> None:
    panel = studio.window.library_panel
    start(qtbot, studio)
    assert column(panel.tasks, 4).count("tuned: best record") == 14
    studio.engine.events.emit((next(recorded_run.RecordedRun().events()),))  # a run begins anew
    studio.models.run.activity = Activity.RUNNING
    studio.models.run.announce()
    assert "A run is on" in actions(studio)._why.text() and not actions(studio).verify_button.isEnabled()
    assert "tuned: best record" not in column(panel.tasks, 4)
    studio.models.run.activity = Activity.READY
    studio.models.run.announce()


def test_a_repeated_run_has_the_whole_configuration(studio: Studio, qtbot: QtBot) -> None:
    (past,) = studio.window.run_panel.past_runs.shown
    config = replace(
        past.config, include=(recorded_run.tasks()[2].key,), library=replace(past.config.library, rtol=0.5)
    )
    studio.models.checkpoints.set_listing(checkpoint_samples.listing("/w", runs=(replace(past, config=config),)))
    studio.window.run_panel.past_runs.menu().actions()[0].trigger()
    log = studio.models.log
    qtbot.waitUntil(lambda: log.rowCount() > 0 and "Finished after" in studio.window.banner.text)
    assert repr(replace(config, workspace="/w")) in [log.entry(row).sentence for row in range(log.rowCount())]
    assert actions(studio).tolerance.tolerance == (0.5, 1e-3), "the panel shows what the run is checked to"
