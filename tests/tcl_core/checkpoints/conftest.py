"""Small checkpoints of the random model, which needs no training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.batches import FeatureLayout
from tcl_core.checkpoints import Origin, save_stamped
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.domain import CheckpointKind, Platform
from tcl_core.features.vocabulary import LAYOUT
from tcl_core.store import Workspace
from tests.tcl_core.store import store_samples as samples

Make = Callable[..., Path]
OLD_LAYOUT = replace(LAYOUT, version=LAYOUT.version + 1)


def origin_of(platform: Platform, **changes: object) -> Origin:
    values: dict[str, object] = {
        "kind": CheckpointKind.TRAINED,
        "platform": platform,
        "lineage": (platform.name,),
        "data_hash": "d" * 64,
        "records": 320,
        "metrics": (("top1", 0.75),),
        "seed": 3,
    }
    return Origin(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(tmp_path / "w") as opened:
        samples.furnish(opened)
        yield opened


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A checkpoint file; without `origin` as a run's model saves itself."""

    def checkpoint(
        name: str = "it", *, origin: Origin | None = None, seed: int = 0, layout: FeatureLayout = LAYOUT
    ) -> Path:
        path = tmp_path / f"{name}.safetensors"
        model = RandomModel(layout, width=8, seed=seed)
        if origin is None:
            model.save(path)
        else:
            save_stamped(model.save, origin, path)
        return path

    return checkpoint
