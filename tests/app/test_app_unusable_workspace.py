"""A workspace that cannot be used says so as soon as it is chosen, and not at the start of a run."""

from __future__ import annotations

from collections.abc import Callable

import checkpoint_samples
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.run_state import Activity

NEWER = "The workspace /a/long/path/to/a/workspace has schema 99 and this version knows up to 9; update TCL Studio."


def listed(studio: Studio, folder: str, problem: str) -> None:
    studio.engine.events.emit((checkpoint_samples.listing(folder, checkpoints=(), earlier=None, problem=problem),))


def test_what_is_wrong_with_a_workspace_stands_where_a_run_is_started(
    open_studio: Callable[[EngineTarget], Studio], qtbot: QtBot
) -> None:
    studio = open_studio(checkpoint_samples.teaching)
    window, run_panel = studio.window, studio.window.run_panel
    window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    assert window.status.text() == "Ready to tune"
    run_panel.form.workspace_edited.emit("/newer")
    listed(studio, "/newer", NEWER)
    assert window.status.text() == NEWER
    assert run_panel._phase.text().replace("\u200b", "") == NEWER
    assert run_panel._phase.minimumSizeHint().width() < 200, "a path breaks where it has room"
    listed(studio, "/another", "Of a workspace that was left.")
    assert window.status.text() == NEWER
    listed(studio, "/newer", "")
    assert window.status.text() == "Ready to tune", "it was mended meanwhile"
    listed(studio, "/newer", NEWER)
    run_panel.form.workspace_edited.emit("/good")
    assert window.status.text() == "Ready to tune", "nothing is known of it yet"
