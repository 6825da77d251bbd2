"""A recorded run, and a run of any length made of it: its rounds once more, later on the clock. For the benches."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tcl_core.events import Event, NetworkOpened, Progress, RecordMeasured, RoundFinished, RunStarted


@dataclass(frozen=True, kw_only=True)
class _Turn:
    """What one repetition of the recorded rounds adds up to."""

    seconds: float
    trials: int
    failed: int
    scored: int
    rounds: int


class Recording:
    """The events of one run, as they reached the window. Immutable.

    Attributes:
        opened, started: what came before the first round.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        """Raises: ValueError when the events hold no network, no start of a run, or no whole round."""
        ends = [number for number, event in enumerate(events) if isinstance(event, RoundFinished)]
        starts = [number for number, event in enumerate(events) if isinstance(event, RunStarted)]
        opened = [event for event in events if isinstance(event, NetworkOpened)]
        if not (ends and starts and opened):
            raise ValueError("a recording needs an opened network, the start of a run and a whole round")
        started = events[starts[0]]
        assert isinstance(started, RunStarted)
        self.opened, self.started = opened[0], started
        rounds = events[starts[0] + 1 : ends[-1] + 1]
        progress = [event for event in rounds if isinstance(event, Progress)]
        last = progress[-1]
        self._turn = _Turn(
            seconds=last.elapsed_s,
            trials=last.trials,
            failed=last.failed,
            scored=last.candidates_scored,
            rounds=len(ends),
        )
        # Kept as the pipe carries them: each repetition makes objects of its own, as a real run does.
        self._rounds = pickle.dumps(tuple(rounds))

    def save(self, path: Path) -> None:
        """Keep the recording in a file."""
        path.write_bytes(pickle.dumps(self))

    @staticmethod
    def load(path: Path) -> Recording:
        """A recording that `save` wrote, in this very bench: pickle runs what a file says."""
        recording = pickle.loads(path.read_bytes())
        assert isinstance(recording, Recording)
        return recording

    def batches(self, seconds: float) -> Iterator[tuple[float, tuple[Event, ...]]]:
        """The run without an end, in batches of about so many seconds: the run's clock in seconds, and the events."""
        waiting: list[Event] = []
        told_s, number = 0.0, 0
        while True:
            for recorded in pickle.loads(self._rounds):
                event = self._later(recorded, number)
                waiting.append(event)
                if isinstance(event, Progress) and event.elapsed_s >= told_s + seconds:
                    told_s = event.elapsed_s
                    yield told_s, tuple(waiting)
                    waiting.clear()
            number += 1

    def _later(self, event: Event, number: int) -> Event:
        """An event of the repetition `number`, from 0."""
        turn, at = self._turn, event.at + number * self._turn.seconds
        match event:
            case Progress():
                return replace(
                    event,
                    at=at,
                    trials=event.trials + number * turn.trials,
                    failed=event.failed + number * turn.failed,
                    elapsed_s=event.elapsed_s + number * turn.seconds,
                    candidates_scored=event.candidates_scored + number * turn.scored,
                )
            case RecordMeasured():
                record = event.record
                return replace(
                    event,
                    at=at,
                    record=replace(
                        record,
                        structural_hash=f"{record.structural_hash}-{number}",
                        round=record.round + number * turn.rounds,
                    ),
                )
            case RoundFinished():
                return replace(event, at=at, round=event.round + number * turn.rounds)
        return replace(event, at=at)
