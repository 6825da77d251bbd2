"""The front door: old Pythons, dispatch, exit statuses, and what a bug looks like."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import bootstrap
import pytest

import main
from tcl_core import command_line
from tcl_core.errors import Interrupted, UserError
from tcl_core.hardware import display

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def packages_are_there(monkeypatch):
    """Setting up is tested by itself."""
    monkeypatch.setattr(main, "HERE", str(ROOT / "tests" / "nowhere"))


def raising(error: BaseException):
    def run(arguments):
        raise error

    return run


def test_an_old_python_is_told_so(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))

    assert main.main(["tune"]) == 2
    assert "needs Python 3.11 or newer, and this is Python 3.9" in capsys.readouterr().err


def test_old_pythons_can_read_the_front_door():
    """Parsed by the oldest grammar that `ast` knows; annotations and f-strings are checked by hand, for older ones."""
    tree = ast.parse((ROOT / "main.py").read_text(), feature_version=(3, 4))
    modern = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Match)
    nodes = list(ast.walk(tree))

    assert not [node.lineno for node in nodes if isinstance(node, modern)]
    assert not [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.returns]
    assert not [node.arg for node in nodes if isinstance(node, ast.arg) and node.annotation]
    assert not [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    assert not [node for node in nodes if isinstance(node, ast.Raise) and node.cause]


def test_a_subcommand_goes_to_the_command_line(monkeypatch):
    given = []
    monkeypatch.setattr(command_line, "main", lambda arguments: given.append(list(arguments)) or 5)
    for name in ("OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS", "ORT_DISABLE_TELEMETRY"):
        monkeypatch.delenv(name, raising=False)

    assert main.main(["tune", "x.onnx"]) == 5
    assert given == [["tune", "x.onnx"]]
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"


def test_a_choice_of_threads_and_of_waiting_is_left_alone(monkeypatch):
    monkeypatch.setattr(command_line, "main", lambda arguments: 0)
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")

    main.main(["doctor"])

    assert (os.environ["OMP_WAIT_POLICY"], os.environ["OPENBLAS_NUM_THREADS"]) == ("ACTIVE", "7")


@pytest.mark.parametrize(
    ("error", "status"),
    [(UserError("target", "No."), 2), (Interrupted(), 130), (KeyboardInterrupt(), 130), (ZeroDivisionError("x"), 1)],
)
def test_every_end_has_its_status(monkeypatch, tmp_path, error, status):
    monkeypatch.setattr("platformdirs.user_log_dir", lambda *_, **__: str(tmp_path))
    monkeypatch.setattr(command_line, "main", raising(error))

    assert main.main(["tune"]) == status


def test_a_bug_is_one_line_with_the_path_of_its_log(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("platformdirs.user_log_dir", lambda *_, **__: str(tmp_path))
    monkeypatch.setattr(command_line, "main", raising(ZeroDivisionError("in the middle")))

    main.main(["tune"])

    (log,) = tmp_path.iterdir()
    assert capsys.readouterr().err == f"This is a bug in TCL Studio (ZeroDivisionError); its log is {log}\n"
    assert "ZeroDivisionError: in the middle" in log.read_text()


def test_a_log_folder_that_cannot_be_written_is_left_for_another(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("platformdirs.user_log_dir", lambda *_, **__: str(tmp_path / "missing"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(command_line, "main", raising(ZeroDivisionError()))

    assert main.main(["tune"]) == 1
    assert str(next(tmp_path.glob("bug-*.log"))) in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_without_a_display_the_studio_names_the_command(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)

    assert main.main([]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["test"], ["--venv", "x"], ["--venv", "x", "test"]])
def test_missing_libraries_are_told_before_anything_is_set_up(monkeypatch, capsys, arguments):
    monkeypatch.setattr(main, "HERE", str(ROOT))
    monkeypatch.setattr(display, "display_problem", lambda environ: None)
    monkeypatch.setattr(display, "library_problem", lambda *, window: "Install libegl1.")
    monkeypatch.setattr(bootstrap, "prepare", raising(AssertionError("set up")))

    assert main.main(arguments) == 2
    assert capsys.readouterr().err == "Install libegl1.\n"


def test_a_setup_that_fails_is_one_sentence(monkeypatch, capsys):
    def fail(root, arguments):
        raise bootstrap.SetupError("No room.")

    monkeypatch.setattr(main, "HERE", str(ROOT))
    monkeypatch.setattr(bootstrap, "prepare", fail)

    assert main.main(["tune"]) == 2
    assert main.main(["--venv"]) == 2
    assert capsys.readouterr().err == "No room.\n--venv needs a folder: python3 main.py --venv DIR ...\n"


@contextmanager
def closed_stderr(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        yield
        sys.stderr.close()


@pytest.mark.parametrize(("error", "status"), [(UserError("target", "No."), 2), (ZeroDivisionError("x"), 1)])
def test_a_closed_stderr_changes_no_status(monkeypatch, error, status):
    monkeypatch.setattr(command_line, "main", raising(error))

    with closed_stderr(monkeypatch):
        assert main.main(["tune"]) == status


def test_what_a_setup_says_needs_no_open_stderr(monkeypatch):
    monkeypatch.setattr(main, "HERE", str(ROOT))
    monkeypatch.setattr(bootstrap, "prepare", lambda root, arguments: bootstrap.say("Another start is setting up."))
    monkeypatch.setattr(command_line, "main", lambda arguments: 0)

    with closed_stderr(monkeypatch):
        assert main.main(["tune"]) == 0


def test_networks_are_told_to_nobody(tmp_path):
    """What onnxruntime is to send it keeps in the home folder; it makes no file there where that is nothing."""
    code = "import sys, main\nfrom tcl_core.command_line import doctor\n"
    code += "def run(arguments, output):\n    import onnxruntime\n    onnxruntime.SessionOptions()\n"
    code += "doctor.run = run\nmain.HERE = '.'\nsys.exit(main.main(['doctor']))"
    other = {name: value for name, value in os.environ.items() if name not in {"ORT_DISABLE_TELEMETRY", "CI"}}
    homes = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}

    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=other | homes, capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert not [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name]


def test_the_folder_option_is_not_for_the_command_line(monkeypatch):
    given = []
    monkeypatch.setattr(main, "HERE", str(ROOT))
    monkeypatch.setattr(bootstrap, "prepare", lambda root, arguments: given.append((root, arguments)))
    monkeypatch.setattr(command_line, "main", lambda arguments: given.append(arguments) or 0)

    assert main.main(["--venv", "x", "tasks"]) == 0
    assert given == [(str(ROOT), ["--venv", "x", "tasks"]), ["tasks"]]


def test_an_installed_package_has_no_tests(capsys):
    assert main.main(["test"]) == 2
    assert "checkout" in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_bug():
    code = "import main, sys\nfrom tcl_core.command_line import doctor\n"
    code += "doctor.run = lambda arguments, output: output.emit({'much': 'x' * 99999})\n"
    code += "main.HERE = '.'\nsys.exit(main.main(['doctor', '--json']))"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    told = process.stderr.read()
    process.stderr.close()

    assert (process.wait(), told) == (141, b"")
