"""The checkpoints panel and what the run form offers of it, around an engine that plays recorded answers."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import checkpoint_samples
import library_samples
import pytest
import recorded_run
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtWidgets import QFileDialog, QPushButton
from pytestqt.qtbot import QtBot
from silent_engine import SilentEngine

from app.application import Studio
from app.checkpoint_controller import CheckpointController
from app.jobs.engine_process import EngineTarget
from app.jobs.engine_thread import EngineLoss
from app.models.announcement import Announcement, WayOn
from app.models.checkpoint_table import BRANCH_ROLE, CheckpointColumn
from app.models.run_state import Activity, EngineHealth
from app.models.studio import StudioModels
from app.views.checkpoints_panel import CheckpointsPanel
from app.widgets.lineage_delegate import lines, node
from tcl_core.checkpoint_events import CheckpointDone, Deed, EarlierFailure, EarlierWork, RestoreCheckpoint
from tcl_core.domain import Candidate, Failure, RecordCount, Stage
from tcl_core.events import EngineReady, Refused

FAILED = Candidate(recorded_run.tasks()[0].key, 0, ((4, 8),))
Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def studio(open_studio: Open, qtbot: QtBot) -> Studio:
    """A studio with the sample open and its workspace listed."""
    studio = open_studio(checkpoint_samples.teaching)
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.window.checkpoints_panel.table.model().rowCount() == 5)
    studio.window.show_panel("checkpoints")
    return studio


def panel(studio: Studio) -> CheckpointsPanel:
    return studio.window.checkpoints_panel


def click(qtbot: QtBot, button: QPushButton) -> None:
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def names(studio: Studio) -> list[str]:
    model = studio.models.checkpoints
    return [str(model.index(row, 0).data()).strip() for row in range(model.rowCount())]


def test_what_earlier_sessions_came_to_is_on_screen(studio: Studio, qtbot: QtBot) -> None:
    opened, tasks = studio.models.run.opened, studio.models.tasks
    assert opened is not None
    first, second, *_ = (state.task.key for state in tasks.states)
    work = EarlierWork(
        network=opened.network.digest,
        platform=opened.platform.fingerprint,
        counts=((first, RecordCount(trials=40, failures=2, best_s=1e-3)), (second, RecordCount(trials=8))),
        failures=(EarlierFailure(candidate=FAILED, failure=Failure(stage=Stage.MEASURE, cause="timeout"), alike=2),),
        library=library_samples.report(),
    )
    plots = studio.window.plots_panel
    assert "Earlier runs" not in plots.score_plot.plot.hint
    assert studio.models.checkpoints.listing is not None
    listed = replace(studio.models.checkpoints.listing, earlier=work)
    studio.engine.events.emit((listed,))
    assert [(state.trials, state.failures, state.best_s) for state in tasks.states[:3]] == [
        (40, 2, 1e-3),
        (8, 0, None),
        (0, 0, None),
    ]
    assert studio.models.library.report == library_samples.report()
    assert len(studio.window.plots_panel.estimate_plot.lines) == 3
    asked, told = "Start a run: each scored record", " becomes a point here. Earlier runs measured 48 candidates"
    assert plots.score_plot.plot.hint.startswith(asked + told)
    studio.models.run.activity = Activity.RUNNING
    plots._redraw_scores()
    assert plots.score_plot.plot.hint.startswith("Each scored record of this run" + told), "it is on already"
    studio.models.run.activity = Activity.READY
    plots.select_task(first)
    assert "goes on from the best of earlier runs" in plots.estimate_plot.plot.hint
    assert studio.models.scores.records.best_s(first) == 1e-3
    assert studio.window.docks["failures"].windowTitle() == "Failures (2)"
    tree = studio.window.failures_panel.tree
    with qtbot.waitSignal(studio.window.candidate_selected) as opened:
        tree.activated.emit(tree.model().index(0, 0, tree.model().index(0, 0)))
    assert opened.args == [FAILED]
    other = replace(work, network="another", counts=(), library=None)
    studio.engine.events.emit((replace(listed, earlier=other),))
    assert tasks.states[0].trials == 40
    studio.engine.events.emit((replace(listed, earlier=replace(work, counts=(), library=None)),))
    assert tasks.states[0].trials == 0, "the workspace is another one now"


def test_names_of_checkpoints_have_the_room_and_a_long_one_of_the_workspace_takes_none(
    studio: Studio, qtbot: QtBot
) -> None:
    checkpoints, table = panel(studio), panel(studio).table
    studio.window.resize(1920, 1080)
    qtbot.waitUntil(lambda: table.viewport().width() > 1000)
    assert table.columnWidth(CheckpointColumn.NAME) > 300
    assert table.horizontalHeader().length() == table.viewport().width()
    least, listing = checkpoints.minimumSizeHint().width(), studio.models.checkpoints.listing
    assert listing is not None
    studio.models.checkpoints.set_listing(replace(listing, workspace="/workspaces/" + "a_long_name_" * 20))
    assert checkpoints._headline.text().startswith("a_long_name_")
    assert checkpoints.minimumSizeHint().width() == least


def test_children_stand_below_their_parents(studio: Studio) -> None:
    assert names(studio) == [
        "epyc-transformer-trained",
        "broken",
        "altra-learned",
        "└  epyc-learned",
        "└  9f2c41d07be3-mamba",
    ]
    model = studio.models.checkpoints
    assert model.index(4, CheckpointColumn.KIND).data() == "run, default"
    assert model.index(3, CheckpointColumn.TOP1).data() == "0.941"
    assert model.index(4, CheckpointColumn.TOP1).data() == "–"
    assert "altra-learned" in dict(model.details(3))["Parent"]


def test_the_lineage_is_a_graph_with_a_column_a_generation(studio: Studio) -> None:
    listed = checkpoint_samples.listing("/workspaces/sample")
    twin = checkpoint_samples.facts("twin", parent="digest of altra-learned")
    studio.models.checkpoints.set_listing(replace(listed, checkpoints=(*listed.checkpoints, twin)))
    model = studio.models.checkpoints
    branches = [model.index(row, 0).data(BRANCH_ROLE) for row in range(model.rowCount())]
    told = {one.name: (one.depth, one.passing, one.parent, one.kind) for one in branches}
    assert told["altra-learned"] == (0, (), True, "learned")
    assert told["epyc-learned"] == (1, (True,), True, "learned"), "the line passes on to its twin"
    assert told["9f2c41d07be3-mamba"] == (2, (True, False), False, "run")
    assert told["twin"] == (1, (False,), False, "trained")
    assert told["broken"][3] == ""
    room = QRectF(0, 0, 200, 27)
    shapes = [node(kind, QPointF(20, 13)) for kind in ("run", "learned", "shipped", "")]
    assert len({(shape.elementCount(), shape.boundingRect().width()) for shape in shapes}) == 4
    first, last = lines(branches[-3], room).boundingRect(), lines(branches[-1], room).boundingRect()
    assert first.bottom() > room.bottom() and last.bottom() < room.bottom()


def test_one_platform_alone_keeps_its_lineage_in_words(studio: Studio) -> None:
    studio.models.checkpoints.choose_platform(recorded_run.PLATFORM.fingerprint)
    assert names(studio)[0] == "epyc-learned" and "altra-learned" not in names(studio)
    assert dict(studio.models.checkpoints.details(0))["Parent"] == "altra-learned"


def test_a_new_listing_keeps_what_is_selected(studio: Studio) -> None:
    panel(studio).table.selectRow(3)
    studio.models.checkpoints.set_listing(checkpoint_samples.listing("/workspaces/sample"))
    selected = panel(studio).selected
    assert selected is not None and selected.name == "epyc-learned"


def test_a_damaged_file_can_be_removed_and_nothing_else(studio: Studio) -> None:
    view = panel(studio)
    view.table.selectRow(1)
    assert not view.export_button.isEnabled() and not view.start_button.isEnabled()
    assert view.remove_button.isEnabled() and "is damaged" in view._details.text()


def test_starting_from_a_checkpoint_fills_the_form(studio: Studio, qtbot: QtBot) -> None:
    view, form = panel(studio), studio.window.run_panel.form
    view.table.selectRow(3)
    click(qtbot, view.start_button)
    assert form.request.checkpoint == checkpoint_samples.checkpoints()[0].path
    assert form.request.cost_model == "mamba"
    studio.window.actions_.start.trigger()
    log = studio.models.log
    qtbot.waitUntil(lambda: "epyc-learned" in log.entry(0).sentence)
    assert not view.remove_button.isEnabled() and "A run is on" in view._reason.text()
    assert not view.form.train_button.isEnabled()


def test_a_checkpoint_becomes_the_default_of_its_platform_and_not_any_more(studio: Studio, qtbot: QtBot) -> None:
    view, banner = panel(studio), studio.window.banner
    view.table.selectRow(3)
    click(qtbot, view.default_button)
    platform = recorded_run.PLATFORM.fingerprint
    qtbot.waitUntil(lambda: banner.text == f"Default of {platform} is 2.")
    listed = checkpoint_samples.listing("/workspaces/sample")
    chosen = tuple(replace(one, chosen=(platform,)) if one.id == 2 else one for one in listed.checkpoints)
    studio.models.checkpoints.set_listing(replace(listed, checkpoints=chosen))
    assert view.default_button.text() == "Unset default"
    click(qtbot, view.default_button)
    qtbot.waitUntil(lambda: banner.text == f"Default of {platform} is None.")


def test_a_training_shows_its_passes_and_keeps_its_best_when_stopped(studio: Studio, qtbot: QtBot) -> None:
    view = panel(studio)
    click(qtbot, view.form.train_button)
    assert studio.models.run.activity is Activity.TEACHING
    assert not studio.window.actions_.start.isEnabled()
    qtbot.waitUntil(lambda: "pass 7 of 60" in view.progress.text)
    assert view.progress.isVisible()
    click(qtbot, view.progress.stop_button)
    qtbot.waitUntil(lambda: view.selected is not None and view.selected.name == "new")
    assert studio.models.run.activity is Activity.READY
    assert studio.window.banner.text == "Stopped after 7 passes."
    assert not view.progress.isVisible() and studio.engine.generation == 1


def test_learning_goes_on_from_learned_checkpoints_alone(studio: Studio) -> None:
    form = panel(studio).form
    form._parent.setCurrentIndex(form._parent.findData(checkpoint_samples.checkpoints()[1].path))
    assert form.train_button.isEnabled() and not form.learn_button.isEnabled()
    assert form.request(learn=False).model == "transformer"
    form._parent.setCurrentIndex(form._parent.findData(checkpoint_samples.checkpoints()[0].path))
    assert form.learn_button.isEnabled()
    request = form.request(learn=True)
    assert request.learn and request.checkpoint == checkpoint_samples.checkpoints()[0].path


def test_a_platform_without_a_success_cannot_teach(studio: Studio) -> None:
    form = panel(studio).form
    form._platform.setCurrentIndex(1)
    assert not form.train_button.isEnabled() and not form.learn_button.isEnabled()
    assert "no records to learn from" in form._hint.text()


def test_export_remove_and_a_refused_import(studio: Studio, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    view, banner = panel(studio), studio.window.banner
    view.table.selectRow(0)
    chosen = view.selected
    assert chosen is not None
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("/tmp/out.v2", ""))
    view.export_requested.emit(chosen)
    qtbot.waitUntil(lambda: banner.text == "Exported 3 to /tmp/out.v2.safetensors.")
    form = studio.window.run_panel.form
    form.choose_checkpoint(chosen.path)
    click(qtbot, view.remove_button)
    qtbot.waitUntil(lambda: banner.text == "Removed 3.")
    assert form.request.checkpoint is None
    studio.checkpoints.import_checkpoint("/tmp/notes.txt")
    qtbot.waitUntil(lambda: "notes.txt is no checkpoint" in banner.text)
    assert studio.models.run.activity is Activity.READY and not studio.models.training.active


def test_a_removal_can_be_undone(studio: Studio, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    path.write_bytes(b"weights")
    form = studio.window.run_panel.form
    form.choose_checkpoint(str(path))
    studio.checkpoints.remove_checkpoint(checkpoint_samples.facts("own", path=str(path)))
    qtbot.waitUntil(lambda: studio.window.banner.action_button.text() == "Undo")
    assert form.request.checkpoint is None
    path.unlink()
    click(qtbot, studio.window.banner.action_button)
    qtbot.waitUntil(lambda: studio.window.banner.text == "It is back.")
    assert path.read_bytes() == b"weights"
    assert form.request.checkpoint == str(path)


@pytest.fixture
def undoing(qapp: object, tmp_path: Path) -> tuple[CheckpointController, SilentEngine, list[Announcement]]:
    """A checkpoint of an older feature vocabulary, the default of a platform, has just been removed."""
    models, engine, heard = StudioModels(), SilentEngine(), list[Announcement]()
    models.run.engine = EngineHealth.READY
    controller = CheckpointController(models, engine)  # type: ignore[arg-type]
    engine.events.connect(controller.take_events)
    controller.setProperty("models", models)  # lives as long as the controller
    controller.set_workspace("/workspaces/sample")
    path = tmp_path / "old.safetensors"
    path.write_bytes(b"weights")
    controller.remove_checkpoint(checkpoint_samples.facts("old", id=3, path=str(path), fits=False, chosen=("c0de",)))
    path.unlink()
    engine.events.emit((CheckpointDone(deed=Deed.REMOVED, path=str(path), sentence="Removed old."),))
    controller.announced.connect(lambda told: heard.append(told) if told else None)
    return controller, engine, heard


def test_what_is_restored_is_what_was_removed(
    undoing: tuple[CheckpointController, SilentEngine, list[Announcement]], tmp_path: Path
) -> None:
    controller, engine, _heard = undoing
    controller.set_workspace("/workspaces/another")
    controller.restore()
    command = engine.sent[-1]
    assert isinstance(command, RestoreCheckpoint) and Path(command.path).read_bytes() == b"weights"
    assert (command.workspace, command.place) == ("/workspaces/sample", str(tmp_path / "old.safetensors"))
    assert command.noted and command.chosen == ("c0de",)
    engine.events.emit((CheckpointDone(deed=Deed.RESTORED, path=command.place, sentence="old is back."),))
    assert not Path(command.path).exists()
    sent = len(engine.sent)
    controller.restore()
    assert len(engine.sent) == sent, "it is back, and once is enough"


def test_a_refused_or_lost_restoration_can_be_tried_again(
    undoing: tuple[CheckpointController, SilentEngine, list[Announcement]],
) -> None:
    controller, engine, heard = undoing
    run = controller.property("models").run
    controller.restore()
    engine.events.emit((Refused(stage="checkpoint", sentence="The disk is full."),))
    run.settle()  # as the controller beside it does
    assert (heard[-1].sentence, heard[-1].action) == ("The disk is full.", WayOn.RESTORE_CHECKPOINT)
    controller.restore()
    first = engine.sent[-1]
    engine.lost.emit(EngineLoss(generation=1, forced=False, reason="It is gone.", restarting=True))
    run.settle()
    assert not Path(first.path).exists()
    engine.events.emit((EngineReady(seconds=1.0, pid=1),))
    assert (heard[-1].sentence, heard[-1].action) == ("old was not restored.", WayOn.RESTORE_CHECKPOINT)
    controller.restore()
    assert isinstance(engine.sent[-1], RestoreCheckpoint) and Path(engine.sent[-1].path).read_bytes() == b"weights"
    engine.events.emit((CheckpointDone(deed=Deed.RESTORED, path=first.place, sentence="old is back."),))


def test_a_full_disk_keeps_the_undo(
    undoing: tuple[CheckpointController, SilentEngine, list[Announcement]], monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, engine, heard = undoing

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        controller.restore()
    assert heard[-1].sentence == "old cannot be restored: No space left on device."
    assert heard[-1].action is WayOn.RESTORE_CHECKPOINT
    controller.restore()
    assert isinstance(engine.sent[-1], RestoreCheckpoint)
    engine.events.emit((CheckpointDone(deed=Deed.RESTORED, path="", sentence="old is back."),))


def test_a_workspace_that_cannot_be_read_says_why(studio: Studio) -> None:
    studio.models.checkpoints.set_listing(
        checkpoint_samples.listing("/w", checkpoints=(), platforms=(), runs=(), problem="/w is no workspace.")
    )
    assert panel(studio)._reason.text() == "/w is no workspace."
    assert panel(studio)._stack.currentIndex() == 0


def test_an_earlier_run_is_repeated_with_one_click(studio: Studio, qtbot: QtBot) -> None:
    button = studio.window.run_panel.past_runs
    assert [run.id for run in button.shown] == [1] and button.isVisible()
    button.menu().actions()[0].trigger()
    assert studio.models.run.activity is Activity.RUNNING
    request = studio.window.run_panel.form.request
    assert (request.seed, request.trials, request.diversity) == (11, 480, 0.45)
    qtbot.waitUntil(lambda: studio.models.run.progress is not None)


def test_the_budget_is_judged_by_tasks_and_earlier_runs(studio: Studio) -> None:
    run_panel = studio.window.run_panel
    run_panel.form._minutes.setValue(1.0)
    assert "measures about 120 trials here" in run_panel._check.text()
    assert run_panel._check.objectName() == "warn" and "allow 2:00" in run_panel._check.text()
    for minutes, said in ((0.004, "measures hardly one trial here"), (0.01, "measures about 1 trial here")):
        run_panel.form._minutes.setValue(minutes)
        assert said in run_panel._check.text()
    run_panel.form._minutes.setValue(5.0)
    assert run_panel._check.objectName() == "muted"
    run_panel.form._minutes.setValue(0.0)
    run_panel.form._trials.setValue(480)
    assert "480 take about 4:00 here" in run_panel._check.text()
    run_panel.form._threads.setValue(1)
    assert "here" not in run_panel._check.text()


def test_budgets_of_tasks_are_part_of_the_check(studio: Studio) -> None:
    run_panel, tasks = studio.window.run_panel, studio.models.tasks
    keys = [state.task.key for state in tasks.states]
    run_panel.form._minutes.setValue(0.0)
    run_panel.form._trials.setValue(480)
    tasks.set_task_trials([(keys[0], 15), (keys[1], 16)])
    assert run_panel._check.objectName() == "warn"
    assert "budget of fused_matmul_add_gelu is next to nothing: allow 16" in run_panel._check.text()
    tasks.set_task_trials([(key, 20) for key in keys])
    assert "300 take about 2:30 here" in run_panel._check.text(), "the tasks' budgets end the run before its own does"
    assert run_panel._check.objectName() == "muted"
    tasks.choose(keys[:1])
    assert "the only untried task needs 16 trials" in run_panel._check.text()
