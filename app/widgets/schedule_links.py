"""Which places, steps and lines belong together in one record. Plain look-ups, no widgets."""

from __future__ import annotations

from collections.abc import Iterable

from tcl_core.schedule_events import CodeText, ScheduleView


def inside(view: ScheduleView, places: Iterable[int]) -> frozenset[int]:
    """The places given with everything nested in them."""
    found = set(places)
    for number, place in enumerate(view.places):
        if place.parent in found:
            found.add(number)
    return frozenset(found)


def lines_of(text: CodeText, places: frozenset[int]) -> frozenset[int]:
    """Lines that are about any of these places."""
    return frozenset(number for number, here in enumerate(text.places) if places.intersection(here))


def place_at(view: ScheduleView, text: CodeText, line: int, word: str) -> int:
    """The place a line is about: of several the one whose name is `word`, else the innermost; -1 for none."""
    here = text.places[line] if line < len(text.places) else ()
    named = [place for place in here if view.places[place].name == word]
    return (named or list(here) or [-1])[-1]


def opening_lines(text: CodeText, places: frozenset[int]) -> frozenset[int]:
    """Of each place the line that opens it, which is its first; lines inside a place are about the innermost one."""
    found: dict[int, int] = {}
    for number, here in enumerate(text.places):
        for place in places.intersection(here):
            found.setdefault(place, number)
    return frozenset(found.values())
