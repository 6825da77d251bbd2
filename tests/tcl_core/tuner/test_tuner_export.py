"""Commands on a library: what each asks of the library's stage, and how a stop and a refusal end. Nothing is built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import library_samples
import pytest

from tcl_core.config import LibraryConfig, RunConfig
from tcl_core.domain import Network, Platform
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken, Event, LibraryCommand, Notice, PhaseChanged
from tcl_core.libraries import LibraryReport
from tcl_core.library.bundle import FORMAT
from tcl_core.library_events import ExportLibrary, LibraryDone, LibraryStopped, TimeLibrary, VerifyLibrary
from tcl_core.store import Workspace
from tcl_core.tuner import export

CONFIG = LibraryConfig(rtol=1e-2, atol=1e-5)


class Stage:
    """Stands for `make_library`: keeps what it was asked, and answers or is stopped."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.opened: list[str | None] = []
        self.stopped = False

    def __call__(self, **asked: Any) -> Any:
        self.asked = asked
        if self.stopped:
            raise Interrupted
        return library_samples.report()


def opened_on(platform: Platform) -> Any:
    """Stands for a network that was opened under the name `net`."""
    imported = SimpleNamespace(network=SimpleNamespace(name="net", digest="d1"))
    return SimpleNamespace(
        platform=platform, tasks=(), loaded=SimpleNamespace(model="model", given="given"), imported=imported
    )


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, cpu_platform: Platform) -> Stage:
    made = Stage()
    opened = opened_on(cpu_platform)

    def open_tuned(_workspace: Workspace, _name: str, _platform: str | None, path: str | None, *, run_it: bool) -> Any:
        made.opened.append(path)
        return opened

    monkeypatch.setattr(export, "make_library", made)
    monkeypatch.setattr(export, "open_tuned", open_tuned)
    return made


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    Workspace.open(tmp_path / "w").close()
    return {"workspace": str(tmp_path / "w"), "network": None}


def obey(command: LibraryCommand) -> list[Event]:
    return list(export.carry_out(command, CancelToken()))


def test_a_check_is_not_timed_and_writes_nothing(stage: Stage, place: dict[str, Any]) -> None:
    command = VerifyLibrary(**place, config=CONFIG)
    *phases, done = obey(command)
    assert done == LibraryDone(at=done.at, command=command, network="net", report=library_samples.report())
    assert [phase.detail for phase in phases if isinstance(phase, PhaseChanged)] == [
        "reading the network",
        "compile, check",
    ]
    assert (stage.asked["out"], stage.asked["timed"], stage.asked["config"]) == (None, False, CONFIG)


def test_times_are_taken_and_a_bundle_is_written_on_request_alone(stage: Stage, place: dict[str, Any]) -> None:
    obey(TimeLibrary(**place))
    assert (stage.asked["out"], stage.asked["timed"]) == (None, True)
    obey(ExportLibrary(**place, out="/exports/here", config=CONFIG))
    assert (stage.asked["out"], stage.asked["timed"], stage.asked["config"]) == (Path("/exports/here"), True, CONFIG)


def test_the_stage_gets_several_records_of_a_task_as_the_best_may_not_apply(
    stage: Stage, cpu_platform: Platform
) -> None:
    def fastest(platform: str, keys: list[str], count: int) -> dict[str, tuple[int, ...]]:
        assert platform == cpu_platform.fingerprint
        return {key: tuple(range(count)) for key in keys}

    opened = SimpleNamespace(
        platform=cpu_platform,
        tasks=(SimpleNamespace(key="a1"),),
        loaded=SimpleNamespace(model="model", given="given"),
        imported="net",
    )
    export.build_library(SimpleNamespace(fastest_records=fastest), opened, CONFIG, CancelToken(), None)
    assert stage.asked["records"] == {"a1": tuple(range(8))}


def test_the_file_is_read_where_the_command_says(stage: Stage, place: dict[str, Any]) -> None:
    obey(VerifyLibrary(**place))
    obey(TimeLibrary(**place, path="/networks/n2.onnx"))
    assert stage.opened == [None, "/networks/n2.onnx"]


@pytest.mark.parametrize(("given", "read"), [(None, "n1.onnx"), ("n2.onnx", "n2.onnx")])
def test_a_file_that_moved_is_known_by_its_content(
    given: str | None, read: str, tmp_path: Path, cpu_platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / read
    file.touch()
    path = given and str(file)
    network = SimpleNamespace(name="n1", digest="one", path=str(tmp_path / "n1.onnx"))
    config = RunConfig(network=network.path, workspace="/w")
    run = SimpleNamespace(network_digest="one", platform=cpu_platform.fingerprint, config=config, started_at=0.0)
    workspace = SimpleNamespace(networks=lambda: (network,), runs=lambda: (run,))
    found = SimpleNamespace(name="n2", digest="one")
    opened = SimpleNamespace(platform=cpu_platform, tasks=(), imported=SimpleNamespace(network=found))
    asked: list[str | None] = []

    monkeypatch.setattr(export, "read_network", lambda path, _config: asked.append(path))
    monkeypatch.setattr(export, "resolve_platform", lambda _target, _threads: cpu_platform)
    monkeypatch.setattr(export, "open_on", lambda _loaded, _platform, _config: opened)
    monkeypatch.setattr(export, "with_stored_tasks", lambda _workspace, opened: opened)
    assert export.open_tuned(workspace, "one", None, path) is opened
    assert asked == [str(file)]
    found.digest = "another"
    with pytest.raises(UserError, match=f"{read} changed since it was tuned"):
        export.open_tuned(workspace, "one", None, path)
    file.unlink()
    with pytest.raises(UserError, match=f"The file of n1, '.*{read}', is gone; put it back, or tune it from where"):
        export.open_tuned(workspace, "one", None, path)


def test_a_stop_is_an_event(stage: Stage, place: dict[str, Any]) -> None:
    stage.stopped = True
    assert isinstance(obey(TimeLibrary(**place))[-1], LibraryStopped)


def test_what_cannot_run_here_is_exported_but_not_checked(
    stage: Stage, place: dict[str, Any], cpu_platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = opened_on(replace(cpu_platform, runnable=False))
    monkeypatch.setattr(export, "open_tuned", lambda _workspace, name, platform, path, *, run_it: elsewhere)
    for command in (VerifyLibrary(**place), TimeLibrary(**place)):
        with pytest.raises(UserError, match="cannot run code for test CPU"):
            obey(command)
    assert isinstance(obey(ExportLibrary(**place, out="/out"))[-1], LibraryDone)


@pytest.fixture
def tuned(place: dict[str, Any], cpu_platform: Platform) -> Iterator[Workspace]:
    """The same workspace, open for writing, with the network of `opened_on` and one run of it that is on."""
    with Workspace.open(Path(place["workspace"])) as workspace:
        workspace.add_platform(cpu_platform)
        workspace.add_network(Network(name="net", digest="d1", path="/n.onnx", inputs=(), outputs=()), ())
        workspace.start_run(RunConfig(network="/n.onnx", workspace="w"), "d1", cpu_platform.fingerprint)
        yield workspace


def libraries(place: dict[str, Any]) -> list[LibraryReport | None]:
    with Workspace.open(Path(place["workspace"]), read_only=True) as workspace:
        return [run.library for run in workspace.runs()]


def test_what_is_exported_of_a_stopped_run_is_noted_with_it(
    stage: Stage, place: dict[str, Any], tuned: Workspace
) -> None:
    tuned.finish_run(1, "stopped", 3, 0, 1.0, ())
    tuned.close()
    obey(TimeLibrary(**place))
    assert libraries(place) == [None]
    assert not any(isinstance(event, Notice) for event in obey(ExportLibrary(**place, out="/out")))
    assert libraries(place) == [library_samples.report()]


def test_a_run_keeps_the_library_of_its_own_end(stage: Stage, place: dict[str, Any], tuned: Workspace) -> None:
    own = library_samples.report(path="/own")
    tuned.note_library(1, own)
    tuned.finish_run(1, "minutes", 3, 0, 1.0, ())
    tuned.close()
    obey(ExportLibrary(**place, out="/out"))
    assert libraries(place) == [own]


def test_an_export_beside_a_run_of_its_network_leaves_the_run_alone(
    stage: Stage, place: dict[str, Any], tuned: Workspace
) -> None:
    assert not any(isinstance(event, Notice) for event in obey(ExportLibrary(**place, out="/out")))
    assert libraries(place) == [None]


def test_an_export_that_cannot_be_noted_is_done_all_the_same_and_says_so(
    stage: Stage, place: dict[str, Any], tuned: Workspace
) -> None:
    tuned.finish_run(1, "stopped", 3, 0, 1.0, ())  # the workspace stays in use
    *_, notice, done = obey(ExportLibrary(**place, out="/out"))
    assert isinstance(notice, Notice) and isinstance(done, LibraryDone)
    assert "the report of run 1 will not tell of it: The workspace" in notice.sentence
    assert "is in use by another run" in notice.sentence


def test_a_run_replaces_its_own_bundle_and_no_other(
    tmp_path: Path, cpu_platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "find_linker", lambda triple: "a linker")
    there = replace(cpu_platform, fingerprint="there")

    def ends_in(digest: str, platform: Platform = cpu_platform) -> str:
        network = SimpleNamespace(name="net", digest=digest)
        opened = SimpleNamespace(platform=platform, imported=SimpleNamespace(network=network))
        out = export.usual_folder(workspace, opened)
        out.mkdir(exist_ok=True)
        told = {"network": {"digest": digest}, "platform": {"fingerprint": platform.fingerprint}}
        (out / "manifest.json").write_text(json.dumps({"format": FORMAT, **told}), encoding="utf-8")
        return out.name

    with Workspace.open(tmp_path / "w") as workspace:
        assert [ends_in("one"), ends_in("one"), ends_in("another"), ends_in("one", there)] == [
            "net", "net", "net-2", "net-3",
        ]  # fmt: skip
        assert [ends_in("another"), ends_in("one", there), ends_in("one")] == ["net-2", "net-3", "net"]
        (workspace.path / "exports" / "net" / "manifest.json").write_text("[]", encoding="utf-8")
        assert ends_in("one") == "net-4", "somebody's own files lie in the first"
        monkeypatch.setattr(export, "find_linker", lambda triple: None)
        assert export.usual_folder(workspace, SimpleNamespace(platform=cpu_platform)) is None


def test_an_empty_workspace_is_refused(tmp_path: Path) -> None:
    Workspace.open(tmp_path / "w").close()
    with pytest.raises(UserError, match="holds no network yet"):
        obey(VerifyLibrary(workspace=str(tmp_path / "w"), network=None))


def test_what_was_tuned_on_other_hardware_alone_is_not_built_untuned(cpu_platform: Platform) -> None:
    records: list[str] = []
    workspace = SimpleNamespace(
        best_records=lambda platform, keys: records,
        platforms=lambda: (replace(cpu_platform, fingerprint="there", name="the big one"),),
    )
    network = SimpleNamespace(network=SimpleNamespace(name="net"))
    opened = SimpleNamespace(platform=cpu_platform, tasks=(), imported=network)
    export._require_records(workspace, opened, SimpleNamespace(platform=cpu_platform.fingerprint))
    with pytest.raises(UserError, match=r"net was tuned on the big one, and here its target is .*; build the library"):
        export._require_records(workspace, opened, SimpleNamespace(platform="there"))
    records.append("one")
    export._require_records(workspace, opened, SimpleNamespace(platform="there"))


def test_a_library_is_built_for_a_device_that_is_off(monkeypatch: pytest.MonkeyPatch, cpu_platform: Platform) -> None:
    workspace = SimpleNamespace(platforms=lambda: [replace(cpu_platform, runnable=True)])
    run = SimpleNamespace(
        platform=cpu_platform.fingerprint, config=RunConfig(network=None, workspace="w", target="cpu@127.0.0.1:1")
    )
    with pytest.raises(UserError, match="Nobody listens"):
        export._platform(workspace, run, True)
    found = export._platform(workspace, run, False)
    assert (found.fingerprint, found.target_json) == (cpu_platform.fingerprint, cpu_platform.target_json)
    assert (found.runnable, found.device) == (False, ""), "so nothing is checked"


def test_a_device_of_another_kind_is_refused_at_an_export(
    monkeypatch: pytest.MonkeyPatch, cpu_platform: Platform
) -> None:
    def refuse(_target: str, _threads: int | None) -> None:
        raise UserError("device", "It has another TVM.")

    monkeypatch.setattr(export, "resolve_platform", refuse)
    run = SimpleNamespace(platform="p", config=RunConfig(network=None, workspace="w", target="cpu@pi:9090"))
    with pytest.raises(UserError, match="another TVM"):
        export._platform(SimpleNamespace(), run, False)
