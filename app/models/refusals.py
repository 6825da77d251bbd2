"""Refusals in the window's words: the engine names options of the command line, the window has fields."""

from __future__ import annotations

import re
from dataclasses import replace

from app.translation import later, tr
from tcl_core.checkpoint_events import WorkspaceListed
from tcl_core.device_events import DeviceSeen
from tcl_core.events import Event, Notice, Refused
from tcl_core.schedule_events import ScheduleRefused
from tcl_core.what_if_events import WhatIfRefused

_FIELDS = {
    "checkpoint": later("Checkpoint"),
    "cost-model": later("Cost model"),
    "shape": later("Shapes"),
    "value": later("Values"),
    "target": later("Target"),
    "threads": later("Threads"),
    "workspace": later("Workspace"),
}
"""Options that are fields of the run's form, by their name on the command line."""

_OPTION = re.compile(rf"`[^`]*`|--({'|'.join(_FIELDS)})\b")
"""A command in backticks, which is left as it is, or an option."""


def in_the_windows_words(event: Event) -> Event:
    """The event; where it says why something cannot be done, options are called as the fields of the run's form."""
    match event:
        case Refused() | ScheduleRefused() | WhatIfRefused() | Notice():
            return replace(event, sentence=_reworded(event.sentence))
        case WorkspaceListed():
            return replace(event, problem=_reworded(event.problem))
        case DeviceSeen():
            return replace(event, look=replace(event.look, sentence=_reworded(event.look.sentence)))
    return event


def _reworded(sentence: str) -> str:
    return _OPTION.sub(lambda found: f"“{tr(_FIELDS[found[1]])}”" if found[1] else found[0], sentence)
