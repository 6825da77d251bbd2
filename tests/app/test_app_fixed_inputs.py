"""What the form says of a network's inputs: shapes of dynamic ones, numbers of those that stay the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import studio_engines
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.fixed_inputs import FixedInputs
from app.models.run_request import RunRequest, request_of
from app.models.run_state import Activity
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
        fixed=FixedInputs(shapes=(("x", (1, 8)),), values=(("rate", (0.5,)),)),
        seed=3,
        workspace="/w",
    )
    assert request_of(request.config("a.onnx", "/w")) == request


def test_shapes_a_refusal_proposes_are_filled_in(studio: Studio, qtbot: QtBot) -> None:
    shapes = (("x", (1, 128)), ("mask", (1, 128)))
    studio.engine.events.emit((Refused(stage="network", sentence="It is dynamic.", shapes=shapes),))
    form = studio.window.run_panel.form
    assert form.request.fixed.shapes == shapes and form._shapes.isVisible()
    qtbot.mouseClick(form.more_button, Qt.MouseButton.LeftButton)
    assert not form._shapes.isVisible()


def test_a_proposal_for_an_input_with_blanks_in_its_name_can_be_taken(studio: Studio) -> None:
    shapes, form = (("features & more", (1, 32)),), studio.window.run_panel.form
    studio.engine.events.emit((Refused(stage="network", sentence="It is dynamic.", shapes=shapes),))
    assert not form.problem
    assert form.request.fixed.shapes == shapes
    form._values.setText(" --value sampling rate = 16000 ")
    assert form.request.fixed.values == (("sampling rate", (16000.0,)),)


def test_shapes_are_read_or_the_form_says_what_is_wrong(studio: Studio) -> None:
    run_panel = studio.window.run_panel
    run_panel.form._shapes.setText("x = 1, 3,224,224; mask=1x128")
    assert run_panel.form.request.fixed.shapes == (("x", (1, 3, 224, 224)), ("mask", (1, 128)))
    run_panel.form._shapes.setText("x: 1")
    assert "“x: 1” is no shape" in run_panel.form._problem.text()
    assert not run_panel._start.isEnabled()


def test_values_are_read_or_the_form_says_what_is_wrong(studio: Studio) -> None:
    form = studio.window.run_panel.form
    form._values.setText("sr = 16000; mask=1, .5,-1e-3")
    fixed = form.request.fixed
    assert fixed.values == (("sr", (16000.0,)), ("mask", (1.0, 0.5, -0.001)))
    form.set_fixed(FixedInputs())
    assert form.request.fixed == FixedInputs()
    form.set_fixed(fixed)
    assert form.request.fixed == fixed
    form._values.setText("sr=fast")
    assert "“sr=fast” is no value" in form._problem.text()
    assert not studio.window.run_panel._start.isEnabled()
