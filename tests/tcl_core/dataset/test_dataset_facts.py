"""Splits by name, noise of repeats, and the card that tells of them."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dataset_samples import dataset, failed, measured, network, platform
from hypothesis import given
from hypothesis import strategies as st

import tcl_core
from tcl_core.config import CAREFUL, MeasureConfig
from tcl_core.dataset import (
    Split,
    assign_splits,
    bundled_dataset_path,
    bundled_dataset_paths,
    data_card,
    measure_noise,
    read_dataset,
)
from tcl_core.errors import UserError

NAMES = st.sets(st.text("abcdef", min_size=1, max_size=4), max_size=20)


@given(names=NAMES, data=st.data())
def test_every_network_gets_a_split_and_each_split_one(names: set[str], data: st.DataObject) -> None:
    some = data.draw(st.sets(st.sampled_from(sorted(names)), max_size=len(names))) if names else set()
    assigned = {name: data.draw(st.sampled_from(Split)) for name in some}
    splits = assign_splits(names, assigned)
    assert splits.keys() == names
    assert {name: splits[name] for name in assigned} == assigned
    assert splits == assign_splits(sorted(names, reverse=True), assigned)
    if len(names) >= 3 and not assigned:
        share = max(1, len(names) // 5)
        counts = {split: [*splits.values()].count(split) for split in Split}
        assert counts == {Split.TEST: share, Split.VALIDATION: share, Split.TRAIN: len(names) - 2 * share}


def test_few_networks() -> None:
    assert assign_splits(["a"], {}) == {"a": Split.TRAIN}
    assert sorted(assign_splits(["a", "b"], {}).values()) == [Split.TEST, Split.TRAIN]
    assert assign_splits([], {}) == {}


def test_the_rule_is_the_same_everywhere() -> None:
    names = ("resnet18", "resnet50", "bert", "squeezenet", "mobilenet")
    assert assign_splits(names, {}) == assign_splits(names[::-1], {})
    assert assign_splits(names, {"bert": Split.TEST})["bert"] is Split.TEST
    held_out = {name: split for name, split in assign_splits("abcdefghij", {}).items() if split is not Split.TRAIN}
    assert held_out == {"j": Split.TEST, "d": Split.TEST, "f": Split.VALIDATION, "c": Split.VALIDATION}


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(UserError, match="No network is called 'x'; the networks are a, b"):
        assign_splits(["b", "a"], {"x": Split.TEST})


def test_noise_is_the_spread_of_medians() -> None:
    records = [
        measured(1, latencies_s=(1.0, 9.0, 2.0), repeated_s=(4.0,)),
        measured(2, latencies_s=(2.0,), repeated_s=(1.0, 1.0)),
        measured(4, latencies_s=(1.0,), repeated_s=(1.0,)),
        measured(8),
        failed(16),
    ]
    noise = measure_noise(records)
    assert noise is not None
    assert noise.repeats == 3
    assert noise.log2_median == 1.0
    assert noise.log2_p90 == 1.0
    assert noise.relative_median == 0.5
    assert math.isclose(noise.relative_p90, 0.9)
    assert measure_noise(records[3:]) is None


def test_the_card_tells_what_is_there() -> None:
    held_out = network("held|out", Split.TEST)
    card = data_card(
        dataset(networks=(network(), held_out), platforms={"cafe01": platform(name="A CPU")}),
        {"records.parquet": 1234567},
        MeasureConfig(cutoff=1.75),
        ["And so on."],
    )
    lines = card.splitlines()
    assert "**3 records** of **1 task** from **2 networks** on **1 platform**" in card
    assert "| compile | timeout | 1 |" in lines
    assert "| net | train | 1 | 0 | net.onnx |" in lines
    assert r"| held\|out | test | 1 | 0 | held\|out.onnx |" in lines
    assert "0 of the 1 tasks of the training networks are trained on" in card
    assert "| all | 1 | 1.000 | 1.000 | 100.0 % | 100.0 % |" in lines
    assert "| A CPU | 3 | 1 (33.3 %) | 0 (0.0 %) |" in lines
    assert "1.75 times the best" in card
    assert "visited" not in card
    assert "And so on." in lines
    assert "Together 1.23 MB." in lines
    assert dataset(networks=(network(), held_out), platforms={"cafe01": platform(name="A CPU")}).digest in card
    assert any(line.startswith("| A CPU | `cafe01` |") for line in lines)


def test_the_card_of_a_dataset_without_repeats_or_failures() -> None:
    card = data_card(dataset(records={("a1", "cafe01"): (measured(),)}))
    assert "No record was measured a second time." in card
    assert f"visited {CAREFUL.visits} times so" in card
    assert "are timed once, each over at least 5 ms" in card
    assert "failed at" not in card
    assert not re.search(r"\d%", card), "a space before the sign, as everywhere"


@pytest.mark.parametrize("path", bundled_dataset_paths(), ids=lambda path: path.name)
def test_a_card_that_ships_writes_shares_as_the_generator_does(path: Path) -> None:
    lines = (path / "README.md").read_text(encoding="utf-8").splitlines()
    computed = data_card(read_dataset(path)).splitlines()
    shares = [line for line in computed if re.search(r"\d *%", line)]
    assert len(shares) > 5
    assert set(shares) <= set(lines)


def test_the_room_loads_pyarrow_only_when_it_is_needed() -> None:
    code = "import sys, tcl_core.dataset; sys.stdout.write(str('pyarrow' in sys.modules))"
    root = Path(tcl_core.__file__).parents[1]
    answer = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert answer.stdout == "False"
    assert bundled_dataset_path() == root / "resources" / "dataset"
    assert bundled_dataset_paths() == (bundled_dataset_path(), bundled_dataset_path() / "znver4")
