"""Which network and run a person means, and the sentence where nobody can tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_samples import network, platform, task

from tcl_core.config import RunConfig
from tcl_core.errors import UserError
from tcl_core.store import Workspace
from tcl_core.store.run_choice import choose_network, choose_run, newest_run, require_file

CONFIG = RunConfig(network=None, workspace="w")


@pytest.fixture
def two(workspace: Workspace) -> Workspace:
    """Two networks; the first has runs 1 and 3, the second run 2."""
    workspace.add_network(network("d2", name="other"), (task("a1"),))
    for digest in ("d1", "d2", "d1"):
        workspace.start_run(CONFIG, digest, platform().fingerprint)
    return workspace


def test_the_newest_run_of_the_network_is_meant(two: Workspace) -> None:
    assert newest_run(two, choose_network(two, "net")).id == 3
    assert choose_run(two, None, "other").id == 2
    assert choose_run(two, 1, None).id == 1


def test_of_several_networks_of_one_name_the_one_tuned_last_is_meant(workspace: Workspace) -> None:
    workspace.add_network(network("d2"), (task("a1"),))
    assert choose_network(workspace, "net").digest == "d2", "none was tuned yet"
    for digest in ("d2", "d1"):
        workspace.start_run(CONFIG, digest, platform().fingerprint)
    assert choose_network(workspace, None).digest == choose_network(workspace, "net").digest == "d1"


def test_a_network_is_tuned_again_from_its_file(tmp_path: Path) -> None:
    require_file("sample", None)
    require_file("net", str(tmp_path))
    with pytest.raises(UserError, match=f"The file of net, '{tmp_path}/gone.onnx', is gone; put it back"):
        require_file("net", f"{tmp_path}/gone.onnx")


def test_a_clock_that_was_set_back_makes_no_run_older(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for now in (2e9, 1e9):
        monkeypatch.setattr("tcl_core.store.run_table.time.time", lambda now=now: now)
        last = workspace.start_run(CONFIG, "d1", platform().fingerprint)
    assert newest_run(workspace, choose_network(workspace, None)).id == last


def test_what_cannot_be_told_is_a_sentence(two: Workspace) -> None:
    with pytest.raises(UserError, match=r"several networks \(net, other\)"):
        choose_run(two, None, None)
    with pytest.raises(UserError, match="no network named third; it holds net, other"):
        choose_network(two, "third")
    with pytest.raises(UserError, match="no run 9; it holds runs 1 to 3"):
        choose_run(two, 9, None)
    with pytest.raises(UserError, match="Run 2 is of other, not of net; name one of the two alone"):
        choose_run(two, 2, "net")
    assert [choose_run(two, 2, name).id for name in ("other", "d2")] == [2, 2]


def test_a_network_that_was_never_tuned(workspace: Workspace) -> None:
    with pytest.raises(UserError, match="net was never tuned"):
        choose_run(workspace, None, None)
    with pytest.raises(UserError, match="it holds no run yet"):
        choose_run(workspace, 1, None)


def test_of_two_networks_of_a_name_the_one_tuned_last_is_meant_unless_a_digest_tells(workspace: Workspace) -> None:
    workspace.add_network(network("d2"), (task("a1"),))
    for digest in ("d1", "d2", "d1"):
        workspace.start_run(CONFIG, digest, platform().fingerprint)
    assert choose_network(workspace, "net").digest == "d1" == choose_network(workspace, None).digest
    assert choose_network(workspace, "d2").digest == "d2" and choose_run(workspace, None, "d2").id == 2


def test_a_network_is_found_by_every_name_it_was_tuned_under(workspace: Workspace) -> None:
    for name in ("first", "second"):
        workspace.add_network(network("d1", name=name), (task("a1"),))
        config = RunConfig(network=f"/n/{name}.onnx", workspace="w")
        workspace.start_run(config, "d1", platform().fingerprint)
    assert {choose_network(workspace, name).digest for name in ("first", "second", None)} == {"d1"}
    assert [choose_run(workspace, None, "first").id, choose_run(workspace, 1, "first").id] == [2, 1]
    with pytest.raises(UserError, match="no network named third; it holds second"):
        choose_network(workspace, "third")
    with pytest.raises(UserError, match="Run 2 is of second, not of first"):
        choose_run(workspace, 2, "first")
    workspace.add_network(network("d2", name="first"), (task("a1"),))
    assert choose_network(workspace, "first").digest == "d2", "a network that has the name comes first"


def test_the_newest_run_on_a_platform(two: Workspace) -> None:
    here = platform().fingerprint
    net = choose_network(two, "net")
    assert newest_run(two, net, here).id == 3
    with pytest.raises(UserError, match="tuned in this workspace for other targets or thread counts only; run tune"):
        newest_run(two, net, "elsewhere")
