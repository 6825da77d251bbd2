"""The question for a file to write: its ending, and files that are there already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from app.views.save_question import ask_where_to_save

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
Ask = Callable[..., Path | None]


class Person:
    """Chooses names one after the other, and presses the same button at every question about a file."""

    def __init__(self) -> None:
        self.names: list[Path] = []
        self.button = ""
        self.proposals: list[str] = []
        self.options: list[QFileDialog.Option] = []
        self.asked: list[str] = []

    def choose(
        self, _window: QWidget, _question: str, proposal: str, _kinds: str, _kind: str, option: QFileDialog.Option
    ) -> tuple[str, str]:
        self.proposals.append(proposal)
        self.options.append(option)
        return (str(self.names.pop(0)), "") if self.names else ("", "")

    def press(self) -> None:
        box = QApplication.activeModalWidget()
        if isinstance(box, QMessageBox):
            self.asked.append(box.text())
            next(button for button in box.buttons() if button.text() == self.button).click()


@pytest.fixture
def person(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    made, timer = Person(), QTimer()
    timer.timeout.connect(made.press)
    timer.start(10)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", made.choose)
    yield made
    timer.stop()


@pytest.fixture
def ask(qtbot: QtBot, tmp_path: Path) -> Ask:
    window = QWidget()
    qtbot.addWidget(window)

    def ask(**options: bool) -> Path | None:
        return ask_where_to_save(window, "Save the numbers", tmp_path / "plot.csv", "CSV (*.csv)", ".csv", **options)

    return ask


@pytest.mark.parametrize(
    ("typed", "written"),
    [("plot.csv", "plot.csv"), ("plot.CSV", "plot.CSV"), ("plot", "plot.csv"), ("resnet.v2", "resnet.v2.csv")],
)
def test_a_file_has_the_ending_that_belongs_to_it(
    ask: Ask, person: Person, tmp_path: Path, typed: str, written: str
) -> None:
    person.names = [tmp_path / typed]
    assert ask() == tmp_path / written
    assert person.options == [QFileDialog.Option(0)], "the dialog asks before it lets a file be replaced"
    assert not person.asked


def test_a_cancelled_question_names_no_file(ask: Ask, person: Person, tmp_path: Path) -> None:
    assert ask() is None
    assert person.proposals == [str(tmp_path / "plot.csv")]


def test_a_file_that_only_the_ending_names_is_replaced_when_a_person_says_so(
    ask: Ask, person: Person, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text("precious\n", encoding="utf-8")
    person.names, person.button = [tmp_path / "mine"], "Replace"
    assert ask() == tmp_path / "mine.csv"
    assert person.asked == ["mine.csv exists already. Replace it?"]


def test_who_keeps_a_file_is_asked_for_another_name(ask: Ask, person: Person, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("precious\n", encoding="utf-8")
    person.names, person.button = [tmp_path / "mine", tmp_path / "other"], "Choose another name"
    assert ask() == tmp_path / "other.csv"
    assert person.asked == ["mine.csv exists already. Replace it?"]
    assert person.proposals == [str(tmp_path / "plot.csv"), str(tmp_path / "mine.csv")]


def test_nobody_is_asked_about_a_file_that_cannot_be_replaced(ask: Ask, person: Person, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("precious\n", encoding="utf-8")
    person.names = [tmp_path / "mine"]
    assert ask(guarded=True) == tmp_path / "mine.csv"
    assert person.options == [QFileDialog.Option.DontConfirmOverwrite]
    assert not person.asked
