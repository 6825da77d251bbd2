"""Models outlive panels: one that is gone is not called any more."""

from __future__ import annotations

import recorded_run
import shiboken6
from pytestqt.exceptions import capture_exceptions

from app.models.studio import StudioModels
from app.views.plots_panel import PlotsPanel


def test_plots_that_are_gone_are_not_drawn(qapp: object) -> None:
    models = StudioModels()
    panel = PlotsPanel(models)
    shiboken6.delete(panel)
    with capture_exceptions() as raised:
        models.tasks.set_tasks(recorded_run.tasks())
        for series in (models.scores, models.estimates, models.rounds, models.stage_times):
            series.changed.emit()
    assert not raised
