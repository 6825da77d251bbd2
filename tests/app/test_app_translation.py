"""A translation is found by its language and shown in the window: texts, column titles, sentences with values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import studio_engines
import translations
from PySide6.QtCore import QLocale, Qt, QTranslator
from PySide6.QtWidgets import QApplication

from app import translation
from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models import wording
from app.models.run_state import Activity
from app.models.task_columns import TaskColumn
from tcl_core.events import Finished

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shouted(qapp: QApplication, tmp_path: Path) -> Iterator[QApplication]:
    """A language that writes every text after an exclamation mark."""
    written = tmp_path / "studio_de.ts"
    translations.collect(written, sorted(ROOT.glob("app/**/*.py")))
    tree = ElementTree.parse(written)
    for message in tree.iter("message"):
        said = message.find("translation")
        assert said is not None
        said.text, said.attrib = f"¡{message.findtext('source')}", {}
    tree.write(written, encoding="utf-8", xml_declaration=True)
    translations.release(written, written.with_suffix(".qm"))
    assert translation.install(qapp, QLocale("de_AT"), tmp_path)
    yield qapp
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.deleteLater()


def test_the_window_speaks_the_language(shouted: QApplication, open_studio: Callable[[EngineTarget], Studio]) -> None:
    window = open_studio(studio_engines.playing).window
    assert window.start_page.sample_button.text() == "¡Tune the sample network"
    assert window.actions_.open.text() == "¡&Open…"
    header = window.task_panel.table.model().headerData(TaskColumn.GAIN, Qt.Orientation.Horizontal)
    assert header == "¡Gain (µs)"
    assert window.plots_panel.left.tabs.tabText(0) == "¡Prediction"
    assert window.docks["what-if"].windowTitle() == "¡What-if"
    assert [action.text() for action in window.docks.actions][:2] == ["¡Run", "¡Tasks"]
    finished = Finished(
        reason="trials", trials=1200, failed=0, seconds=61.0, seconds_by_stage=(), candidates_scored=0, library=None
    )
    assert wording.ending(finished) == "¡Finished after 1:01 and ¡1,200 trials: ¡all trials were used."


def test_in_any_language_icons_are_drawn_for_a_pause_alone(
    shouted: QApplication, open_studio: Callable[[EngineTarget], Studio]
) -> None:
    studio = open_studio(studio_engines.playing)
    hold, run = studio.window.actions_.hold, studio.models.run
    run.activity = Activity.RUNNING
    run.announce()
    changes: list[str] = []
    hold.changed.connect(lambda: changes.append(hold.text()))
    run.announce()
    assert not changes
    run.activity = Activity.PAUSED
    run.announce()
    assert changes[-1] == "¡&Resume"
    run.activity = Activity.READY
    run.announce()


def test_without_a_translation_the_text_stays(qapp: QApplication, tmp_path: Path) -> None:
    assert not translation.install(qapp, QLocale("fr_FR"), tmp_path)
    assert translation.tr("{count:,} trials", count=3000) == "3,000 trials"
    assert translation.tr("a {brace} without values") == "a {brace} without values"
