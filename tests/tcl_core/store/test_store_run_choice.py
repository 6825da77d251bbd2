"""Which network and run a person means, and the sentence where nobody can tell."""

from __future__ import annotations

import pytest
from store_samples import network, platform, task

from tcl_core.config import RunConfig
from tcl_core.errors import UserError
from tcl_core.store import Workspace
from tcl_core.store.run_choice import choose_network, choose_run, newest_run

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


def test_what_cannot_be_told_is_a_sentence(two: Workspace) -> None:
    with pytest.raises(UserError, match=r"several networks \(net, other\)"):
        choose_run(two, None, None)
    with pytest.raises(UserError, match="no network named third; it holds net, other"):
        choose_network(two, "third")
    with pytest.raises(UserError, match="no run 9; it holds runs 1 to 3"):
        choose_run(two, 9, None)


def test_a_network_that_was_never_tuned(workspace: Workspace) -> None:
    with pytest.raises(UserError, match="net was never tuned"):
        choose_run(workspace, None, None)
    with pytest.raises(UserError, match="it holds no run yet"):
        choose_run(workspace, 1, None)
