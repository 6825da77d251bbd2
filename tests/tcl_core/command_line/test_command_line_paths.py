"""Paths as a command line keeps them, and those that lead nowhere or cannot be kept: one sentence each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tcl_core.command_line import main
from tcl_core.command_line.main import BAD_INPUT
from tcl_core.command_line.parser import make_parser
from tcl_core.command_line.paths import absolute, absolute_network
from tcl_core.command_line.tune import make_config
from tcl_core.errors import UserError
from tests.tcl_core.command_line.test_command_line_main import sentence

Capsys = pytest.CaptureFixture[str]


def test_links_are_followed_and_nothing_need_be_there(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("folder")
    assert absolute(tmp_path / "link" / "net.onnx") == str(tmp_path.resolve() / "folder" / "net.onnx")


def test_the_links_of_a_network_are_kept_and_those_of_its_folder_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "folder" / "net.onnx").symlink_to("../blobs/aaaa1111")
    assert absolute_network(tmp_path / "link" / "net.onnx") == str(tmp_path.resolve() / "folder" / "net.onnx")


def test_a_run_takes_the_link_to_its_network_as_it_was_named(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").symlink_to("aaaa1111")
    config = make_config(make_parser().parse_args(["tune", str(tmp_path / "net.onnx")]))
    assert config.network == str(tmp_path.resolve() / "net.onnx")


@pytest.mark.parametrize(
    "line",
    [
        "tune LOOP --workspace w",
        "tune LOOP/net.onnx --workspace w",
        "tune --workspace LOOP",
        "tune --workspace LOOP --repeat 1",
        "collect LOOP --workspace w --per-task 1",
        "collect net.onnx --workspace LOOP --per-task 1",
        "evaluate --only tuning --network LOOP",
        "export --workspace w --out LOOP",
        "report --workspace w --out LOOP",
        "screenshots --out LOOP",
    ],
)
def test_a_circle_of_links(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    said = sentence(capsys, *line.replace("LOOP", "other").split())
    assert said.startswith("The links of other") and "lead in a circle" in said


@pytest.mark.parametrize(
    "line",
    ["tune NAME", "tasks NAME", "collect NAME --workspace w --per-task 1", "records --workspace NAME"],
)
def test_a_name_that_is_not_utf_8(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"caf\xff.onnx")
    assert main(line.replace("NAME", name).split()) == BAD_INPUT
    assert r"caf\xff.onnx is a name that is not UTF-8" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_on_the_way_that_is_not_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xff")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    monkeypatch.chdir(folder)
    with pytest.raises(UserError, match=r"caf\\xff/net\.onnx has a name that is not UTF-8; rename it"):
        absolute("net.onnx")
