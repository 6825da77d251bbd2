"""Workspaces into one dataset folder, as `packaging/make_dataset.py` does it."""

from __future__ import annotations

from pathlib import Path

import make_dataset
import pytest

from tcl_core.dataset import Split, read_dataset
from tcl_core.domain import (
    Candidate,
    DecisionDomain,
    DecisionKind,
    Network,
    Platform,
    PlatformFeatures,
    Rationale,
    Record,
    Sketch,
    Source,
    Task,
)
from tcl_core.store import Workspace

FEATURES = PlatformFeatures(
    cores=2, vector_bits=256, l1_bytes=1, l2_bytes=1, l3_bytes=1, peak_flops=1e11, bandwidth_bytes_s=1e10
)


def a_workspace(folder: Path, fingerprint: str, *names: str) -> Path:
    """One task for each network, measured once."""
    domain = DecisionDomain(instruction=0, kind=DecisionKind.CATEGORY, values=((0,),))
    with Workspace.open(folder) as workspace:
        workspace.add_platform(
            Platform(
                fingerprint=fingerprint,
                name=fingerprint,
                kind="llvm",
                target_json="{}",
                threads=2,
                runnable=True,
                features=FEATURES,
            )
        )
        for name in names:
            task = Task(
                key=f"t-{name}",
                name=name,
                weight=1,
                module_json="{}",
                flops=1.0,
                bytes_moved=1.0,
                dtype="float32",
                axes=(),
                arguments=(),
                anchor="m",
            )
            network = Network(name=name, path=f"/models/{name}.onnx", digest=f"d-{name}", inputs=(), outputs=())
            workspace.add_network(network, (task,))
            sketch = Sketch(task_key=task.key, index=0, trace_json="[[],[]]", domains=(domain,))
            workspace.add_sketches(fingerprint, [sketch])
            workspace.add_record(
                Record(
                    candidate=Candidate(task.key, 0, ((0,),)),
                    platform=fingerprint,
                    trace_json="",
                    structural_hash="",
                    latencies_s=(0.5,),
                    failure=None,
                    rationale=Rationale(),
                    cut_off=False,
                    source=Source.COLLECTED,
                    round=0,
                    measured_at=0.0,
                )
            )
    return folder


def test_workspaces_become_one_dataset_with_its_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = a_workspace(tmp_path / "first", "cafe01", "a", "b")
    second = a_workspace(tmp_path / "second", "beef02", "b", "c", "d")
    out = tmp_path / "data"
    arguments = [str(first), str(second), "--out", str(out), "--split", "d=validation", "--source", "a=ours"]

    assert make_dataset.main(arguments) == 0

    made = read_dataset(out)
    assert {*made.platforms} == {"cafe01", "beef02"}
    assert [each.name for each in made.networks] == ["a", "b", "c", "d"]
    splits = {each.name: each.split for each in made.networks}
    assert splits["d"] is Split.VALIDATION
    assert sorted(splits.values()) == [Split.TEST, Split.TRAIN, Split.TRAIN, Split.VALIDATION]
    assert made.networks[0].source == "ours"
    assert len(made.records) == 5
    card = (out / "README.md").read_text(encoding="utf-8")
    assert made.digest in card
    printed = capsys.readouterr().out
    total = sum(path.stat().st_size for path in out.iterdir())
    assert f"{total:,} bytes in {out}" in printed
    assert f"{(out / 'records.parquet').stat().st_size:,} records.parquet" in printed
    assert make_dataset.main(arguments) == 0  # over the old one


def test_a_dataset_among_the_workspaces_keeps_its_records_and_splits(tmp_path: Path) -> None:
    first = a_workspace(tmp_path / "first", "cafe01", "a", "b", "c")
    data = tmp_path / "data"
    assert make_dataset.main([str(first), "--out", str(data), "--split", "b=test", "--source", "a=ours"]) == 0
    before = {network.name: network for network in read_dataset(data).networks}
    second = a_workspace(tmp_path / "second", "beef02", "b", "d")

    assert make_dataset.main([str(data), str(second), "--out", str(data), "--source", "c=theirs"]) == 0

    made = read_dataset(data)
    assert {*made.platforms} == {"cafe01", "beef02"}
    assert len(made.records) == 5
    after = {network.name: network for network in made.networks}
    assert {name: network.split for name, network in after.items() if name in before} == {
        name: network.split for name, network in before.items()
    }
    assert (after["a"].source, after["c"].source) == ("ours", "theirs")


def test_a_platform_that_was_measured_anew_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    old = a_workspace(tmp_path / "old", "cafe01", "a", "b")
    other = a_workspace(tmp_path / "other", "beef02", "a", "b")
    data = tmp_path / "data"
    assert make_dataset.main([str(old), str(other), "--out", str(data)]) == 0
    new = a_workspace(tmp_path / "new", "cafe01", "a")
    arguments = [str(data), str(new), "--out", str(data), "--drop", "cafe01", "--note", "The rest is older."]

    assert make_dataset.main(arguments) == 0

    made = read_dataset(data)
    assert sorted(on for _, on in made.records) == ["beef02", "beef02", "cafe01"]
    assert "The rest is older." in (data / "README.md").read_text(encoding="utf-8").splitlines()


def test_refusals_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make_dataset.main([str(tmp_path / "none"), "--out", str(tmp_path / "data")]) == 2
    error = capsys.readouterr().err
    assert "There is no workspace in" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "data").exists()
    one = a_workspace(tmp_path / "one", "cafe01", "a")
    assert make_dataset.main([str(one), "--out", str(tmp_path / "data"), "--split", "x=test"]) == 2
    assert "No network is called 'x'" in capsys.readouterr().err
    assert make_dataset.main([str(one), "--out", str(tmp_path / "data"), "--drop", "cafe01"]) == 2
    assert "No dataset has the platform cafe01" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--split", "a"], ["--split", "a=holdout"], ["--source", "=x"]])
def test_a_split_that_is_none(tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        make_dataset.main([str(tmp_path), "--out", str(tmp_path / "data"), *arguments])
    assert caught.value.code == 2
    assert "is not" in capsys.readouterr().err


def test_too_much_for_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(make_dataset, "LIMIT_BYTES", 100)
    assert make_dataset.main([str(a_workspace(tmp_path / "w", "cafe01", "a")), "--out", str(tmp_path / "data")]) == 1
    assert "collect fewer" in capsys.readouterr().err
