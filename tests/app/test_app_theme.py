"""Colours can be read, icons can be drawn, settings survive nonsense."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLineEdit, QTabBar, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.icons import ICONS, icon
from app.models.announcement import Announcement, Mood
from app.models.run_request import RunRequest
from app.settings import RECENT_LIMIT, Settings
from app.style_sheet import style_sheet
from app.theme import Scheme, Theme
from app.tokens import DARK, LIGHT, Tokens
from app.widgets.banner import Banner
from app.widgets.graph_view import GraphView


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [QColor(colour).redF(), QColor(colour).greenF(), QColor(colour).blueF()]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(tokens: Tokens) -> None:
    for ground in (tokens.window, tokens.surface):
        assert contrast(tokens.text, ground) > 7
        for name in ("muted", "good", "warn", "bad", "measured", "untuned", "onnxruntime"):
            assert contrast(getattr(tokens, name), ground) > 4.5, name
    assert min(contrast(tokens.on_accent, ground) for ground in (tokens.accent, tokens.accent_hover)) > 4.5
    assert contrast(tokens.text, tokens.selection) > 7


def test_style_sheet_is_filled_in() -> None:
    assert "$" not in style_sheet(DARK)
    assert DARK.accent in style_sheet(DARK)


def browse(*, checked: bool = False) -> QToolButton:
    made = QToolButton()
    made.setObjectName("browse")
    made.setText("...")
    made.setCheckable(True)
    made.setChecked(checked)
    return made


def tabs() -> QTabBar:
    made = QTabBar()
    for title in ("Tasks", "Network"):
        made.addTab(title)
    return made


def banner() -> Banner:
    made = Banner()
    made.apply_tokens(LIGHT)
    made.announce(Announcement(mood=Mood.GOOD, sentence="It is done."))
    return made


def graph() -> GraphView:
    made = GraphView()
    made.apply_tokens(LIGHT)
    return made


@pytest.mark.parametrize(
    "make",
    [browse, partial(browse, checked=True), tabs, banner, graph],
    ids=["button", "checked", "tabs", "banner", "graph"],
)
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_the_focus_of_the_keyboard_can_be_seen_and_moves_nothing(
    qapp: object, qtbot: QtBot, make: Callable[[], QWidget]
) -> None:
    Theme(Scheme.LIGHT).apply()
    host, other, part = QWidget(), QLineEdit(), make()
    qtbot.addWidget(host)
    layout = QVBoxLayout(host)
    layout.addWidget(other)
    layout.addWidget(part)
    part.show()
    host.show()
    host.activateWindow()
    qtbot.waitUntil(host.isActiveWindow)
    taker = part.findChild(QToolButton) if isinstance(part, Banner) else part
    assert isinstance(taker, QWidget) and taker.focusPolicy() & Qt.FocusPolicy.TabFocus
    other.setFocus()
    before, place, room = taker.grab().toImage(), taker.geometry(), taker.sizeHint()
    taker.setFocus(Qt.FocusReason.TabFocusReason)
    assert taker.hasFocus()
    assert taker.grab().toImage() != before
    assert (taker.geometry(), taker.sizeHint()) == (place, room)


@pytest.mark.parametrize("name", sorted(path.stem for path in ICONS.glob("*.svg")))
def test_icons_are_drawn_in_the_colour_asked_for(qtbot: QtBot, name: str) -> None:
    image = icon(name, "#ff0000").pixmap(32, 32).toImage()
    colours = {
        image.pixelColor(x, y).name() for x in range(32) for y in range(32) if image.pixelColor(x, y).alpha() > 200
    }
    assert colours
    if "currentColor" in (ICONS / f"{name}.svg").read_text():
        assert "#ff0000" in colours


def test_recent_networks_are_bounded_and_newest_first(settings: Settings) -> None:
    for number in range(RECENT_LIMIT + 3):
        settings.add_recent(f"{number}.onnx")
    settings.add_recent("5.onnx")
    assert settings.recent[0] == "5.onnx"
    assert len(settings.recent) == len(set(settings.recent)) == RECENT_LIMIT
    settings.forget_recent()
    assert settings.recent == ()


def test_form_survives_a_restart_without_its_workspace(tmp_path: Path) -> None:
    path = str(tmp_path / "studio.ini")
    first = Settings(QSettings(path, QSettings.Format.IniFormat), tmp_path)
    first.request = RunRequest(minutes=None, trials=99, sampler="kcenter", workspace="/w")
    first.scheme = Scheme.DARK
    first.sync()
    second = Settings(QSettings(path, QSettings.Format.IniFormat), tmp_path)
    assert second.request == RunRequest(minutes=None, trials=99, sampler="kcenter")
    assert second.scheme is Scheme.DARK


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"minutes": "soon", "trials": -4, "seed": true, "other": 1}'])
def test_unreadable_settings_count_as_never_written(tmp_path: Path, text: str) -> None:
    store = QSettings(str(tmp_path / "studio.ini"), QSettings.Format.IniFormat)
    for key in ("request", "recent", "scheme"):
        store.setValue(key, text)
    settings = Settings(store, tmp_path)
    assert settings.request == RunRequest()
    assert settings.scheme is Scheme.SYSTEM
    assert settings.layout() is None


def test_default_workspace_lies_in_the_data_folder(tmp_path: Path, settings: Settings) -> None:
    assert settings.default_workspace("resnet18") == tmp_path / "data" / "workspaces" / "resnet18"
