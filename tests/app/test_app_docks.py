"""The docks' share of the window, whatever its size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import studio_engines
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow, QWidget
from pytestqt.qtbot import QtBot

from app import docks
from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.announcement import Announcement, Mood
from app.models.run_state import Activity

Open = Callable[[EngineTarget], Studio]


TAB = 30
"""The tabs above the docks, about; they belong to the docks' share and do not grow."""


@pytest.mark.parametrize("dragged", [None, 365])
def test_what_a_larger_window_gains_is_shared(open_studio: Open, qtbot: QtBot, dragged: int | None) -> None:
    window = open_studio(studio_engines.playing).window
    window.resize(1280, 800)
    tasks = window.docks["tasks"]
    first = tasks.height()
    if dragged is not None:
        window.resizeDocks([tasks], [dragged], Qt.Orientation.Vertical)
        qtbot.waitUntil(lambda: tasks.height() > first)
    before, centre = tasks.height() + TAB, window.centralWidget().height()
    window.resize(1280, 1400)
    qtbot.waitUntil(lambda: (tasks.height() + TAB) / 1400 == pytest.approx(before / 800, abs=0.01))
    assert window.centralWidget().height() > 1.5 * centre
    for height in range(1400, 790, -20):  # as a hand draws it smaller
        window.resize(1280, height)
        qtbot.wait(1)
    qtbot.waitUntil(lambda: tasks.height() + TAB == pytest.approx(before, abs=8))


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # Qt's offscreen plugin, of a second window
def test_a_dock_that_floats_keeps_its_size(open_studio: Open, qtbot: QtBot) -> None:
    window = open_studio(studio_engines.playing).window
    tasks = window.docks["tasks"]
    tasks.setFloating(True)
    before = tasks.height()
    window.resize(1280, 1400)
    qtbot.wait(20)
    assert tasks.height() == before


def test_the_view_menu_brings_a_panel_to_the_front_and_hides_it(open_studio: Open, qtbot: QtBot) -> None:
    docks = open_studio(studio_engines.playing).window.docks
    library, tasks = docks["library"], docks["tasks"]
    action = docks.actions[list(docks).index("library")]
    qtbot.waitUntil(lambda: not tasks.visibleRegion().isEmpty())
    assert (action.text(), action.shortcut().toString(), action.isChecked()) == ("Library", "Alt+7", False)
    action.trigger()
    qtbot.waitUntil(lambda: not library.visibleRegion().isEmpty())
    assert action.isChecked() and tasks.visibleRegion().isEmpty()
    action.trigger()
    assert library.isHidden() and not action.isChecked()
    action.trigger()
    qtbot.waitUntil(lambda: not library.visibleRegion().isEmpty())


def test_an_eleventh_panel_takes_no_key_from_another(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Qt answers a key that two actions have with neither of them."""
    monkeypatch.setitem(docks._TITLES, "eleventh", "Eleventh")
    window = QMainWindow()
    qtbot.addWidget(window)
    made = docks.Docks(window, {name: QWidget() for name in docks._TITLES})
    keys = [action.shortcut().toString() for action in made.actions]
    assert keys == [*(f"Alt+{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 0)), ""]


def test_what_tab_reaches_is_seen(open_studio: Open, qtbot: QtBot) -> None:
    window = open_studio(studio_engines.playing).window
    seen = set()
    for _ in range(60):
        qtbot.keyClick(window.focusWidget() or window, Qt.Key.Key_Tab)
        focused = window.focusWidget()
        if focused is not None:
            qtbot.waitUntil(lambda: not focused.visibleRegion().isEmpty())  # noqa: B023
            seen.add(id(focused))
    assert len(seen) > 10


def test_the_smallest_window_has_room_for_all_that_is_in_it(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    window = studio.window
    window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    window.banner.announce(Announcement(mood=Mood.GOOD, sentence="Finished. " * 12, action=None, action_text=""))
    window.resize(window.minimumSize())
    needed = window.minimumSizeHint()
    assert needed.width() <= 900 and needed.height() <= 600
    for name, dock in window.docks.items():
        window.show_panel(name)
        qtbot.waitUntil(lambda: not dock.visibleRegion().isEmpty())  # noqa: B023
        assert window.rect().contains(dock.geometry())
    plots = window.plots_panel
    assert plots.width() >= plots.minimumSizeHint().width() and plots.height() >= plots.minimumSizeHint().height()


def test_the_side_keeps_its_width(open_studio: Open) -> None:
    window = open_studio(studio_engines.playing).window
    width = window.docks["run"].width()
    window.resize(2000, 1400)
    assert window.docks["run"].width() == width


def test_the_first_layout_has_its_share_of_a_larger_window(open_studio: Open, qtbot: QtBot) -> None:
    window = open_studio(studio_engines.playing).window
    window.resize(1280, 800)
    tasks = window.docks["tasks"]
    before = tasks.height() + TAB
    window.resize(1280, 1400)
    window.resizeDocks([tasks], [800], Qt.Orientation.Vertical)
    qtbot.waitUntil(lambda: tasks.height() > 700)
    window.actions_.reset_layout.trigger()
    qtbot.waitUntil(lambda: (tasks.height() + TAB) / 1400 == pytest.approx(before / 800, abs=0.02))


@pytest.mark.parametrize("opened", [False, True])
def test_a_window_that_was_large_for_a_while_has_the_docks_it_had(
    open_studio: Open, qtbot: QtBot, opened: bool
) -> None:
    studio = open_studio(studio_engines.playing)
    window = studio.window
    if opened:
        window.open_requested.emit(None)
        qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    window.resize(1280, 800)
    tasks = window.docks["tasks"]
    qtbot.waitUntil(lambda: tasks.height() > 300)
    before = tasks.height()
    window.resize(2560, 1440)
    qtbot.waitUntil(lambda: tasks.height() > 1.5 * before)
    window.resize(1280, 800)
    qtbot.wait(100)
    assert tasks.height() == pytest.approx(before, abs=8)
