"""A translation is found by its language and shown in the window: texts, column titles, sentences with values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import checkpoint_samples
import library_samples
import pytest
import recorded_pool
import recorded_run
import recorded_what_if
import studio_engines
import translations
from PySide6.QtCore import QLocale, Qt, QTranslator
from PySide6.QtWidgets import QApplication

from app import translation
from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.jobs.engine_thread import EngineLoss
from app.models import evaluation, library_tables, pool_maps, what_if_wording, wording
from app.models.log_table import Entry, EntryKind, LogTableModel
from app.models.run_state import Activity, OpenedNetwork, RunState
from app.models.task_columns import TaskColumn
from app.views import past_runs
from tcl_core.domain import ImportReport, Stage
from tcl_core.events import Finished, PhaseChanged
from tcl_core.schedule_events import PlaceKind
from tcl_core.what_if_events import LoopUse, Prediction

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
    assert (window.what_if_panel.undo.text(), window.what_if_panel.redo.text()) == ("¡Undo", "¡Redo")
    metrics = window.checkpoints_panel.evaluation.metric_box
    assert metrics.itemText(metrics.findData("pairwise")) == "¡pairwise accuracy"
    assert window.schedules_panel.left.trace.as_text() == "#\t¡Primitive\t¡Arguments\t¡Decision\t¡Score"
    assert [action.text() for action in window.docks.actions][:2] == ["¡Run", "¡Tasks"]
    finished = Finished(
        reason="trials", trials=1200, failed=0, seconds=61.0, seconds_by_stage=(), candidates_scored=0, library=None
    )
    assert wording.ending(finished) == "¡Finished after 1:01 and ¡1,200 trials: ¡all trials were used."
    stopped = wording.ending(replace(finished, reason="stopped"))
    assert stopped == "¡Stopped after 1:01 and ¡1,200 trials; everything measured is kept."


@pytest.mark.parametrize("activity", [Activity.RUNNING, Activity.CHECKING, Activity.TEACHING])
def test_the_question_whether_to_close_is_three_whole_texts(shouted: QApplication, activity: Activity) -> None:
    run = RunState()
    run.activity = activity
    asked = wording.closing(run)
    assert [text.count("¡") for text in (asked.title, asked.question, asked.kept)] == [1, 1, 1]


def test_words_in_lists_and_tables_are_in_the_language(shouted: QApplication) -> None:
    opened = OpenedNetwork(
        network=recorded_run.NETWORK,
        platform=recorded_run.PLATFORM,
        report=ImportReport(operators=(), issues=(), seconds=0.0),
    )
    assert "\n¡in: image float32" in wording.network_details(opened)
    assert "\n¡out: logits float32" in wording.network_details(opened)
    assert wording.heartbeat(0.0) == "¡alive"
    (past, _) = checkpoint_samples.runs()
    assert past_runs.told(past).endswith("¡480 trials · rdu, mamba · ¡seed 11 · ¡ended: ¡all trials were used")
    assert past_runs.told(replace(past, trials=None, reason="interrupted")).endswith(
        "¡unfinished · rdu, mamba · ¡seed 11 · ¡ended: ¡its process ended before it did"
    )
    rows = library_tables.contenders(library_samples.report())
    cells = [column.text(row) for column in library_tables.TIME_COLUMNS for row in rows]
    assert {"¡tuned", "¡tuned is faster", "¡tie"} <= set(cells)
    entry = Entry(at=0.0, kind=EntryKind.REFUSED, sentence="")
    log = LogTableModel()
    log.add(entry)
    assert log.index(0, 1).data() == "¡refused"


def test_counts_are_no_english_plurals(shouted: QApplication) -> None:
    evaluated = checkpoint_samples.evaluated("/w")
    row, column = evaluated.rows[0], evaluated.platforms[0]
    assert "¡2 checkpoints on ¡3 platforms" in evaluation.outcome(evaluated)
    assert "¡26 tasks of mobilenet_v2" in evaluation.cell_text(row, column, row.cells[0])


def test_what_ifs_are_told_in_the_language(shouted: QApplication) -> None:
    tile, *_, location = recorded_what_if.CONTROLS
    assert what_if_wording.name(tile) == "tile ¡of loop i ¡in matmul"
    assert what_if_wording.name(location) == "compute location ¡of relu"
    uses = (LoopUse(kind=PlaceKind.PARALLEL, name="i", extent=32),)
    assert what_if_wording.loops(uses) == "¡parallel: i 32"
    assert what_if_wording.rank(Prediction(score=1.0, ahead=1, measured=1)) == "¡below the only one measured"
    assert what_if_wording.ordinal(22) == "¡22nd" and what_if_wording.ordinal(112) == "¡112th"


def test_the_window_names_records_and_work_in_the_language(
    shouted: QApplication, open_studio: Callable[[EngineTarget], Studio]
) -> None:
    studio = open_studio(studio_engines.playing)
    assert studio.window.schedules_panel.left.copy_button.accessibleName() == "¡Copy of the ¡record"
    studio.models.library.doing = "at work"
    studio.library.take_events((PhaseChanged(stage=Stage.LIBRARY, detail="compile"),))
    assert studio.models.library.doing == "¡Building the library: compile"
    studio.library.take_loss(EngineLoss(generation=1, forced=False, reason="", restarting=True))


def test_a_file_has_the_same_words_in_every_language(shouted: QApplication) -> None:
    table = pool_maps.table_of(recorded_pool.mapped(), str)
    standing = table.header.index("standing")
    assert {row[standing] for row in table.rows} == {"measured", "chosen", "pool"}


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
