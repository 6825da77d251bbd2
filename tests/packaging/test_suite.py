"""The one command of the suite: order, environment and exit status."""

from __future__ import annotations

import pytest
import suite


@pytest.fixture
def calls(monkeypatch):
    """Commands that were run; those whose name is in `failing` fail."""
    made: list[tuple[str, ...]] = []
    failing: dict[str, int] = {}

    def call(command, *, cwd, env):
        made.append(tuple(command[2:]))
        assert (cwd, env["QT_QPA_PLATFORM"]) == ("root", "offscreen")
        return failing.get(command[2], 0)

    monkeypatch.setattr("subprocess.call", call)
    return made, failing


def test_everything_runs_and_pytest_is_last(calls):
    made, _ = calls

    assert suite.run("root", []) == 0
    assert [command[0] for command in made] == ["ruff", "ruff", "mypy", "pytest"]
    assert made[-1][1:] == suite.SIDE_BY_SIDE


def test_arguments_go_to_pytest_alone(calls):
    made, _ = calls

    assert suite.run("root", ["-k", "x"]) == 0
    assert made == [("pytest", "-k", "x")]


@pytest.mark.parametrize(("name", "status", "expected"), [("ruff", 1, 1), ("mypy", 2, 1), ("pytest", 5, 5)])
def test_one_failure_fails_all_and_stops_nothing(calls, name, status, expected):
    made, failing = calls
    failing[name] = status

    assert suite.run("root", []) == expected
    assert len(made) == 4
