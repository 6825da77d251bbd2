"""The engine thread: batches, commands, cancel then kill, stale events, crash and restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import checkpoint_samples
import psutil
import pytest
import recorded_what_if
import studio_engines
from patience import PATIENCE_S
from pytestqt.qtbot import QtBot

from app.jobs import engine_thread
from app.jobs.engine_process import NICENESS, EngineTarget, describe_exit
from app.jobs.engine_thread import BATCH_S, EngineLoss, EngineThread, begins_work, obeys_stop
from tcl_core import checkpoint_events, events, library_events, what_if_events
from tcl_core.domain import Stage
from tcl_core.evaluation_events import CheckpointsEvaluated, EvaluateCheckpoints

LEAST_PRIORITY = 19


class Watch:
    """An engine thread with everything it said."""

    def __init__(self, target: EngineTarget, grace_s: float) -> None:
        self.thread = EngineThread(target, grace_s=grace_s)
        self.batches: list[tuple[events.Event, ...]] = []
        self.losses: list[EngineLoss] = []
        self.thread.events.connect(self.batches.append)
        self.thread.lost.connect(self.losses.append)
        self.thread.start()

    @property
    def events(self) -> list[events.Event]:
        return [event for batch in self.batches for event in batch]

    def count(self, kind: type[events.Event]) -> int:
        return sum(isinstance(event, kind) for event in self.events)


@pytest.fixture
def watch(qtbot: QtBot) -> Iterator[Callable[..., Watch]]:
    watches: list[Watch] = []

    def make(target: EngineTarget, grace_s: float = PATIENCE_S) -> Watch:
        watches.append(Watch(target, grace_s))
        return watches[-1]

    yield make
    for made in watches:
        made.thread.close()


def test_events_arrive_in_order_and_in_batches(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    began = time.monotonic()
    seen = watch(studio_engines.playing)
    seen.thread.send(events.OpenNetwork(path=None))
    seen.thread.send(events.StartRun(config=studio_engines.recorded_run.config()))
    qtbot.waitUntil(lambda: seen.count(events.Finished) == 1)
    kinds = [type(event) for event in seen.events]
    assert kinds[:3] == [events.EngineReady, events.NetworkOpened, events.RunStarted]
    assert psutil.Process(seen.thread.engine_pid).nice() == min(NICENESS + psutil.Process().nice(), LEAST_PRIORITY)
    assert kinds[-1] is events.Finished
    trials = [event.trials for event in seen.events if isinstance(event, events.Progress)]
    assert trials == sorted(trials)
    assert len(trials) == 160
    most = 1 + (time.monotonic() - began) / BATCH_S
    assert len(seen.batches) <= most, "hundreds of events come as a few batches"


def test_obeyed_stop_keeps_the_engine(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.obedient)
    seen.thread.send(events.StartRun(config=studio_engines.recorded_run.config()))
    qtbot.waitUntil(lambda: seen.count(events.RunStarted) == 1)
    seen.thread.stop_run()
    assert seen.thread._deadline.isActive()
    qtbot.waitUntil(lambda: seen.count(events.Finished) == 1)
    assert not seen.thread._deadline.isActive()
    assert not seen.losses
    assert seen.thread.generation == 1


def test_deaf_engine_is_killed_with_its_children_and_replaced(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.deaf, grace_s=0.4)
    seen.thread.send(events.StartRun(config=studio_engines.recorded_run.config()))
    qtbot.waitUntil(lambda: seen.count(events.Notice) == 1)
    notice = next(event for event in seen.events if isinstance(event, events.Notice))
    worker, engine = int(notice.sentence.split()[1]), seen.thread.engine_pid
    seen.thread.stop_run()
    qtbot.waitUntil(lambda: bool(seen.losses))
    qtbot.waitUntil(lambda: seen.count(events.EngineReady) == 2)
    assert seen.losses[0].forced
    assert seen.losses[0].restarting
    assert seen.thread.engine_pid != engine
    assert engine is not None
    qtbot.waitUntil(lambda: not (_alive(worker) or _alive(engine)))


def test_an_abandoned_engine_goes_with_all_it_has_and_a_fresh_one_comes(
    watch: Callable[..., Watch], qtbot: QtBot
) -> None:
    seen = watch(studio_engines.importing)
    seen.thread.send(events.OpenNetwork(path="/networks/large.onnx"))
    qtbot.waitUntil(lambda: seen.count(events.Notice) == 1)
    notice = next(event for event in seen.events if isinstance(event, events.Notice))
    worker, folder = notice.sentence.split()
    engine = seen.thread.engine_pid
    assert engine is not None and Path(folder).is_dir()
    seen.thread.abandon("It was stopped.")
    (loss,) = seen.losses
    assert loss.asked and loss.restarting and loss.reason == "It was stopped."
    seen.thread.send(events.OpenNetwork(path="/networks/small.onnx"))
    qtbot.waitUntil(lambda: seen.count(events.NetworkOpened) == 1)
    assert seen.losses == [loss], "told once"
    assert not Path(folder).exists()
    qtbot.waitUntil(lambda: not (_alive(int(worker)) or _alive(engine)))


def test_engines_abandoned_on_the_heels_of_one_another(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.importing)
    for _ in range(4):
        seen.thread.send(events.OpenNetwork(path="/networks/large.onnx"))
        seen.thread.abandon("It was stopped.")
    seen.thread.send(events.OpenNetwork(path="/networks/small.onnx"))
    qtbot.waitUntil(lambda: seen.count(events.NetworkOpened) == 1)
    assert len(seen.losses) == 4
    assert seen.count(events.Notice) == 0


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_crash_is_told_after_the_last_events_and_a_fresh_engine_comes(
    watch: Callable[..., Watch], qtbot: QtBot
) -> None:
    seen = watch(studio_engines.crashing)
    seen.thread.send(events.StartRun(config=studio_engines.recorded_run.config()))
    qtbot.waitUntil(lambda: bool(seen.losses))
    assert len(seen.events) == 41, "everything the engine had sent arrived"
    assert "SIGKILL" in seen.losses[0].reason
    assert not seen.losses[0].forced
    qtbot.waitUntil(lambda: seen.count(events.EngineReady) == 2)
    assert seen.thread.generation == 2


def test_engine_that_never_was_ready_is_not_started_over_and_over(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.stillborn)
    qtbot.waitUntil(lambda: len(seen.losses) == 1)
    assert not seen.losses[0].restarting
    assert "status 3" in seen.losses[0].reason
    qtbot.wait(300)
    assert len(seen.losses) == 1
    seen.thread.revive()
    qtbot.waitUntil(lambda: len(seen.losses) == 2)


def test_whoever_asks_an_engine_that_is_down_starts_it_again(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.stillborn)
    qtbot.waitUntil(lambda: len(seen.losses) == 1)
    seen.thread._target = studio_engines.playing
    seen.thread.send(events.OpenNetwork(path=None))
    qtbot.waitUntil(lambda: seen.count(events.NetworkOpened) == 1)


def test_a_patient_stop_waits(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.deaf, grace_s=0.1)
    seen.thread.send(events.StartRun(config=studio_engines.recorded_run.config()))
    qtbot.waitUntil(lambda: seen.count(events.Notice) == 1)
    seen.thread.stop_run(patient=True)
    qtbot.wait(400)
    assert not seen.losses
    seen.thread.stop_run()
    qtbot.waitUntil(lambda: bool(seen.losses) and seen.losses[0].forced)


def test_an_evaluation_that_obeyed_keeps_the_engine(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(checkpoint_samples.teaching)
    qtbot.waitUntil(lambda: seen.count(events.EngineReady) == 1)
    seen.thread.send(EvaluateCheckpoints(workspace=None, names=("1",)))
    seen.thread.stop_run()
    qtbot.waitUntil(lambda: seen.count(CheckpointsEvaluated) == 1)
    assert not seen.thread._deadline.isActive()
    assert not seen.losses


def test_a_stop_does_not_end_the_run_after_it(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.deaf, grace_s=0.1)
    start = events.StartRun(config=studio_engines.recorded_run.config())
    seen.thread.send(start)
    qtbot.waitUntil(lambda: seen.count(events.Notice) == 1)
    seen.thread.stop_run()
    seen.thread.send(start)
    qtbot.wait(400)
    assert not seen.losses
    seen.thread.stop_run()
    seen.thread.send(checkpoint_events.ListWorkspace(workspace=None))
    qtbot.waitUntil(lambda: bool(seen.losses))


def test_stops_on_the_heels_of_one_another_do_not_put_off_the_end(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.deaf, grace_s=0.4)
    seen.thread.send(events.StartRun(config=studio_engines.recorded_run.config()))
    qtbot.waitUntil(lambda: seen.count(events.Notice) == 1)

    def is_lost() -> bool:
        if not seen.losses:
            seen.thread.stop_run()
        return bool(seen.losses)

    qtbot.waitUntil(is_lost)
    assert seen.losses[0].forced


def test_events_of_an_abandoned_engine_are_dropped(watch: Callable[..., Watch], qtbot: QtBot) -> None:
    seen = watch(studio_engines.playing)
    qtbot.waitUntil(lambda: seen.count(events.EngineReady) == 1)
    seen.batches.clear()
    seen.thread.emit_batch(seen.thread.generation - 1, (events.Notice(sentence="stale"),))
    seen.thread.emit_batch(seen.thread.generation, (events.Notice(sentence="current"),))
    qtbot.waitUntil(lambda: seen.count(events.Notice) > 0)
    assert [event.sentence for event in seen.events if isinstance(event, events.Notice)] == ["current"]


def test_what_a_person_waits_for_is_not_gathered(
    watch: Callable[..., Watch], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_thread, "BATCH_S", 3600.0)
    seen = watch(studio_engines.supposing)
    qtbot.waitUntil(lambda: seen.count(events.EngineReady) == 1)
    question = what_if_events.ScoreWhatIf(request=1, workspace="w", platform="p", candidate=recorded_what_if.OWN)
    for count in range(1, 4):
        seen.thread.send(question)
        qtbot.waitUntil(lambda: seen.count(what_if_events.WhatIfScored) == count)  # noqa: B023


def test_commands_for_a_lost_engine_never_reach_the_next(watch: Callable[..., Watch]) -> None:
    thread = watch(studio_engines.playing).thread
    thread._commands.put((7, events.StopRun()))
    thread._commands.put((8, events.PauseRun()))
    thread._commands.put((9, events.ResumeRun()))
    assert thread.take_commands(8) == [events.PauseRun()]
    assert thread.take_commands(9) == [events.ResumeRun()], "sent while the engine before was being ended"


def test_closing_ends_even_a_deaf_engine(qtbot: QtBot) -> None:
    seen = Watch(studio_engines.deaf, 0.3)
    seen.thread.send(events.StartRun(config=studio_engines.recorded_run.config()))
    qtbot.waitUntil(lambda: seen.count(events.Notice) == 1)
    seen.thread.close()
    assert seen.thread.isFinished()
    seen.thread.send(events.StopRun())  # harmless


def test_what_counts_as_an_obeyed_stop() -> None:
    assert obeys_stop(events.PhaseChanged(stage=Stage.LIBRARY))
    assert not obeys_stop(events.PhaseChanged(stage=Stage.MEASURE))
    assert obeys_stop(events.Refused(stage="setup", sentence="No."))
    assert obeys_stop(library_events.ReportWritten(path="report.html", run=1))
    assert obeys_stop(checkpoint_samples.evaluated(None, stopped=True))
    assert not obeys_stop(events.Notice(sentence="Still here."))
    assert not obeys_stop(studio_engines.recorded_run.opened()), "a run opens its network again"


def test_questions_begin_no_work() -> None:
    assert begins_work(events.OpenNetwork(path=None))
    assert begins_work(library_events.WriteReport(workspace="w", network=None, out="report.html"))
    assert begins_work(checkpoint_events.ImportCheckpoint(workspace=None, path="one.safetensors"))
    assert not begins_work(checkpoint_events.ListWorkspace(workspace=None))
    assert not begins_work(
        what_if_events.ScoreWhatIf(request=1, workspace="w", platform="p", candidate=recorded_what_if.OWN)
    )
    assert not begins_work(events.StopRun())


@pytest.mark.parametrize(
    ("code", "said"), [(None, "closed its pipe"), (1, "exited with status 1"), (-11, "was ended by SIGSEGV")]
)
def test_exit_codes_are_written_out(code: int | None, said: str) -> None:
    assert describe_exit(code) == said
