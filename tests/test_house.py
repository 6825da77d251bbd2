"""The house rules as tests: who may import whom, how long things are, what is never written.

Violations are reported by path, all of them at once.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from importlinter import cli

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path.relative_to(ROOT)
    for path in (
        ROOT / "main.py",
        *(file for room in ("app", "tcl_core", "packaging") for file in ROOT.glob(f"{room}/**/*.py")),
    )
)
TESTS = sorted(path.relative_to(ROOT) for path in ROOT.glob("tests/**/*.py"))
FILE_LIMIT, FUNCTION_LIMIT, USUAL_FILE = 400, 60, 200
CATCH_ALL_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"}
CROSSING_MODULES = (
    *("domain", "batches", "config", "events", "graphs", "libraries"),
    *("checkpoint_events", "evaluation_events", "library_events", "pool_events", "schedule_events", "what_if_events"),
)
HEAVY = ("torch", "tvm", "onnx", "onnxruntime", "xgboost")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


def lines(path: Path) -> int:
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, Function))


def test_import_contracts_hold(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])

    status = cli.lint_imports(config_filename="pyproject.toml", no_cache=True)

    assert status == cli.EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_files_are_short():
    assert not {str(path): lines(path) for path in (*SOURCES, *TESTS) if lines(path) > FILE_LIMIT}


def test_half_of_the_files_are_under_200_lines():
    assert sum(lines(path) < USUAL_FILE for path in SOURCES) * 2 >= len(SOURCES)


def test_functions_are_short():
    def length(node: Function) -> int:
        return (node.end_lineno or node.lineno) - node.lineno + 1

    assert not {
        f"{path}:{node.lineno} {node.name}": length(node)
        for path in SOURCES
        for node in functions(path)
        if length(node) > FUNCTION_LIMIT
    }


def test_modules_say_their_purpose():
    assert not [str(path) for path in SOURCES if not ast.get_docstring(tree(path))]


def test_nothing_is_caught_bare():
    assert not [
        f"{path}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ]


def test_nothing_prints():
    assert not [
        f"{path}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def test_no_room_for_everything():
    assert not [str(path) for path in (*SOURCES, *TESTS) if CATCH_ALL_NAMES & {*path.parts, path.stem}]


@pytest.mark.parametrize("name", CROSSING_MODULES)
def test_what_crosses_stages_is_frozen(name):
    module = import_module(f"tcl_core.{name}")
    classes = [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__ == module.__name__ and dataclasses.is_dataclass(member)
    ]

    assert classes
    assert not [member.__name__ for member in classes if not member.__dataclass_params__.frozen]


def test_no_package_shadows_the_one_called_packaging():
    """A folder `packaging` with an `__init__.py` would win against PyPI's package in a checkout."""
    assert not (ROOT / "packaging" / "__init__.py").exists()
    answer = subprocess.run(
        [sys.executable, "-c", "import packaging.version; print(packaging.version.__file__)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "site-packages" in answer.stdout


def loaded_after_importing_all_of(package: str) -> set[str]:
    """Top-level modules in a fresh process that has imported every module of a package."""
    root = import_module(package)
    names = [module.name for module in pkgutil.walk_packages(root.__path__, f"{package}.")]
    code = f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\nprint(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return {name.split(".")[0] for name in answer.stdout.split()}


def test_the_window_process_stays_light():
    """Static contracts see what `app` imports; this sees what that brings along."""
    assert not loaded_after_importing_all_of("app") & set(HEAVY)


def test_tests_mirror_the_source():
    rooms = {path.parts[1] for path in SOURCES if path.parts[0] == "tcl_core" and len(path.parts) > 2}
    tested = {path.parts[2] for path in TESTS if path.parts[:2] == ("tests", "tcl_core") and len(path.parts) > 3}

    assert not rooms - tested, "rooms of tcl_core without a folder of tests"
