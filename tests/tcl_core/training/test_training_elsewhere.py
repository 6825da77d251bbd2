"""Candidates of platforms learned before, from the files of networks that teach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tcl_core.batches import TokenBatch
from tcl_core.config import NetworkConfig
from tcl_core.domain import Network, Task
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken
from tcl_core.features import task_features
from tcl_core.learning.lineage import LearnedPlatform
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import LoadedNetwork, load_network
from tcl_core.training import elsewhere
from tcl_core.training.elsewhere import drawn_elsewhere
from tests.tcl_core.network.conftest import make_model, tensor, value

TARGET = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 2}'
EARLIER = LearnedPlatform(
    fingerprint="earlier", records=1, token=(1.0, 0.0, 0.5) * 4, name="an AVX2", target_json=TARGET, vector_bits=256
)


@pytest.fixture
def network(tmp_path: Path) -> Network:
    """Two products."""
    weights = [tensor("v", np.ones((32, 48), np.float32)), tensor("w", np.ones((48, 16), np.float32))]
    nodes = [onnx.helper.make_node("MatMul", ["x", "v"], ["h"]), onnx.helper.make_node("MatMul", ["h", "w"], ["y"])]
    onnx.save(make_model(nodes, [value("x", [8, 32])], [value("y", [8, 16])], weights), tmp_path / "two.onnx")
    return load_network(tmp_path / "two.onnx", NetworkConfig()).network


def tasks_of(network: Network) -> tuple[Task, ...]:
    loaded = load_network(Path(network.path), NetworkConfig())
    return import_network(loaded, TARGET, NetworkConfig(), 256).tasks


def drawn(
    networks: Sequence[Network],
    platforms: Sequence[LearnedPlatform] = (EARLIER,),
    held_out: Sequence[str] = (),
    cancel: CancelToken | None = None,
) -> tuple[list[TokenBatch], list[str]]:
    """What is drawn, and what was told meanwhile."""
    told: list[str] = []
    batches = drawn_elsewhere(
        networks, held_out, platforms, 4, np.random.default_rng(0), told.append, cancel or CancelToken()
    )
    return list(batches), told


def test_each_sketch_of_each_task_under_the_earlier_token(network: Network) -> None:
    batches, told = drawn([network])
    assert told == ["drawing candidates of two for an AVX2"]
    assert {tuple(batch.platform.tolist()) for batch in batches} == {EARLIER.token}
    tasks = {task_features(task).tobytes() for task in tasks_of(network)}
    assert len(tasks) == 2
    assert {batch.task.tobytes() for batch in batches} == tasks
    assert all(1 <= len(batch) <= 4 for batch in batches)


def test_chance_is_the_seeds(network: Network) -> None:
    one, other = (drawn([network])[0] for _ in range(2))
    assert all(np.array_equal(a.fields, b.fields) for a, b in zip(one, other, strict=True))


def test_held_out_tasks_and_platforms_of_unknown_target_are_left_out(network: Network) -> None:
    first, second = tasks_of(network)
    batches, _ = drawn([network], held_out=[first.key])
    assert {batch.task.tobytes() for batch in batches} == {task_features(second).tobytes()}
    assert drawn([network], [replace(EARLIER, target_json="")]) == ([], [])


def test_a_task_of_two_networks_is_drawn_once(network: Network, tmp_path: Path) -> None:
    twin = tmp_path / "twin.onnx"
    twin.write_bytes(Path(network.path).read_bytes())
    batches, told = drawn([network, replace(network, path=str(twin), name="twin")])
    assert len(batches) == len(drawn([network])[0])
    assert len(told) == 2


def test_a_file_that_is_gone_or_another_is_told(network: Network, tmp_path: Path) -> None:
    gone = replace(network, name="gone", path=str(tmp_path / "gone.onnx"))
    other = replace(network, name="other", digest="of another")
    batches, told = drawn([gone, other, network])
    assert batches
    assert told[0].startswith("gone is left out of the rehearsal: ")
    assert told[1] == f"other is left out of the rehearsal: {network.path} is another network now"


def test_a_network_that_cannot_be_imported_for_a_target_is_told(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(EARLIER, fingerprint="other", name="a stranger", target_json=TARGET.replace("v3", "v2"))

    def import_or_refuse(loaded: LoadedNetwork, target: str, *rest: Any) -> ImportedNetwork:
        if target == other.target_json:
            raise UserError("network", "Not for this one.")
        return import_network(loaded, target, *rest)

    monkeypatch.setattr(elsewhere, "import_network", import_or_refuse)
    batches, told = drawn([network], [other, EARLIER])
    assert told[1] == "two is left out of the rehearsal for a stranger: Not for this one."
    assert len(batches) == len(drawn([network])[0])


def test_a_stop_is_heard(network: Network) -> None:
    token = CancelToken()
    token.stop()
    with pytest.raises(Interrupted):
        drawn([network], cancel=token)
