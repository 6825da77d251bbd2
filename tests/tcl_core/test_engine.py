"""Questions at the engine: only the newest prediction is made, and a stop puts a question off. And its heartbeat."""

from __future__ import annotations

import errno
import multiprocessing
import tempfile
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest

from tcl_core.config import RunConfig
from tcl_core.device_events import DeviceSeen
from tcl_core.devices import DeviceLook, DeviceState, LookAtDevice
from tcl_core.domain import Candidate, Stage
from tcl_core.engine import _Engine
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import (
    CancelToken,
    Command,
    Crashed,
    Event,
    Notice,
    OpenNetwork,
    PhaseChanged,
    Progress,
    Refused,
    StartRun,
)
from tcl_core.what_if_events import MeasureWhatIf, ScoreWhatIf, WhatIfCommand, WhatIfRefused

PROGRESS = Progress(
    trials=1,
    failed=0,
    elapsed_s=10.0,
    fraction=0.1,
    eta_low_s=1.0,
    eta_high_s=2.0,
    candidates_scored=0,
    estimate_s=None,
    at=1e9,
)


class Room:
    """Answers with the number of the question."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.error: Exception | None = None

    def carry_out(self, command: WhatIfCommand, _run: object, _cancel: CancelToken) -> Iterator[Event]:
        self.asked.append(command.request)
        if self.error is not None:
            raise self.error
        yield Notice(sentence=f"answer {command.request}")


@pytest.fixture
def engine() -> Iterator[tuple[_Engine, Room, Connection]]:
    ours, theirs = multiprocessing.Pipe()
    engine, room = _Engine(theirs, 0.0), Room()
    engine._what_if = room  # type: ignore[assignment]
    yield engine, room, ours
    ours.close()
    theirs.close()


def question(request: int, kind: Any = ScoreWhatIf) -> Any:
    return kind(request=request, workspace="w", platform="p", candidate=Candidate("t", 0, ()))


def told(pipe: Connection) -> list[Event]:
    events = []
    while pipe.poll():
        events.append(pipe.recv())
    return events


def test_only_the_newest_prediction_is_made(engine: tuple[_Engine, Room, Connection]) -> None:
    served, room, _ = engine
    served._questions.extend([question(1), question(2, MeasureWhatIf), question(3), question(4)])
    served._answer_questions(CancelToken())
    assert room.asked == [2, 4]


def test_a_refusal_is_one_sentence(engine: tuple[_Engine, Room, Connection]) -> None:
    served, room, pipe = engine
    room.error = UserError("what-if", "No such record; open another.")
    served._questions.append(question(5))
    served._answer_questions(CancelToken())
    (refused,) = told(pipe)
    assert isinstance(refused, WhatIfRefused)
    assert (refused.request, refused.sentence) == (5, "No such record; open another.")


def test_a_question_that_a_stop_cut_short_is_taken_up_again(engine: tuple[_Engine, Room, Connection]) -> None:
    served, room, pipe = engine
    room.error = Interrupted()
    token = CancelToken()
    served._questions.append(question(6, MeasureWhatIf))
    served._answer(served._questions.popleft(), token)
    assert [one.request for one in served._questions] == [6] and not told(pipe)
    room.error = None
    served._answer_questions(token)
    assert room.asked == [6, 6] and len(told(pipe)) == 1


class Failing(_Engine):
    """Whatever it is to do fails."""

    error: Exception

    def _carry_out(self, command: Command, token: CancelToken) -> Iterator[Event]:
        raise self.error


@pytest.fixture
def failing() -> Iterator[tuple[Failing, Connection]]:
    ours, theirs = multiprocessing.Pipe()
    yield Failing(theirs, 0.0), ours
    ours.close()
    theirs.close()


def no_room(**_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.usefixtures("caplog")
def test_a_bug_is_told_where_no_log_can_be_written(
    failing: tuple[Failing, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, pipe = failing
    monkeypatch.setattr(tempfile, "mkstemp", no_room)
    served.error = ZeroDivisionError("seven")
    served._guard(OpenNetwork(path="net.onnx"), CancelToken())
    (crashed,) = told(pipe)
    assert isinstance(crashed, Crashed)
    assert (crashed.failure.cause, crashed.failure.message) == ("ZeroDivisionError", "seven")
    assert crashed.log_path == "no file, as none could be written (No space left on device)"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_no_bug(
    failing: tuple[Failing, Connection], engine: tuple[_Engine, Room, Connection], number: int
) -> None:
    full = OSError(number, "There is no room", "/tmp/module.o")
    sentence = "/tmp/module.o cannot be written (There is no room); free some space, or write elsewhere."
    served, pipe = failing
    served.error = full
    served._guard(OpenNetwork(path="net.onnx"), CancelToken())
    (refused,) = told(pipe)
    assert isinstance(refused, Refused)
    assert (refused.stage, refused.sentence) == ("import", sentence)
    asked, room, pipe = engine
    room.error = full
    asked._questions.append(question(7))
    asked._answer_questions(CancelToken())
    (refused,) = told(pipe)
    assert isinstance(refused, WhatIfRefused)
    assert (refused.request, refused.sentence) == (7, sentence)


class Clocks:
    """A second goes by in each sleep. Before the second one the wall clock leaps; the fourth never ends."""

    def __init__(self, leap_s: float) -> None:
        self._leap_s, self._slept, self._wall_s = leap_s, 0, 1e9

    def monotonic(self) -> float:
        return 5.0 + self._slept

    def time(self) -> float:
        return self._wall_s

    def sleep(self, seconds: float) -> None:
        self._slept += 1
        if self._slept == 4:
            raise InterruptedError
        self._wall_s += seconds + (self._leap_s if self._slept == 2 else 0.0)


@pytest.mark.parametrize("leap_s", [0.0, 8 * 3600.0, -8 * 3600.0])
def test_a_run_does_not_age_while_the_computer_sleeps(
    engine: tuple[_Engine, Room, Connection], monkeypatch: pytest.MonkeyPatch, leap_s: float
) -> None:
    served, _, pipe = engine
    monkeypatch.setattr("tcl_core.engine.time", Clocks(leap_s))
    served._last = PROGRESS
    with pytest.raises(InterruptedError):
        served._beat()
    beats = [event for event in told(pipe) if isinstance(event, Progress)]
    assert [(beat.elapsed_s, beat.at) for beat in beats] == [(11.0, 1e9 + 2 + leap_s), (12.0, 1e9 + 3 + leap_s)]


@pytest.mark.parametrize(("stage", "beats"), [(Stage.IMPORT, 3), (Stage.LEARN, 3), (Stage.LIBRARY, 0)])
def test_a_run_gives_a_sign_of_life_before_its_first_progress(
    engine: tuple[_Engine, Room, Connection], monkeypatch: pytest.MonkeyPatch, stage: Stage, beats: int
) -> None:
    served, _, pipe = engine
    served._what_if = None
    phase = PhaseChanged(stage=stage, detail="at work", at=1e9)

    class Beginning:
        def __init__(self, *_: object) -> None:
            pass

        def events(self) -> Iterator[Event]:
            yield phase
            with pytest.raises(InterruptedError):
                served._beat()

    monkeypatch.setattr("tcl_core.engine.time", Clocks(0.0))
    monkeypatch.setattr("tcl_core.tuner.Tuner", Beginning)
    served._guard(StartRun(config=RunConfig(network=None, workspace="w")), CancelToken())
    first, *repeated = told(pipe)
    assert first == phase
    assert [type(event) for event in repeated] == [PhaseChanged] * beats
    assert all(event.at > phase.at for event in repeated)
    monkeypatch.setattr("tcl_core.engine.time", Clocks(0.0))
    with pytest.raises(InterruptedError):
        served._beat()
    assert not told(pipe), "the run is over"


def test_nothing_is_told_once_more_behind_the_end_of_a_run(
    engine: tuple[_Engine, Room, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat waited for its turn while the end was sent: the bar of a run that is over fell back by it."""
    served, _, pipe = engine
    finished = served._stopped()

    class Overtaken:
        """The lock of what is sent, which the end of the run gets first."""

        def __enter__(self) -> None:
            served._sending = threading.Lock()
            served._send(finished)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr("tcl_core.engine.time", Clocks(0.0))
    served._last = PROGRESS
    served._sending = Overtaken()  # type: ignore[assignment]
    with pytest.raises(InterruptedError):
        served._beat()
    assert told(pipe) == [finished]


def seen_by(served: _Engine, pipe: Connection, monkeypatch: pytest.MonkeyPatch, look: Callable[[str], Any]) -> Any:
    monkeypatch.setattr("tcl_core.device_looks.look_at", look)
    served._look(LookAtDevice(address="pi:9090"))
    (seen,) = told(pipe)
    assert isinstance(seen, DeviceSeen)
    return seen.look


def test_a_look_at_a_device_is_answered(
    engine: tuple[_Engine, Room, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, _, pipe = engine
    free = DeviceLook(address="pi:9090", state=DeviceState.FREE)
    assert seen_by(served, pipe, monkeypatch, lambda _address: free) == free


def test_a_look_that_meets_a_bug_is_answered_and_ends_nothing_else(
    engine: tuple[_Engine, Room, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_address: str) -> None:
        raise ZeroDivisionError

    served, _, pipe = engine
    monkeypatch.setattr("tcl_core.engine.write_crash_log", lambda error: f"/log/of/{type(error).__name__}")
    look = seen_by(served, pipe, monkeypatch, broken)
    assert (look.address, look.state) == ("pi:9090", DeviceState.UNFIT)
    assert look.sentence.endswith("the traceback is in /log/of/ZeroDivisionError.")
