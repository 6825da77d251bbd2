"""Pictures of every panel around engines that play recorded events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import studio_engines
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from app import screenshots
from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.screenshots import Photographer

Open = Callable[[EngineTarget], Studio]
# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screenshots, "SIZES", ((960, 640),))
    monkeypatch.setattr(screenshots, "_REST_MS", 1)


def photograph(studio: Studio, out: Path, qtbot: QtBot) -> Photographer:
    photographer = Photographer(studio, out, 0.001, str(out / "w"), lambda _: None)
    photographer.begin()
    qtbot.waitUntil(lambda: not studio.window.isVisible())
    return photographer


def test_every_panel_is_taken_in_light_and_dark(open_studio: Open, qtbot: QtBot, tmp_path: Path) -> None:
    studio = open_studio(studio_engines.inspecting)
    panels = [*studio.window.docks]
    photographer = photograph(studio, tmp_path, qtbot)

    assert photographer.problem == ""
    taken = {path.name for path in tmp_path.glob("*.png")}
    names = ["start", *panels, "plot-prediction", "plot-rounds", "plot-best", "plot-roofline"]
    assert {f"{name}-{scheme}-960x640.png" for name in names for scheme in ("light", "dark")} <= taken
    light, dark = (QImage(str(tmp_path / f"tasks-{scheme}-960x640.png")) for scheme in ("light", "dark"))
    assert (light.width(), light.height()) == (960, 640)
    assert light.pixelColor(4, 4).lightness() > dark.pixelColor(4, 4).lightness()
    assert studio.models.schedules.chosen.view is not None, "a record was opened for the schedules panel"


def test_a_lost_engine_ends_it_with_a_sentence(open_studio: Open, qtbot: QtBot, tmp_path: Path) -> None:
    photographer = photograph(open_studio(studio_engines.stillborn), tmp_path, qtbot)
    assert "status 3" in photographer.problem


def test_a_folder_that_cannot_be_written_is_named(open_studio: Open, qtbot: QtBot, tmp_path: Path) -> None:
    photographer = photograph(open_studio(studio_engines.inspecting), tmp_path / "gone", qtbot)
    assert photographer.problem.startswith(str(tmp_path / "gone"))
