"""How many workers compile side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tcl_core.config import MeasureConfig
from tcl_core.domain import Platform
from tcl_core.hardware.detect import detect
from tcl_core.measure import Measurer
from tcl_core.tuner import measuring


@pytest.mark.parametrize(("asked", "cores", "workers"), [(0, 1, 1), (0, 6, 6), (0, 128, 16), (3, 6, 3)])
def test_there_is_a_worker_for_each_core_unless_told_otherwise(
    cpu_platform: Platform, monkeypatch: pytest.MonkeyPatch, asked: int, cores: int, workers: int
) -> None:
    made: list[MeasureConfig] = []
    monkeypatch.setattr(measuring, "detect", lambda: replace(detect(), cores=cores))
    monkeypatch.setattr(measuring, "Measurer", lambda platform, config: made.append(config))
    measuring.measurer_for(cpu_platform, MeasureConfig(compile_workers=asked))
    assert [config.compile_workers for config in made] == [workers]


def test_a_measurer_is_told_how_many(cpu_platform: Platform) -> None:
    with pytest.raises(ValueError, match="worker"):
        Measurer(cpu_platform, MeasureConfig())
