"""A recorded run made long: what is repeated and what goes on, and that the window's memory stays bounded."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
import recorded_run
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.recording import Recording
from app.soak import Soak, begin
from app.soak_bench import silent
from tcl_core.events import Event, Finished, Progress, RecordMeasured, RoundFinished

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
SECONDS, BATCH_S = 900.0, 10.0
RECORD_BYTES = 900
"""What the window may keep of a record: its numbers, its candidate with shared decisions, its hash."""


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording([recorded_run.opened(), *recorded_run.RecordedRun().events()])


def test_a_recording_goes_on_where_it_ends(recording: Recording, tmp_path: Path) -> None:
    recording.save(tmp_path / "recording")
    batches = list(islice(Recording.load(tmp_path / "recording").batches(30.0), 20))
    events = [event for _, batch in batches for event in batch]
    progress = [event for event in events if isinstance(event, Progress)]
    records = [event.record for event in events if isinstance(event, RecordMeasured)]
    rounds = [event.round for event in events if isinstance(event, RoundFinished)]
    assert all(later[0] - earlier[0] >= 30.0 for earlier, later in pairwise(batches))
    assert [event.trials for event in progress] == list(range(1, len(progress) + 1))
    assert [event.elapsed_s for event in progress] == sorted(event.elapsed_s for event in progress)
    assert len({record.structural_hash for record in records}) == len(records) > 2 * 360
    assert rounds == list(range(len(rounds)))
    assert not [event for event in events if isinstance(event, Finished)]
    first, again = records[0].candidate, records[360].candidate
    assert first == again and first is not again, "objects of its own, as they come out of a pipe"


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_recording_without_a_whole_round_is_refused(part: int) -> None:
    events: list[Event] = [recorded_run.opened(), *recorded_run.RecordedRun(rounds=1).events()]
    lacking = [
        events[1:],
        [events[0], *events[2:]],
        [event for event in events if not isinstance(event, RoundFinished)],
    ]
    with pytest.raises(ValueError, match="a recording needs"):
        Recording(lacking[part])


@pytest.fixture
def traced() -> Iterator[Callable[[], float]]:
    tracemalloc.start()
    yield lambda: float(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()


def growth_of_a_record(
    studio: Studio, recording: Recording, memory: Callable[[], float], qtbot: QtBot, tmp_path: Path
) -> float:
    """Bytes the last third of a long run added, for each of its records."""
    begin(studio, recording, str(tmp_path))
    soak = Soak(studio, recording, SECONDS, memory, BATCH_S)
    with qtbot.waitSignal(soak.ended):
        soak.start()
    assert len(soak.readings) == 4
    return (soak.readings[3] - soak.readings[2]) / (len(studio.models.scores.records) / 3)


def test_memory_of_a_long_run_is_bounded_by_its_records(
    open_studio: Callable[[EngineTarget], Studio],
    recording: Recording,
    traced: Callable[[], float],
    qtbot: QtBot,
    tmp_path: Path,
) -> None:
    studio = open_studio(silent)
    assert growth_of_a_record(studio, recording, traced, qtbot, tmp_path) < RECORD_BYTES
    assert len(studio.window.plots_panel.score_plot.plot.items()) < 60


def test_a_listener_that_keeps_the_events_breaks_that_bound(
    open_studio: Callable[[EngineTarget], Studio],
    recording: Recording,
    traced: Callable[[], float],
    qtbot: QtBot,
    tmp_path: Path,
) -> None:
    studio = open_studio(silent)
    kept: list[tuple[Event, ...]] = []
    studio.engine.events.connect(kept.append)
    assert growth_of_a_record(studio, recording, traced, qtbot, tmp_path) > RECORD_BYTES
