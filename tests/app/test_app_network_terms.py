"""What the form says of a network: shapes of dynamic inputs, numbers of those that stay the same, its ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import studio_engines
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.run_request import RunRequest, request_of
from app.models.run_state import Activity
from tcl_core.config import NetworkConfig
from tcl_core.events import Refused

Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def studio(open_studio: Open, qtbot: QtBot) -> Studio:
    studio = open_studio(studio_engines.playing)
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    return studio


def test_a_configuration_becomes_the_request_it_was_made_of() -> None:
    request = RunRequest(
        target="cpu:x86-64-v3",
        threads=2,
        minutes=None,
        trials=64,
        sampler="kcenter",
        uncertainty=0.7,
        cost_model="lstm",
        checkpoint="none",
        terms=NetworkConfig(shapes=(("x", (1, 8)),), values=(("rate", (0.5,)),), begin_at=("h",), end_at=("y", "z")),
        seed=3,
        workspace="/w",
    )
    assert request_of(request.config("a.onnx", "/w")) == request


def test_shapes_a_refusal_proposes_are_filled_in(studio: Studio, qtbot: QtBot) -> None:
    shapes = (("x", (1, 128)), ("mask", (1, 128)))
    studio.engine.events.emit((Refused(stage="network", sentence="It is dynamic.", shapes=shapes),))
    form = studio.window.run_panel.form
    assert form.request.terms.shapes == shapes and form._shapes.isVisible()
    qtbot.mouseClick(form.more_button, Qt.MouseButton.LeftButton)
    assert not form._shapes.isVisible()


def test_a_network_is_opened_again_with_the_shapes_that_were_proposed(studio: Studio, qtbot: QtBot) -> None:
    shapes, run, window = (("x", (1, 128)),), studio.models.run, studio.window
    window.open_requested.emit("dynamic.onnx")
    qtbot.waitUntil(lambda: run.activity is Activity.READY)
    studio.engine.events.emit((Refused(stage="network", sentence="It is dynamic.", shapes=shapes),))
    assert window.banner.action_button.isVisible()
    form = window.run_panel.form
    form._shapes.setText("x=1,2,")
    assert form.problem
    window.banner.action_button.click()
    assert run.activity is Activity.READY, "what cannot be read is not what the network is opened with"
    studio.engine.events.emit((Refused(stage="network", sentence="It is dynamic.", shapes=shapes),))
    window.banner.action_button.click()
    qtbot.waitUntil(lambda: run.opened is not None and run.opened.network.shapes == shapes)


def test_a_refusal_that_nothing_said_of_the_network_mends_offers_nothing(studio: Studio) -> None:
    studio.engine.events.emit((Refused(stage="network", sentence="It is no network."),))
    assert studio.window.banner.isVisible() and not studio.window.banner.action_button.isVisible()


def test_a_proposal_for_an_input_with_blanks_in_its_name_can_be_taken(studio: Studio) -> None:
    shapes, form = (("features & more", (1, 32)),), studio.window.run_panel.form
    studio.engine.events.emit((Refused(stage="network", sentence="It is dynamic.", shapes=shapes),))
    assert not form.problem
    assert form.request.terms.shapes == shapes
    form._values.setText(" --value sampling rate = 16000 ")
    assert form.request.terms.values == (("sampling rate", (16000.0,)),)


def test_shapes_are_read_or_the_form_says_what_is_wrong(studio: Studio) -> None:
    run_panel = studio.window.run_panel
    run_panel.form._shapes.setText("x = 1, 3,224,224; mask=1x128")
    assert run_panel.form.request.terms.shapes == (("x", (1, 3, 224, 224)), ("mask", (1, 128)))
    run_panel.form._shapes.setText("x: 1")
    assert "“x: 1” is no shape" in run_panel.form._problem.text()
    assert not run_panel._start.isEnabled()


def test_the_ends_of_a_network_are_read(studio: Studio) -> None:
    form = studio.window.run_panel.form
    form._begin_at.setText(" --begin-at features ")
    form._end_at.setText("boxes;  scores ; relu;add;boxes; boxes;")
    terms = form.request.terms
    assert not form.problem
    assert terms.begin_at == ("features",)
    assert terms.end_at == ("boxes", "scores", "relu;add;boxes"), "of TFLite's, names have semicolons"
    form.set_terms(NetworkConfig())
    assert form.request.terms == NetworkConfig()
    form.set_terms(terms)
    assert form.request.terms == terms


def test_ends_that_a_refusal_proposes_are_filled_in_and_the_banner_opens_it_so(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.telling)
    window, form = studio.window, studio.window.run_panel.form
    studio.controller.open_network("/networks/good.onnx")
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    form._shapes.setText("x=1,8")
    studio.engine.events.emit((Refused(stage="network", sentence="It chooses.", end_at=("boxes", "scores")),))
    assert form._end_at.isVisible()
    assert form.request.terms == NetworkConfig(shapes=(("x", (1, 8)),), end_at=("boxes", "scores"))
    button = next(each for each in window.banner.findChildren(QPushButton) if each.text() == "Open it so")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    opened = studio.models.run.opened
    assert opened is not None and opened.network.end_at == ("boxes", "scores")
    assert opened.network.shapes == (("x", (1, 8)),)


def test_what_is_said_of_a_network_does_not_follow_to_another_that_is_refused(studio: Studio, qtbot: QtBot) -> None:
    window, run, form = studio.window, studio.models.run, studio.window.run_panel.form
    window.open_requested.emit("first.onnx")
    qtbot.waitUntil(lambda: run.activity is Activity.READY)
    form._end_at.setText("boxes")
    qtbot.keyClick(form._end_at, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: run.opened is not None and run.opened.network.end_at == ("boxes",))
    shapes = (("x", (1, 128)),)
    window.open_requested.emit("second.onnx")
    studio.engine.events.emit((Refused(stage="network", sentence="It is dynamic.", shapes=shapes),))
    assert form.request.terms == NetworkConfig(shapes=shapes), "the end was the first network's"
    form._values.setText("mask=1")
    studio.engine.events.emit((Refused(stage="network", sentence="It chooses.", end_at=("scores",)),))
    expected = NetworkConfig(shapes=shapes, values=(("mask", (1.0,)),), end_at=("scores",))
    assert form.request.terms == expected, "what was said of the second stays"


def test_a_proposal_that_was_made_wrong_stays_on_offer(studio: Studio, qtbot: QtBot) -> None:
    window, run, form = studio.window, studio.models.run, studio.window.run_panel.form
    window.open_requested.emit("dynamic.onnx")
    qtbot.waitUntil(lambda: run.activity is Activity.READY)
    studio.engine.events.emit((Refused(stage="network", sentence="It is dynamic.", shapes=(("x", (1, 8)),)),))
    form._shapes.setText("x=1,")
    window.banner.action_button.click()
    assert "“x=1,” is no shape" in window.banner.text and window.banner.action_button.isVisible()
    form._shapes.setText("x=1,16")
    window.banner.action_button.click()
    qtbot.waitUntil(lambda: run.opened is not None and run.opened.network.shapes == (("x", (1, 16)),))


def test_a_long_list_of_tensors_can_be_read_and_widens_nothing(studio: Studio) -> None:
    form, panel = studio.window.run_panel.form, studio.window.run_panel
    form.more_button.setChecked(True)
    width = panel.minimumSizeHint().width()
    names = tuple(f"/model/decoder/layers.{number}/attention/" + "deep/" * 20 + "Add_output_0" for number in range(40))
    form.set_terms(NetworkConfig(begin_at=names, end_at=names, shapes=(("x" * 300, (1, 2)),)))
    for field in (form._begin_at, form._end_at, form._shapes):
        assert field.cursorPosition() == 0
    for field in (form._begin_at, form._end_at):
        lines = field.toolTip().splitlines()
        assert lines[:20] == list(names[:20]) and len(lines) == 21 and "Enter opens it" in lines[-1]
    form._shapes.setText("x" * 300)
    assert form.problem and form._problem.minimumSizeHint().width() < width
    form.set_terms(NetworkConfig())
    assert len(form._end_at.toolTip().splitlines()) == 1


def test_what_cannot_be_opened_again_is_not_offered_so(studio: Studio) -> None:
    """The sample is no file that a person opened."""
    studio.engine.events.emit((Refused(stage="network", sentence="It chooses.", end_at=("boxes",)),))
    assert studio.window.banner.text == "It chooses."
    assert not any(each.isVisible() for each in studio.window.banner.findChildren(QPushButton) if "so" in each.text())


def test_values_are_read_or_the_form_says_what_is_wrong(studio: Studio) -> None:
    form = studio.window.run_panel.form
    form._values.setText("sr = 16000; mask=1, .5,-1e-3")
    terms = form.request.terms
    assert terms.values == (("sr", (16000.0,)), ("mask", (1.0, 0.5, -0.001)))
    form.set_terms(NetworkConfig())
    assert form.request.terms == NetworkConfig()
    form.set_terms(terms)
    assert form.request.terms == terms
    form._values.setText("sr=fast")
    assert "“sr=fast” is no value" in form._problem.text()
    assert not studio.window.run_panel._start.isEnabled()
