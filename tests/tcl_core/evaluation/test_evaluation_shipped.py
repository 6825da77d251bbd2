"""The dataset that ships fits the code beside it: what it was measured with can be replayed, and is enough."""

from __future__ import annotations

from collections import Counter

import pytest

from tcl_core.dataset import Dataset, bundled_dataset_path, bundled_dataset_paths, merge_datasets, read_dataset
from tcl_core.domain import Replay, Task
from tcl_core.evaluation.context import Context, EvaluationConfig
from tcl_core.space.design_space import DesignSpace


@pytest.fixture(scope="module")
def shipped() -> Dataset:
    return merge_datasets([read_dataset(path) for path in bundled_dataset_paths()])


@pytest.mark.slow
def test_what_it_was_measured_with_replays(shipped: Dataset) -> None:
    """A task of each anchor, number of sketches and platform."""
    by_anchor: dict[tuple[str, int, str], Task] = {}
    for (key, platform), sketches in shipped.sketches.items():
        by_anchor.setdefault((shipped.tasks[key].anchor, len(sketches), platform), shipped.tasks[key])
    assert len(by_anchor) > len(shipped.platforms)
    for (_, _, platform), task in by_anchor.items():
        space = DesignSpace(task, shipped.platforms[platform].target_json)
        assert shipped.sketches[task.key, platform] == space.sketches, task.name
        candidate = shipped.records[task.key, platform][0].candidate
        replay = space.replay(candidate)
        assert isinstance(replay, Replay), task.name
        assert replay.candidate == candidate


def test_it_has_enough_tasks_and_candidates(shipped: Dataset) -> None:
    """The platform of most records has 160 candidates of 100 tasks and more, two others 80 of as many."""
    main = Context(shipped, EvaluationConfig(), bundled_dataset_path()).platform
    rich = Counter(
        platform
        for (_, platform), records in shipped.records.items()
        if len(records) >= (160 if platform == main else 80)
    )
    assert sum(count >= 100 for count in rich.values()) >= 3, rich
    assert rich[main] >= 100
    assert len(shipped.networks) >= 8
