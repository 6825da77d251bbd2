"""The engine in its own process: commands in, events out, stop, refusal, and death with everything it started."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import onnx
import psutil
from process_ends import all_gone

from tcl_core.checkpoint_events import ListWorkspace, TrainModel, WorkspaceListed
from tcl_core.config import CostModelConfig, LibraryConfig
from tcl_core.events import (
    EngineReady,
    Finished,
    NetworkOpened,
    OpenNetwork,
    PauseRun,
    PhaseChanged,
    Quit,
    RecordMeasured,
    Refused,
    ResumeRun,
    RoundFinished,
    RunStarted,
    StartRun,
    StopRun,
)
from tcl_core.library_events import LibraryDone, LibraryStopped, ReportWritten, TimeLibrary, VerifyLibrary, WriteReport
from tcl_core.schedule_events import InspectSchedule, ScheduleInspected, ScheduleRefused, ScoreExplained
from tcl_core.store import Workspace
from tests.end_to_end.conftest import Served, config


def test_open_refuse_pause_stop_and_quit(served: Served, tmp_path: Path) -> None:
    served.wait_for(EngineReady)
    served.pipe.send(OpenNetwork(path=str(tmp_path / "gone.onnx")))
    refused = served.wait_for(Refused)[-1]
    assert isinstance(refused, Refused) and "gone.onnx" in refused.sentence

    served.pipe.send(OpenNetwork(path=None))
    opened = served.wait_for(NetworkOpened)[-1]
    assert isinstance(opened, NetworkOpened) and opened.tasks

    served.pipe.send(StartRun(config=config(tmp_path / "w", 10_000)))
    served.wait_for(RecordMeasured)
    served.pipe.send(PauseRun())
    time.sleep(0.5)
    served.pipe.send(ResumeRun())
    served.wait_for(RecordMeasured)
    served.pipe.send(StopRun())
    events = served.wait_for(Finished)
    finished = events[-1]
    assert isinstance(finished, Finished) and finished.reason == "stopped"

    served.pipe.send(StartRun(config=config(tmp_path / "w", 10_000)))
    started = served.wait_for(RunStarted)[-1]
    assert isinstance(started, RunStarted) and started.resumed_records >= 2
    served.pipe.send(Quit())
    served.process.join(20)
    assert served.process.exitcode == 0


def test_a_library_is_verified_stopped_and_reported(served: Served, tmp_path: Path) -> None:
    served.pipe.send(StartRun(config=replace(config(tmp_path / "w", 4), cost_model=CostModelConfig(name="random"))))
    finished = served.wait_for(Finished)[-1]
    assert isinstance(finished, Finished) and finished.library is not None and finished.library.contests
    place = {"workspace": str(tmp_path / "w"), "network": "sample"}
    served.pipe.send(VerifyLibrary(**place, config=LibraryConfig(rtol=1e-2)))
    done = served.wait_for(LibraryDone)[-1]
    assert isinstance(done, LibraryDone) and done.report.matches and done.report.rtol == 1e-2
    assert done.report.tasks == finished.library.tasks and done.report.tuned is None
    served.pipe.send(TimeLibrary(**place))
    served.wait_for(PhaseChanged)
    served.pipe.send(StopRun())
    assert isinstance(served.wait_for(LibraryStopped)[-1], LibraryStopped)
    served.pipe.send(WriteReport(**place, out=str(tmp_path / "run.html")))
    written = served.wait_for(ReportWritten)[-1]
    assert isinstance(written, ReportWritten) and written.run == 1
    assert "Same results as onnxruntime" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_a_dynamic_network_is_refused_with_shapes_and_a_workspace_is_listed(served: Served, tmp_path: Path) -> None:
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 8]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "dynamic.onnx")
    served.pipe.send(OpenNetwork(path=str(tmp_path / "dynamic.onnx")))
    refused = served.wait_for(Refused)[-1]
    assert isinstance(refused, Refused) and refused.shapes == (("x", (1, 8)),)
    served.pipe.send(ListWorkspace(workspace=str(tmp_path / "w")))
    assert served.wait_for(WorkspaceListed)[-1].workspace == str(tmp_path / "w")
    served.pipe.send(TrainModel(workspace=str(tmp_path / "w"), platform="cpu"))
    refused = served.wait_for(Refused)[-1]
    assert isinstance(refused, Refused) and str(tmp_path / "w") in refused.sentence


def test_a_killed_engine_leaves_its_records_and_no_process(served: Served, tmp_path: Path) -> None:
    served.wait_for(EngineReady)
    served.pipe.send(StartRun(config=config(tmp_path / "w", 10_000)))
    events = served.wait_for(RecordMeasured)
    events += served.wait_for(RecordMeasured)
    children = psutil.Process(served.process.pid).children(recursive=True)
    assert children
    os.kill(served.process.pid or 0, signal.SIGKILL)
    served.process.join(5)
    assert all_gone(children)
    told = {event.record.candidate for event in events if isinstance(event, RecordMeasured)}
    with Workspace.open(tmp_path / "w") as workspace:
        assert told <= {record.candidate for record in workspace.records()}


def test_a_run_shows_a_record_between_rounds_and_in_a_pause(served: Served, tmp_path: Path) -> None:
    served.wait_for(EngineReady)
    served.pipe.send(StartRun(config=config(tmp_path / "w", 10_000)))
    measured = served.wait_for(RecordMeasured)[-1]
    assert isinstance(measured, RecordMeasured)
    record = measured.record
    question = InspectSchedule(
        request=1,
        workspace=str(tmp_path / "w"),
        platform=record.platform,
        task_key=record.candidate.task_key,
        candidate=record.candidate,
    )
    served.pipe.send(question)
    events = served.wait_for(ScoreExplained)
    kinds = [type(event) for event in events]
    assert kinds.index(RoundFinished) < kinds.index(ScheduleInspected)
    (inspected,) = [event for event in events if isinstance(event, ScheduleInspected)]
    assert inspected.view.record.candidate == record.candidate and not inspected.view.note

    served.pipe.send(PauseRun())
    served.pipe.send(replace(question, request=2))
    explained = served.wait_for(ScoreExplained)[-1]
    assert isinstance(explained, ScoreExplained) and explained.request == 2
    served.pipe.send(replace(question, request=3, task_key="nobody's"))
    refused = served.wait_for(ScheduleRefused)[-1]
    assert isinstance(refused, ScheduleRefused) and refused.request == 3
    served.pipe.send(StopRun())
    finished = served.wait_for(Finished)[-1]
    assert isinstance(finished, Finished) and finished.reason == "stopped"
