"""A checkpoint file describes itself, keeps its origin, and is trusted only as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors import safe_open

from tcl_core.checkpoints import describe, lineage_after, save_stamped, stamp
from tcl_core.checkpoints.origin import from_fact, to_fact
from tcl_core.cost_model.checkpoint import FORMAT, read_checkpoint, write_checkpoint
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.errors import UserError
from tcl_core.features.vocabulary import LAYOUT
from tests.tcl_core.checkpoints.conftest import OLD_LAYOUT, Make, origin_of
from tests.tcl_core.store import store_samples as samples


def test_it_says_what_it_is(make: Make) -> None:
    origin = origin_of(samples.platform(), parent="p" * 64)
    file = describe(make(origin=origin))
    assert (file.model, file.layout, file.origin) == ("random", LAYOUT, origin)
    assert file.fits
    assert file.size_bytes == file.path.stat().st_size
    assert {"numpy", "safetensors"} <= file.libraries.keys()


def test_another_vocabulary_is_described_and_does_not_fit(make: Make) -> None:
    file = describe(make(layout=OLD_LAYOUT))
    assert not file.fits
    assert file.layout == OLD_LAYOUT
    assert not describe(make(layout=replace(LAYOUT, fields=LAYOUT.fields - 1))).fits


def test_a_stamped_model_loads_as_before(make: Make) -> None:
    path = make(seed=7)
    assert describe(path).origin is None
    bare = describe(path).digest
    stamp(path, origin_of(samples.platform()))
    assert describe(path).digest != bare
    model = RandomModel(LAYOUT, width=8, seed=0)
    model.load(path)
    assert model.trained


def test_an_origin_of_a_later_version_is_left_alone() -> None:
    fact = to_fact(origin_of(samples.platform()))
    assert from_fact(fact) == origin_of(samples.platform())
    assert from_fact(fact | {"kind": "dreamt"}) is None
    assert from_fact("text") is None


@pytest.mark.parametrize("wrong", [-1, 2**31, 2**70])
def test_an_origin_with_numbers_that_no_workspace_can_note_is_none(wrong: int) -> None:
    fact = to_fact(origin_of(samples.platform()))
    assert from_fact(fact | {"records": wrong}) is None
    assert from_fact(fact | {"seed": wrong}) is None
    assert from_fact(fact | {"platform": fact["platform"] | {"threads": wrong}}) is None


def test_a_lineage_names_a_platform_once_in_a_row() -> None:
    first, second = samples.platform("a", name="A"), samples.platform("b", name="B")
    origin = origin_of(first)
    assert lineage_after(None, first) == ("A",)
    assert lineage_after(origin, first) == ("A",)
    assert lineage_after(origin, second) == ("A", "B")
    assert lineage_after(replace(origin, lineage=("A", "B")), first) == ("A", "B", "A")


@pytest.mark.parametrize("damage", ["gone", "folder", "text", "cut", "flipped", "header", "foreign"])
def test_damage_is_one_sentence_that_names_the_file(make: Make, tmp_path: Path, damage: str) -> None:
    path = make(origin=origin_of(samples.platform()))
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    elif damage == "text":
        path.write_text("hello", encoding="utf-8")
    elif damage == "cut":
        path.write_bytes(data[:-20])
    elif damage == "flipped":
        assert b'"records\\\\\\": 320' in data or b"320" in data
        path.write_bytes(data.replace(b"320", b"321", 1))
    elif damage == "header":
        path.write_bytes(data.replace(FORMAT.encode(), FORMAT.upper().encode(), 1))
    else:
        header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(UserError) as refused:
        describe(path)
    assert "it.safetensors" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("full", [1, 2])
def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: int
) -> None:
    path = make(origin=origin_of(samples.platform()))
    before, calls = path.read_bytes(), []

    def sync(_: int) -> None:
        calls.append(1)
        if len(calls) == full:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", sync)
    with pytest.raises(UserError, match=rf"{path} cannot be written \(No space left on device\); .*free space"):
        save_stamped(RandomModel(LAYOUT, width=8, seed=9).save, origin_of(samples.platform()), path)
    assert len(calls) == full
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_copy_keeps_the_digest_of_an_origin_with_fewer_fields(make: Make, tmp_path: Path) -> None:
    """As versions before wrote it: children name their parent by its digest, in whichever workspace a copy of it is."""
    path = make(origin=origin_of(samples.platform()))
    written = read_checkpoint(path)
    origin = dict(written.facts["origin"])
    origin["platform"] = {name: value for name, value in origin["platform"].items() if name != "device"}
    write_checkpoint(path, replace(written, facts={**written.facts, "origin": origin}))
    before = describe(path)
    assert before.origin is not None and before.digest != written.digest
    stamp(path, before.origin, tmp_path / "copy.safetensors")
    assert describe(tmp_path / "copy.safetensors").digest == before.digest


def test_the_address_of_a_device_is_no_part_of_an_origin(make: Make) -> None:
    path = make(origin=origin_of(replace(samples.platform(), device="10.0.0.7:9190")))
    assert describe(path).origin == origin_of(samples.platform())
    assert b"10.0.0.7" not in path.read_bytes()


def test_the_origin_is_under_the_checksum(make: Make) -> None:
    path = make(origin=origin_of(samples.platform()))
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    assert json.loads(metadata["facts"])["origin"]["records"] == 320
