"""Refusals name the window's fields."""

from __future__ import annotations

import pytest

from app.models.refusals import in_the_windows_words
from tcl_core.checkpoint_events import WorkspaceListed
from tcl_core.device_events import DeviceSeen
from tcl_core.devices import DeviceLook, DeviceState
from tcl_core.domain import Stage
from tcl_core.events import Event, Notice, PhaseChanged, Refused
from tcl_core.schedule_events import ScheduleRefused
from tcl_core.what_if_events import WhatIfRefused


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("choose another folder with --workspace.", "choose another folder with “Workspace”."),
        ("fix it, for example with --shape x=1,3,224,224.", "fix it, for example with “Shapes” x=1,3,224,224."),
        ("fix their input by --value", "fix their input by “Values”"),
        ("begin with `tune --checkpoint none`.", "begin with `tune --checkpoint none`."),
        ("choose another --cost-model, or --out.", "choose another “Cost model”, or --out."),
        ("the words --workspaces and -shape.", "the words --workspaces and -shape."),
    ],
)
def test_options_are_called_as_the_fields(sentence: str, told: str) -> None:
    refused = Refused(at=0.0, stage="network", sentence=sentence, shapes=(("x", (1,)),))
    event = in_the_windows_words(refused)
    assert isinstance(event, Refused)
    assert (event.sentence, event.shapes, event.stage) == (told, refused.shapes, "network")


ASKED, TOLD = "choose another folder with --workspace.", "choose another folder with “Workspace”."


@pytest.mark.parametrize(
    ("event", "reworded"),
    [
        (ScheduleRefused(at=0.0, request=3, sentence=ASKED), ScheduleRefused(at=0.0, request=3, sentence=TOLD)),
        (Notice(at=0.0, sentence=ASKED), Notice(at=0.0, sentence=TOLD)),
        (
            DeviceSeen(at=0.0, look=DeviceLook(address="a:1", state=DeviceState.UNFIT, sentence=ASKED)),
            DeviceSeen(at=0.0, look=DeviceLook(address="a:1", state=DeviceState.UNFIT, sentence=TOLD)),
        ),
        (WhatIfRefused(at=0.0, request=3, sentence=ASKED), WhatIfRefused(at=0.0, request=3, sentence=TOLD)),
        (
            WorkspaceListed(at=0.0, workspace="/w--workspace", problem=ASKED),
            WorkspaceListed(at=0.0, workspace="/w--workspace", problem=TOLD),
        ),
    ],
)
def test_whoever_is_refused_reads_the_windows_words(event: Event, reworded: Event) -> None:
    assert in_the_windows_words(event) == reworded


def test_other_events_are_left_alone() -> None:
    phase = PhaseChanged(stage=Stage.LIBRARY, detail="--workspace")
    assert in_the_windows_words(phase) is phase
