"""Refusals in the window's words: the engine names options of the command line, the window has fields."""

from __future__ import annotations

import re
from dataclasses import replace

from app.translation import later, tr
from tcl_core.events import Event, Refused

_FIELDS = {
    "checkpoint": later("Checkpoint"),
    "cost-model": later("Cost model"),
    "shape": later("Shapes"),
    "target": later("Target"),
    "threads": later("Threads"),
    "workspace": later("Workspace"),
}
"""Options that are fields of the run's form, by their name on the command line."""

_OPTION = re.compile(rf"`[^`]*`|--({'|'.join(_FIELDS)})\b")
"""A command in backticks, which is left as it is, or an option."""


def in_the_windows_words(event: Event) -> Event:
    """The event; in a refusal's sentence options are called as the fields of the run's form."""
    if not isinstance(event, Refused):
        return event

    def named(found: re.Match[str]) -> str:
        return f"“{tr(_FIELDS[found[1]])}”" if found[1] else found[0]

    return replace(event, sentence=_OPTION.sub(named, event.sentence))
