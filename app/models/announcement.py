"""A sentence the window shows across its top, with at most one action."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.translation import tr


class Mood(StrEnum):
    """How an announcement is marked."""

    GOOD = "good"
    NEUTRAL = "neutral"
    WARN = "warn"
    BAD = "bad"


class WayOn(StrEnum):
    """What an announcement offers."""

    CONTINUE_RUN = "continue the run"
    REVIVE_ENGINE = "start the engine"
    SHOW_LIBRARY = "show the library"
    OPEN_REPORT = "open the report"
    SHOW_LOG = "show the log"
    OPEN_AS_PROPOSED = "open the network as was proposed"
    RESTORE_CHECKPOINT = "restore the checkpoint"
    RESTORE_DEVICE = "restore the device"


@dataclass(frozen=True, kw_only=True)
class Announcement:
    """What happened, and the way on."""

    mood: Mood
    sentence: str
    action: WayOn | None = None
    action_text: str = ""


def proposal(sentence: str) -> Announcement:
    """Why a network is not opened, and the offer to open it as was proposed."""
    return Announcement(mood=Mood.BAD, sentence=sentence, action=WayOn.OPEN_AS_PROPOSED, action_text=tr("Open it so"))
