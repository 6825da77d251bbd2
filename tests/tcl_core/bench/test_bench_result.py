"""What a bench says: medians, paired ratios, and one JSON object."""

from __future__ import annotations

import json

import pytest

from tcl_core.bench.result import BenchResult, Series, paired_ratio
from tcl_core.bench.subject import IMPORTED, write_convolution
from tcl_core.command_line.parser import BENCHES


def test_ratios_are_of_pairs() -> None:
    ratio, (low, high) = paired_ratio([10.0, 40.0, 9.0], [1.0, 2.0, 3.0])
    assert (ratio, low, high) == (10.0, 3.0, 20.0)


def test_unequal_series_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        paired_ratio([1.0], [1.0, 2.0])


def test_a_result_is_one_json_object() -> None:
    series = Series(name="ours", unit="trials/s", values=(3.0, 1.0, 2.0))
    result = BenchResult(
        name="b",
        subject="s",
        machine="m",
        goal="g",
        series=(series,),
        ratio=2.0,
        ratio_spread=(1.0, 3.0),
        per_second=2.0,
        passed=True,
    )
    told = json.loads(json.dumps(result.json()))
    assert told["ratio"] == 2.0
    assert told["series"][0] == {
        "name": "ours",
        "unit": "trials/s",
        "median": 2.0,
        "low": 1.0,
        "high": 3.0,
        "repeats": 3,
    }


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_is_there(name: str) -> None:
    from importlib import import_module

    assert callable(import_module(f"tcl_core.bench.{name}").run)


def test_the_heaviest_task_is_the_convolution(tmp_path_factory: pytest.TempPathFactory) -> None:
    from tcl_core.tuner import open_network

    path = write_convolution(tmp_path_factory.mktemp("bench"))
    opened = open_network(str(path), "cpu", None, IMPORTED)
    assert "conv2d" in max(opened.tasks, key=lambda task: task.flops).anchor
