"""Decisions of the bootstrap that need no environment: arguments, stamps, refusals."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
from pathlib import Path

import bootstrap
import pytest

LISTS = {"runtime": ["pytest>=1"], "dev": ["hypothesis>=1"]}


def write_project(root: Path, runtime: str, dev: str = '"pytest"') -> None:
    (root / "pyproject.toml").write_text(
        f"[project]\ndependencies = [{runtime}]\n[project.optional-dependencies]\ndev = [{dev}]\n"
    )


@pytest.mark.parametrize(
    ("arguments", "folder", "rest"),
    [
        ([], None, []),
        (["tune", "--venv", "x"], None, ["tune", "--venv", "x"]),
        (["--venv", "/x", "tune"], Path("/x"), ["tune"]),
        (["--venv=/x", "tune"], Path("/x"), ["tune"]),
    ],
)
def test_the_folder_option_comes_first(arguments, folder, rest):
    assert bootstrap.split_folder(arguments) == (folder, rest)


@pytest.mark.parametrize("arguments", [["--venv"], ["--venv="]])
def test_the_folder_option_needs_a_folder(arguments):
    with pytest.raises(bootstrap.SetupError, match="needs a folder"):
        bootstrap.split_folder(arguments)


def test_an_environment_that_has_the_packages_is_used_as_it_is(tmp_path):
    write_project(tmp_path, '"pytest>=1", "nothing-like-it; python_version < \'3\'"')

    bootstrap.prepare(str(tmp_path), ["tune", "-v"])

    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("runtime", ['"no-such-package-anywhere"', '"pytest<1"'])
def test_a_missing_or_wrong_version_leads_to_a_setup(tmp_path, monkeypatch, runtime):
    write_project(tmp_path, runtime)
    set_up = []
    monkeypatch.setattr(bootstrap, "_set_up", lambda venv, wanted: set_up.append((venv, wanted)))
    monkeypatch.setattr(bootstrap, "_start_again", lambda venv, command: set_up.append((venv, command)))

    bootstrap.prepare(str(tmp_path), ["tune"])

    venv = tmp_path / ".venv"
    assert set_up == [(venv, {"runtime": [runtime.strip('"')]}), (venv, [str(tmp_path / "main.py"), "tune"])]


def test_the_tests_need_the_dev_extra_too(tmp_path, monkeypatch):
    write_project(tmp_path, '"pytest"', '"no-such-package-anywhere"')
    wanted = []
    monkeypatch.setattr(bootstrap, "_set_up", lambda venv, lists: wanted.append(lists))
    monkeypatch.setattr(bootstrap, "_start_again", lambda venv, command: None)

    bootstrap.prepare(str(tmp_path), ["test", "-q"])

    assert wanted == [{"runtime": ["pytest"], "dev": ["no-such-package-anywhere"]}]


@pytest.fixture
def venv(tmp_path) -> Path:
    python = bootstrap._python(tmp_path)
    python.parent.mkdir(parents=True)
    python.touch()
    (tmp_path / bootstrap.UNFINISHED).touch()
    return tmp_path


def test_the_stamp_holds_for_its_lists_only(venv):
    assert not bootstrap._is_done(venv, LISTS)
    bootstrap._write_stamp(venv, {"runtime": LISTS["runtime"]})

    assert bootstrap._is_done(venv, {"runtime": LISTS["runtime"]})
    assert not bootstrap._is_done(venv, LISTS), "dev was not installed"
    assert not bootstrap._is_done(venv, {"runtime": ["pytest>=2"]}), "the list changed"
    assert not (venv / bootstrap.UNFINISHED).exists()


def test_the_stamp_holds_for_its_python_only(venv, monkeypatch):
    bootstrap._write_stamp(venv, LISTS)
    monkeypatch.setattr(sys, "version_info", (3, 99))

    assert not bootstrap._is_done(venv, LISTS)


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_broken_stamp_is_no_stamp(venv, text):
    (venv / bootstrap.DONE).write_text(text)

    assert not bootstrap._is_done(venv, LISTS)


def test_a_python_without_venv_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ensurepip" else object())

    with pytest.raises(bootstrap.SetupError, match=r"ensurepip is missing: .*python3-venv.*python3\.\d+-venv"):
        bootstrap._make_environment(tmp_path / "venv")


def test_a_full_disk_is_refused_before_the_download(tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap, "NEEDED_GB", 1e9)

    with pytest.raises(bootstrap.SetupError, match=r"need 1000000000 GB .* --venv DIR"):
        bootstrap._check_room(tmp_path)


def test_an_unwritable_folder_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()

    with (
        pytest.raises(bootstrap.SetupError, match=r"cannot be written \(Not a directory\).*--venv DIR"),
        bootstrap._locked(tmp_path / "file" / "venv"),
    ):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="it locks otherwise")
def test_a_disk_without_locks_is_one_sentence(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(bootstrap.fcntl, "flock", refuse)

    with (
        pytest.raises(bootstrap.SetupError, match=r"cannot lock files \(No locks available\).*--venv DIR"),
        bootstrap._locked(tmp_path),
    ):
        pass
