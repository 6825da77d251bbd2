"""Which checkpoint a run starts from: what was asked for, the workspace's own, what ships, or none."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from tcl_core.checkpoints import Start, choose_start, load_start, save_stamped, start
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.domain import Platform
from tcl_core.errors import UserError
from tcl_core.features.vocabulary import LAYOUT
from tcl_core.store import Workspace
from tests.tcl_core.checkpoints.conftest import OLD_LAYOUT, Make, origin_of
from tests.tcl_core.store import store_samples as samples


@pytest.fixture
def ships(shipped_folder: Path) -> Path:
    """Where the checkpoint for CPUs would ship; nothing is there yet."""
    return shipped_folder / "cpu.safetensors"


def own(workspace: Workspace) -> Path:
    return workspace.checkpoint_path("cafe01", "random")


def chosen(workspace: Workspace, asked: str | None = None, model: str = "random") -> Start:
    return choose_start(workspace, samples.platform(), model, asked)


def test_nothing_anywhere_is_a_cold_start(workspace: Workspace, ships: Path) -> None:
    assert chosen(workspace).path is None
    assert chosen(workspace).text == "none"


def test_the_workspaces_own_comes_before_what_ships(workspace: Workspace, ships: Path, make: Make) -> None:
    make().rename(ships)
    assert chosen(workspace) == Start(path=ships, reason="shipped")
    RandomModel(LAYOUT, width=8, seed=1).save(own(workspace))
    assert chosen(workspace) == Start(path=own(workspace), reason="workspace")
    assert chosen(workspace).own
    assert chosen(workspace, "none").path is None


def test_what_is_asked_for_comes_first(workspace: Workspace, ships: Path, make: Make) -> None:
    RandomModel(LAYOUT, width=8, seed=1).save(own(workspace))
    path = make("asked", origin=origin_of(samples.platform()))
    found = chosen(workspace, str(path))
    assert (found.path, found.reason, found.text) == (path, "asked", str(path))
    assert not found.own
    assert chosen(workspace, str(own(workspace))).own, "as a repeated run names it"


def test_a_default_comes_first_until_runs_have_gone_on_from_it(workspace: Workspace, ships: Path, make: Make) -> None:
    make().rename(ships)
    default = make("mine", origin=origin_of(samples.platform()), seed=4)
    workspace.set_default("cafe01", default)
    assert chosen(workspace) == Start(path=default, reason="default")
    RandomModel(LAYOUT, width=8, seed=1).save(own(workspace))
    assert chosen(workspace).path == default, "the workspace's own model began with something else"
    origin = origin_of(samples.platform(), parent=start.describe(default).digest)
    save_stamped(RandomModel(LAYOUT, width=8, seed=1).save, origin, own(workspace))
    assert chosen(workspace).own, "it began with the default, and goes on"
    workspace.set_default("cafe01", None)
    own(workspace).unlink()
    assert chosen(workspace) == Start(path=ships, reason="shipped")


def test_the_workspaces_own_model_goes_on_also_where_it_is_the_default(workspace: Workspace, make: Make) -> None:
    save_stamped(RandomModel(LAYOUT, width=8, seed=1).save, origin_of(samples.platform()), own(workspace))
    workspace.set_default("cafe01", own(workspace))
    assert chosen(workspace).own


def test_the_workspaces_own_model_is_refused_where_it_is_damaged(workspace: Workspace) -> None:
    RandomModel(OLD_LAYOUT, width=8, seed=1).save(own(workspace))
    with pytest.raises(UserError, match="vocabulary"):
        chosen(workspace)
    own(workspace).write_bytes(own(workspace).read_bytes()[:-8])
    with pytest.raises(UserError, match=own(workspace).name):
        chosen(workspace)


def test_a_default_for_another_cost_model_or_platform_is_passed_over(
    workspace: Workspace, ships: Path, make: Make
) -> None:
    workspace.set_default("cafe01", make("mine", origin=origin_of(samples.platform())))
    assert chosen(workspace, model="mamba").path is None
    assert choose_start(workspace, samples.platform("feed"), "random", None).path is None
    assert chosen(workspace, "none").path is None


def test_a_default_that_is_gone_is_refused(workspace: Workspace, ships: Path, make: Make) -> None:
    path = make("mine", origin=origin_of(samples.platform()))
    workspace.set_default("cafe01", path)
    path.unlink()
    with pytest.raises(UserError, match=r"runs on A CPU, 2 threads .*mine\.safetensors does not exist"):
        chosen(workspace)
    assert chosen(workspace, "none").path is None


def test_what_ships_for_another_model_or_vocabulary_is_passed_over(
    workspace: Workspace, ships: Path, make: Make
) -> None:
    make().rename(ships)
    assert chosen(workspace, model="mamba").path is None
    ships.unlink()
    make(layout=OLD_LAYOUT).rename(ships)
    assert chosen(workspace).path is None


def test_what_ships_damaged_is_refused(workspace: Workspace, ships: Path) -> None:
    ships.write_text("torn", encoding="utf-8")
    with pytest.raises(UserError, match=r"cpu\.safetensors"):
        chosen(workspace)


@pytest.mark.parametrize(
    ("kind", "said"), [("gone", "does not exist"), ("model", "--cost-model random"), ("vocabulary", "vocabulary")]
)
def test_what_cannot_be_used_is_refused(workspace: Workspace, make: Make, kind: str, said: str) -> None:
    path = make(layout=OLD_LAYOUT if kind == "vocabulary" else LAYOUT)
    if kind == "gone":
        path.unlink()
    with pytest.raises(UserError, match=said):
        chosen(workspace, str(path), "mamba" if kind == "model" else "random")


def test_a_model_takes_the_knowledge(make: Make) -> None:
    model = RandomModel(LAYOUT, width=8, seed=0)
    load_start(model, Start(path=None), samples.platform())
    assert not model.trained
    load_start(model, Start(path=make()), samples.platform())
    assert model.trained


def test_every_kind_of_platform_has_a_name_that_ships(shipped_folder: Path) -> None:
    assert start.shipped_path(samples.platform()) == shipped_folder / "cpu.safetensors"
    gpu = replace(samples.platform(), kind="cuda", target_json='{"kind":"cuda","arch":"sm_90"}')
    assert start.shipped_path(gpu) == shipped_folder / "cuda.safetensors"
    assert start.shipped_paths() == ()


def test_what_ships_for_a_processor_comes_before_what_ships_for_all(
    workspace: Workspace, ships: Path, make: Make
) -> None:
    def on(target: str) -> Platform:
        return replace(samples.platform(), target_json=target)

    own = make("own").rename(ships.with_name("cpu-znver4.safetensors"))
    here, without_name = on('{"kind":"llvm","mcpu":"znver4","num-cores":2}'), on('{"kind":"llvm","mtriple":"x"}')
    assert start.shipped_path(here) == own
    assert [start.shipped_path(one) for one in (samples.platform(), without_name)] == [ships, ships]
    assert choose_start(workspace, here, "random", None) == Start(path=own, reason="shipped")
    make().rename(ships)
    assert start.shipped_paths() == (ships, own)
    assert chosen(workspace).path == ships


def test_what_ships_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    ships = Path(str(resources.files("resources"))) / "checkpoints"
    monkeypatch.setattr(start, "shipped_folder", lambda: ships)
    assert [path.name for path in start.shipped_paths()] == ["cpu.safetensors", "cpu-znver4.safetensors"]
    for path in start.shipped_paths():
        assert start.describe(path).fits, f"{path} was made for another feature vocabulary; train it again"
        assert start.check_asked(path, "mamba").learned
