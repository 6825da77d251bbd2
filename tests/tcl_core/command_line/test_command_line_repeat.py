"""An earlier run once more, wherever its workspace lies by now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.checkpoints import Start
from tcl_core.checkpoints.kept import kept_config, start_version
from tcl_core.command_line.output import Output
from tcl_core.command_line.parser import make_parser
from tcl_core.command_line.repeat import repeated_config
from tcl_core.config import RunConfig, SearchConfig
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.errors import UserError
from tcl_core.features import LAYOUT
from tcl_core.store import Workspace
from tests.tcl_core.store.store_samples import furnish


def test_a_run_is_repeated_as_it_was_configured(tmp_path: Path) -> None:
    config = RunConfig(network=None, workspace="/moved/since", seed=5, search=SearchConfig(elite=0.125))
    with Workspace.open(tmp_path / "w") as workspace:
        furnish(workspace)
        workspace.start_run(config, "d1", "cafe01")

    def repeated(*line: str) -> RunConfig:
        return repeated_config(make_parser().parse_args(["tune", *line]), Output(as_json=True))

    here = ("--workspace", str(tmp_path / "w"))
    assert repeated(*here, "--repeat", "1", "--json") == replace(config, workspace=str(tmp_path / "w"))
    with pytest.raises(UserError, match="no run 2; it holds runs 1 to 1"):
        repeated(*here, "--repeat", "2")
    with pytest.raises(UserError, match="leave out network, seed"):
        repeated("net.onnx", *here, "--seed", "3", "--repeat", "1")
    with pytest.raises(UserError, match="name its --workspace"):
        repeated("--repeat", "1")
    with Workspace.open(tmp_path / "w") as workspace:
        workspace.start_run(replace(config, network=str(tmp_path / "gone.onnx")), "d1", "cafe01")
    with pytest.raises(UserError, match="is gone; put it back, or tune it from where it lies now"):
        repeated(*here, "--repeat", "2")


def test_what_a_run_began_from_is_found_in_a_workspace_that_moved_and_named_where_it_was_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, moved = tmp_path / "w", tmp_path / "moved"
    with Workspace.open(folder) as workspace:
        furnish(workspace)
        mine = folder / "checkpoints" / "mine.safetensors"
        RandomModel(LAYOUT, width=8, seed=0).save(mine)
        start = Start(path=mine)
        config = kept_config(workspace, RunConfig(network=None, workspace=str(folder)), start)
        workspace.start_run(config, "d1", "cafe01", start_version(start))
    folder.rename(moved)
    mine = moved / "checkpoints" / "mine.safetensors"

    def repeated() -> tuple[str | None, str]:
        line = ["tune", "--workspace", str(moved), "--repeat", "1"]
        config = repeated_config(make_parser().parse_args(line), Output(as_json=True))
        return config.checkpoint, capsys.readouterr().err

    assert repeated() == (str(mine), "")
    RandomModel(LAYOUT, width=8, seed=1).save(mine)
    path, said = repeated()
    assert path == str(mine)
    assert "mine.safetensors, which run 1 began from, has been written over since" in said
