"""Weights in files of their own: beside the model, or as links where the cache of Hugging Face keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.load import LoadedNetwork, load_network
from tests.tcl_core.network.test_network_load import refusal


def weight_of(loaded: LoadedNetwork) -> Any:
    return onnx.numpy_helper.to_array(loaded.model.graph.initializer[0])


def in_cache(path: Path, root: Path) -> Path:
    """The model as the cache of Hugging Face keeps it: links to blobs that are named after their digest."""
    blobs, snapshot = root / "blobs", root / "snapshots" / "abc" / "onnx"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for name, blob in ((path.name, "aaaa1111"), ("weights.bin", "0bbb2222")):
        (path.parent / name).rename(blobs / blob)
        (snapshot / name).symlink_to(f"../../../blobs/{blob}")
    return snapshot / path.name


@pytest.fixture
def path(tools: Any) -> Path:
    saved: Path = tools.save(tools.dense(), save_as_external_data=True, location="weights.bin", size_threshold=0)
    return saved


def test_external_data_is_loaded_and_counts_for_the_digest(path: Path) -> None:
    first = load_network(path, NetworkConfig())
    np.testing.assert_array_equal(weight_of(first), np.arange(12, dtype=np.float32).reshape(4, 3))
    data = bytearray((path.parent / "weights.bin").read_bytes())
    data[-1] ^= 1
    (path.parent / "weights.bin").write_bytes(data)
    assert load_network(path, NetworkConfig()).network.digest != first.network.digest


def test_missing_external_data_is_named(path: Path) -> None:
    (path.parent / "weights.bin").unlink()
    assert "'weights.bin', which is missing" in refusal(path)


def test_external_data_outside_the_folder_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"weights.bin", b"../ghts.bin"))
    assert "outside the model's folder" in refusal(path)


def test_short_external_data_is_refused(path: Path) -> None:
    (path.parent / "weights.bin").write_bytes(b"1234")
    assert "external data" in refusal(path)


@pytest.mark.parametrize("key", [b"offset", b"length"])
def test_numbers_that_lead_out_of_the_file_are_refused(path: Path, key: bytes) -> None:
    model = onnx.load(str(path), load_external_data=False)
    entries = model.graph.initializer[0].external_data
    kept = [(entry.key, entry.value) for entry in entries if entry.key != key.decode()]
    for value in ("99999999999", "-1", "many"):
        del entries[:]
        for name, text in [*kept, (key.decode(), value)]:
            entries.add(key=name, value=text)
        path.write_bytes(model.SerializeToString())
        assert "external data" in refusal(path)


def test_weights_without_a_length_go_to_the_end_of_their_file(path: Path) -> None:
    model = onnx.load(str(path), load_external_data=False)
    tensor = model.graph.initializer[0]
    del tensor.external_data[:]
    tensor.external_data.add(key="location", value="weights.bin")
    path.write_bytes(model.SerializeToString())
    np.testing.assert_array_equal(weight_of(load_network(path, NetworkConfig())), np.arange(12).reshape(4, 3))


def test_links_as_in_the_cache_of_hugging_face(path: Path, tmp_path: Path) -> None:
    plain = load_network(path, NetworkConfig()).network
    linked = load_network(in_cache(path, tmp_path / "cache"), NetworkConfig())
    np.testing.assert_array_equal(weight_of(linked), np.arange(12, dtype=np.float32).reshape(4, 3))
    assert linked.network.name == plain.name == "net"
    assert linked.network.digest == plain.digest


def test_a_link_to_a_model_finds_the_weights_beside_that(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "mine.onnx"
    link.parent.mkdir()
    link.symlink_to(path)
    assert load_network(link, NetworkConfig()).network.name == "mine"


def test_links_to_weights_elsewhere_and_in_circles_are_refused(
    path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    weights = path.parent / "weights.bin"
    elsewhere = weights.rename(tmp_path_factory.mktemp("elsewhere") / "weights.bin")
    weights.symlink_to(elsewhere)
    assert "outside the model's folder" in refusal(path)
    weights.unlink()
    weights.symlink_to("weights.bin")
    assert "'weights.bin', which is missing" in refusal(path)


def test_weights_with_a_second_name_are_read(path: Path) -> None:
    """As tools that save space by hard links leave them."""
    (path.parent / "second.bin").hardlink_to(path.parent / "weights.bin")
    assert weight_of(load_network(path, NetworkConfig())).shape == (4, 3)


def test_a_model_is_as_large_as_its_weights_only_where_they_are_inside(
    tools: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message of protobuf holds 2 GB, and of those no weight is part."""
    large = tools.tensor("w", np.ones((4, 1 << 13), np.float32))
    ends = [tools.value("x", [1, 4])], [tools.value("y", [1, 1 << 13])]
    node = tools.node("MatMul", ["x", "w"], ["y"], name="product")
    monkeypatch.setattr("tcl_core.network.load.LIMIT_BYTES", 1000)
    load_network(tools.save(tools.model([node], *ends, [large])), NetworkConfig())
    inside = tools.node("Constant", [], ["w"], name="weights", value=large)
    held = tools.save(tools.model([inside, node], *ends))
    assert "more than 2 GB beside its initializers" in refusal(held)
