"""The figures of a run, as far as one of this session has begun."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.models.studio import StudioModels
from app.views.run_panel import RunPanel
from tcl_core.events import Progress


def test_before_a_run_has_begun_no_figure_is_of_the_one_before(
    models: StudioModels, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = RunPanel(models.run, models.rounds, models.budget)
    qtbot.addWidget(panel)
    monkeypatch.setattr(models.rounds, "recent_correlation", lambda: 0.87)
    models.run.progress = Progress(
        trials=64, failed=0, elapsed_s=9.0, eta_low_s=1.0, eta_high_s=2.0, fraction=0.5, candidates_scored=500,
        estimate_s=1e-3,
    )  # fmt: skip
    models.run.announce()
    assert panel._figures["rank correlation"].text() == "0.87"
    models.run.forget_run()
    models.run.announce()
    assert {figure.text() for figure in panel._figures.values()} == {"–"}
