"""A window of 1024 x 720: no plot is behind an arrow, and no panel, nor a table in it, scrolls to the side."""

from __future__ import annotations

from collections.abc import Callable

import checkpoint_samples
import pytest
import recorded_what_if
import studio_engines
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractScrollArea, QLabel, QScrollArea
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.checkpoint_table import CheckpointColumn
from app.views.plots_panel import Left, Right
from app.widgets.copy_table import CopyTable
from app.widgets.parts import ElidedLabel

Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def small(tuned_studio: Open) -> Studio:
    studio = tuned_studio(studio_engines.supposing)
    studio.window.resize(1024, 720)
    return studio


def test_every_plot_is_named(small: Studio, qtbot: QtBot) -> None:
    plots = small.window.plots_panel
    for card in (plots.left, plots.right):
        tabs = card.tabs
        qtbot.waitUntil(
            lambda tabs=tabs: tabs.width() >= sum(tabs.tabRect(number).width() for number in range(tabs.count())),
        )
    assert plots._choice.shown == "All tasks" and plots._horizontal.shown == "over time"


def test_the_chosen_task_is_named_whole_in_the_usual_window(small: Studio, qtbot: QtBot) -> None:
    small.window.resize(1280, 800)
    plots = small.window.plots_panel
    plots.select_task(recorded_what_if.TASK.key)
    qtbot.waitUntil(lambda: plots._choice.shown == recorded_what_if.TASK.name)


def test_a_legend_has_its_room_before_the_words_beside_it(small: Studio, qtbot: QtBot) -> None:
    plots = small.window.plots_panel
    for card, page in ((plots.left, Left.SCORES), (plots.left, Left.POOL), (plots.right, Right.ROOFLINE)):
        card.show_page(page)
        legend = card._footers.currentWidget().layout().itemAt(0).widget()
        assert isinstance(legend, ElidedLabel)
        qtbot.waitUntil(lambda legend=legend: legend.isVisible() and legend.shown == legend.text())


@pytest.mark.parametrize(
    "name", ["tasks", "network", "schedules", "what-if", "failures", "library", "checkpoints", "devices"]
)
def test_no_panel_scrolls_to_the_side(small: Studio, qtbot: QtBot, name: str) -> None:
    small.models.checkpoints.set_listing(checkpoint_samples.listing("/w"))
    small.window.show_panel(name)
    area = small.window.docks[name].widget()
    assert isinstance(area, QScrollArea)
    qtbot.waitUntil(lambda: area.isVisible() and area.widget().width() <= area.viewport().width())
    assert area.horizontalScrollBar().maximum() == 0


def test_no_table_scrolls_to_the_side_and_all_columns_are_there_in_the_usual_window(
    small: Studio, qtbot: QtBot
) -> None:
    window = small.window
    small.models.checkpoints.set_listing(checkpoint_samples.listing("/w"))
    window.task_panel.select_task(recorded_what_if.TASK.key)
    window.show_panel("what-if")
    window.what_if_panel.best_button.click()
    qtbot.waitUntil(lambda: small.models.what_if.answer is not None)
    small.schedules.open_best()
    qtbot.waitUntil(lambda: not small.models.schedules.chosen.waiting)
    library = window.library_panel
    for name, table, hidden in (
        ("tasks", window.task_panel.table, ["MFLOP", "FLOP/byte", "GFLOP/s"]),
        ("schedules", window.schedules_panel.left.table, ["Score"]),
        ("what-if", window.what_if_panel.table, ["Of the best"]),
        ("what-if", window.what_if_panel.decisions, []),
        ("library", library.times, ["Verdict", "95 % interval"]),
        ("library", library.tasks, ["Weight", "Share"]),
        ("library", library.outputs, ["Largest", "Relative error", "Elements"]),
        ("checkpoints", window.checkpoints_panel.table, ["Pairwise", "Model", "KB", "Platform"]),
    ):
        window.show_panel(name)
        if name == "library":
            library.tabs.setCurrentWidget(table)
        qtbot.waitUntil(lambda table=table: table.isVisible() and sideways(table) == 0)
        if isinstance(table, CopyTable):
            qtbot.waitUntil(lambda table=table, hidden=hidden: gone(table) == hidden)
    window.resize(1280, 800)
    window.show_panel("tasks")
    qtbot.waitUntil(lambda: gone(window.task_panel.table) == [])
    assert sideways(window.task_panel.table) == 0


def sideways(area: QAbstractScrollArea) -> int:
    return area.horizontalScrollBar().maximum()


def gone(table: CopyTable) -> list[str]:
    model = table.model()
    hidden = (column for column in range(model.columnCount()) if table.isColumnHidden(column))
    return [model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole) for column in hidden]


def test_what_is_looked_for_in_the_network_can_be_read(small: Studio, qtbot: QtBot) -> None:
    panel = small.window.network_panel
    small.window.show_panel("network")
    qtbot.waitUntil(panel.search.isVisible)
    words = panel.search.fontMetrics().horizontalAdvance(panel.search.placeholderText())
    qtbot.waitUntil(lambda: panel.search.width() > words + 20)


def test_decisions_have_more_room_than_the_words_beside_them(small: Studio, qtbot: QtBot) -> None:
    window = small.window
    window.task_panel.select_task(recorded_what_if.TASK.key)
    window.show_panel("what-if")
    window.what_if_panel.best_button.click()
    qtbot.waitUntil(lambda: small.models.what_if.answer is not None)
    panel = window.what_if_panel
    panel.card.rank.setText("no other record to rank it among")
    words = panel.card.rank.fontMetrics().horizontalAdvance(panel.card.rank.text())
    assert panel.card.minimumSizeHint().width() < words, "they are broken into lines"
    qtbot.waitUntil(lambda: panel.decisions.width() > panel.card.width())


@pytest.mark.parametrize("width", [1024, 1280])
def test_no_time_of_the_library_is_cut_short(small: Studio, qtbot: QtBot, width: int) -> None:
    small.window.resize(width, 800)
    small.window.show_panel("library")
    table = small.window.library_panel.times
    qtbot.waitUntil(table.isVisible)
    for column in range(table.model().columnCount()):
        assert table.isColumnHidden(column) or table.columnWidth(column) >= table.sizeHintForColumn(column)
    if width == 1280:
        qtbot.waitUntil(lambda: sideways(table) == 0 and gone(table) == [])


def test_all_of_the_library_is_in_the_usual_window(small: Studio, qtbot: QtBot) -> None:
    window = small.window
    window.resize(1280, 760)  # as much less as two lines of a banner take
    window.show_panel("library")
    area = window.docks["library"].widget()
    assert isinstance(area, QScrollArea)
    assert window.banner.isVisible()
    panel = window.library_panel
    panel._headline.setText("Tuned 362 µs: 157× as fast as untuned TVM, 1.87× as fast as onnxruntime " * 2)
    panel._coverage.setText("All 18 tasks run their best record that applies. Exported to /a/folder. " * 2)
    qtbot.waitUntil(lambda: panel.times.isVisible() and area.verticalScrollBar().maximum() == 0)


def test_in_a_low_window_no_words_of_the_library_lie_on_its_table(small: Studio, qtbot: QtBot) -> None:
    window = small.window
    window.resize(1024, 640)
    window.show_panel("library")
    panel, area = window.library_panel, window.docks["library"].widget()
    assert isinstance(area, QScrollArea)
    panel._headline.setText("Tuned 362 µs: 157× as fast as untuned TVM, 1.87× as fast as onnxruntime")
    panel._coverage.setText("All 18 tasks run their best record that applies. Exported to /a/folder. " * 2)
    qtbot.waitUntil(lambda: panel.times.isVisible() and whole(panel._coverage))
    qtbot.waitUntil(lambda: panel.tabs.geometry().bottom() < panel._coverage.geometry().top())
    assert area.verticalScrollBar().maximum() > 0


def test_in_a_low_window_the_words_of_a_prediction_scroll(small: Studio, qtbot: QtBot) -> None:
    window = small.window
    window.resize(1024, 640)
    window.task_panel.select_task(recorded_what_if.TASK.key)
    window.show_panel("what-if")
    window.what_if_panel.best_button.click()
    qtbot.waitUntil(lambda: small.models.what_if.answer is not None)
    card = window.what_if_panel.card
    card.rank.setText("no other record to rank it among")
    qtbot.waitUntil(lambda: card.words.verticalScrollBar().maximum() > 0)
    shown = [part for part in (card.rank, card.score, card.alike, card.measured, card.reason) if part.isVisible()]
    qtbot.waitUntil(lambda: all(map(whole, shown)))
    assert card.visibleRegion().contains(card.measure_button.geometry())


def test_in_a_low_window_what_is_said_of_a_device_has_room(small: Studio, qtbot: QtBot) -> None:
    window, panel = small.window, small.window.devices_panel
    window.resize(1024, 640)
    small.models.devices.set_addresses(["pi.local:9090"])
    panel.accept("pi.local:9090")
    window.show_panel("devices")
    panel._sentence.setText("Nobody listens at pi.local:9090: see that it is on and in this network. " * 5)
    panel.refuse("“bad address” is no address of a device: write HOST:PORT of a device server. " * 2)
    qtbot.waitUntil(lambda: panel._card.isVisible() and whole(panel._sentence) and whole(panel._refusal))
    qtbot.waitUntil(lambda: panel.table.geometry().bottom() < panel._card.geometry().top())


def whole(words: QLabel) -> bool:
    """Whether all lines of a label have room."""
    return words.height() >= words.heightForWidth(words.width())


def test_all_of_a_checkpoint_is_in_the_usual_window(small: Studio, qtbot: QtBot) -> None:
    window = small.window
    window.resize(1280, 800)
    small.models.checkpoints.set_listing(checkpoint_samples.listing("/w"))
    window.show_panel("checkpoints")
    table = window.checkpoints_panel.table
    qtbot.waitUntil(lambda: table.isVisible() and table.horizontalScrollBar().maximum() == 0)
    assert table.columnWidth(CheckpointColumn.PLATFORM) >= 70
    assert gone(table) == []
    for column in (CheckpointColumn.KIND, CheckpointColumn.RECORDS, CheckpointColumn.MODEL, CheckpointColumn.SIZE):
        assert table.columnWidth(column) >= table.sizeHintForColumn(column), column.name
