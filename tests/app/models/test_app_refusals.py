"""Refusals name the window's fields."""

from __future__ import annotations

import pytest

from app.models.refusals import in_the_windows_words
from tcl_core.events import Notice, Refused


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("choose another folder with --workspace.", "choose another folder with “Workspace”."),
        ("fix it, for example with --shape x=1,3,224,224.", "fix it, for example with “Shapes” x=1,3,224,224."),
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


def test_other_events_are_left_alone() -> None:
    notice = Notice(sentence="--workspace")
    assert in_the_windows_words(notice) is notice
