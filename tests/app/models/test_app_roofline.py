"""Where tasks stand under the roof, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import recorded_run

from app.models.plot_tables import of_roofline
from app.models.roofline import roofline
from tcl_core.domain import PlatformFeatures, TaskState

FEATURES = PlatformFeatures(
    cores=2, vector_bits=512, l1_bytes=0, l2_bytes=0, l3_bytes=0, peak_flops=100e9, bandwidth_bytes_s=20e9
)


def state(key: str, flops: float, bytes_moved: int, best_s: float | None, first_s: float | None = None) -> TaskState:
    task = replace(recorded_run.tasks()[0], key=key, flops=flops, bytes_moved=bytes_moved)
    return TaskState(task=task, best_s=best_s, first_s=first_s)


def test_speeds_shares_and_corners_are_those_of_the_formula() -> None:
    states = [
        state("thin", 1e6, 1_000_000, 1e-3, 2e-3),
        state("fat", 1e9, 10_000_000, 20e-3, 40e-3),
        state("unmeasured", 1e9, 1_000_000, None),
        state("moves", 0.0, 1_000_000, 1e-3, 1e-3),
    ]
    shown = roofline(states, FEATURES)
    assert shown.keys == ("thin", "fat")
    assert shown.intensity.tolist() == [1.0, 100.0]
    assert shown.best == pytest.approx([1.0, 50.0])
    assert shown.first == pytest.approx([0.5, 25.0])
    assert shown.share == pytest.approx([1 / 20, 0.5])
    np.testing.assert_allclose(shown.roof, [(0.25, 5.0), (5.0, 100.0), (200.0, 100.0)])
    assert shown.left_out == 1


def test_before_the_first_round_is_over_and_without_a_platform_nothing_is_guessed() -> None:
    shown = roofline([state("thin", 1e6, 1_000_000, 1e-3)], None)
    assert np.isnan(shown.first).all()
    assert np.isnan(shown.share).all()
    assert shown.roof == ()
    assert list(of_roofline(shown, str.upper).rows) == [("THIN", "thin", 1.0, None, pytest.approx(1.0), None)]


def test_what_earlier_runs_reached_is_not_taken_for_a_first_round() -> None:
    continued = replace(state("thin", 1e6, 1_000_000, 1e-3), history_s=(2e-3, 1e-3))
    assert np.isnan(roofline([continued], FEATURES).first).all()


def test_no_task_is_an_empty_roof() -> None:
    shown = roofline([], FEATURES)
    assert shown.keys == ()
    np.testing.assert_allclose(shown.roof, [(0.25, 5.0), (5.0, 100.0), (10.0, 100.0)])
