"""Models as they are when a network is open and nothing is going on."""

from __future__ import annotations

import pytest
import recorded_run

from app.models.run_state import Activity, EngineHealth
from app.models.studio import StudioModels


@pytest.fixture
def models(qapp: object) -> StudioModels:
    made = StudioModels()
    made.run.engine, made.run.activity = EngineHealth.READY, Activity.READY
    made.tasks.set_tasks(recorded_run.tasks())
    return made
