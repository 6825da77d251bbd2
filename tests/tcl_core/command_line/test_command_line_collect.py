"""``collect``: what is asked of the collector, and what its end is told as."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcl_core.command_line import main
from tcl_core.command_line.output import Output
from tcl_core.command_line.watch import RunWatch
from tcl_core.config import TEACHING, CollectConfig
from tcl_core.events import CancelToken, Collected, Event, NetworkOpened, RecordMeasured
from tests.tcl_core.store import store_samples as samples


def test_what_is_collected_is_chosen_to_be_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tcl_core.tuner import collect

    asked = list[CollectConfig]()

    class FakeCollector:
        def __init__(self, config: CollectConfig, cancel: CancelToken) -> None:
            asked.append(config)

        def events(self) -> Iterator[Event]:
            yield Collected(records=8, failed=1, repeated=2, tasks=3, wanted=12, present=10, seconds=4.0)

    monkeypatch.setattr(collect, "Collector", FakeCollector)
    line = ("collect", "net.onnx", "--workspace", str(tmp_path), "--per-task", "40", "--share", "0.1", "--seed", "4")
    assert main((*line, "--sampler", "rdu", "--json")) == 0
    (config,) = asked
    assert config.sampler == TEACHING
    assert (config.per_task, config.share, config.seed) == (40, 0.1, 4)
    assert (config.networks, config.workspace) == ((str(Path("net.onnx").resolve()),), str(tmp_path))
    found = json.loads(capsys.readouterr().out)
    assert (found["records"], found["failed"], found["planned"], found["present"]) == (8, 1, 12, 10)
    assert main((*line, "--sampler", "random")) == 0
    assert asked[1].sampler.name == "random"
    assert "8 records (1 failed)" in capsys.readouterr().out


def test_the_tasks_of_every_network_are_told_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with RunWatch(Output(as_json=False)) as watch:
        for key in ("a1", "b2"):
            task = samples.task(key, name=f"named {key}")
            known = {"network": samples.network(), "platform": samples.platform(), "report": None, "graph": None}
            watch.show(NetworkOpened(tasks=(task,), **known))  # type: ignore[arg-type]
        for key in ("a1", "b2"):
            watch.show(RecordMeasured(record=samples.record(0, task_key=key)))
    told = capsys.readouterr().err
    assert "named a1: " in told and "named b2: " in told
