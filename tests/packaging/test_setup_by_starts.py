"""Whole starts from a bare Python: the real main.py and bootstrap, a real environment, a package server of our own."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BARE_PYTHON = sys._base_executable  # the interpreter below the environment that the tests run in
PATIENCE_S = 120
COMMAND_LINE = """
import json, os, sys
import tinypackage
def main(arguments):
    print(json.dumps({"arguments": arguments, "prefix": sys.prefix, "omp": os.environ["OMP_WAIT_POLICY"],
                      "tiny": tinypackage.VALUE}))
    return 7
"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="kills and locks of POSIX")]


def make_wheel(folder: Path) -> Path:
    """A package of one module, as small as pip takes them."""
    info = "tinypackage-1.0.dist-info"
    files = {
        "tinypackage.py": "VALUE = 42\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tinypackage\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}"
        for name, text in files.items()
    ]
    path = folder / "tinypackage-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,\n"]))
    return path


@dataclass
class Registry:
    """A package index on this machine that can hold its answer back."""

    url: str
    asked: threading.Event = field(default_factory=threading.Event)
    answer: threading.Event = field(default_factory=threading.Event)


@pytest.fixture(scope="module")
def registry(tmp_path_factory) -> Iterator[Registry]:
    wheel = make_wheel(tmp_path_factory.mktemp("wheel"))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.set()
            served.answer.wait(PATIENCE_S)
            whole = self.path.endswith(".whl")
            body = (
                wheel.read_bytes()
                if whole
                else f'<html><body><a href="/{wheel.name}">{wheel.name}</a></body></html>'.encode()
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream" if whole else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Keep quiet."""

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that was killed leaves a broken pipe; that is what the tests do."""

    server = Server(("127.0.0.1", 0), Handler)
    served = Registry(url=f"http://127.0.0.1:{server.server_port}/simple")
    served.answer.set()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield served
    served.answer.set()
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass
class Checkout:
    """A folder with the real front door and a command line that needs one package."""

    root: Path
    venv: Path
    environ: dict[str, str]

    def command(self, *arguments: str) -> list[str]:
        return [BARE_PYTHON, str(self.root / "main.py"), "--venv", str(self.venv), *arguments]

    def start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), env=self.environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        # A suite that runs in a shell's background hands SIGINT down as ignored, and Python would leave it so.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                self.command(*arguments), env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        finally:
            signal.signal(signal.SIGINT, before)

    def forget(self) -> None:
        """As after a setup that broke off: begun, not done."""
        (self.venv / ".setup-done.json").unlink(missing_ok=True)
        (self.venv / ".setup-unfinished").touch()

    @property
    def site_packages(self) -> Path:
        return next(self.venv.glob("lib/python3*/site-packages"))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, registry) -> Checkout:
    """Set up once, from nothing."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "main.py", root)
    shutil.copytree(ROOT / "packaging", root / "packaging", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tcl_core").mkdir()
    (root / "tcl_core" / "__init__.py").touch()
    (root / "tcl_core" / "command_line.py").write_text(COMMAND_LINE)
    (root / "pyproject.toml").write_text(
        '[project]\ndependencies = ["tinypackage==1.0"]\n[project.optional-dependencies]\ndev = []\n'
    )
    clean = {
        name: value
        for name, value in os.environ.items()
        # The package server is this machine, to which no proxy leads.
        if not name.startswith(("PIP_", "PYTHON", "VIRTUAL_ENV")) and not name.lower().endswith("_proxy")
    }
    environ = clean | {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": registry.url,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_RETRIES": "1",
    }
    made = Checkout(root, root / "environment", environ)
    first = made.start("tune", "--json")
    assert first.returncode == 7, first.stderr
    assert "Setting up the packages" in first.stderr
    assert "tinypackage" in first.stderr, "pip's own progress is shown"
    assert json.loads(first.stdout) == {
        "arguments": ["tune", "--json"],
        "prefix": str(made.venv),
        "omp": "PASSIVE",
        "tiny": 42,
    }, "standard output belongs to the command"
    return made


def test_the_second_start_says_nothing(checkout):
    again = checkout.start("tasks", "x y.onnx")

    assert (again.returncode, again.stderr) == (7, "")
    assert json.loads(again.stdout)["arguments"] == ["tasks", "x y.onnx"]


def test_a_half_installed_package_is_installed_again(checkout):
    (checkout.site_packages / "tinypackage-1.0.dist-info" / "RECORD").unlink()
    (checkout.site_packages / "tinypackage.py").write_text("VALUE =")
    checkout.forget()

    again = checkout.start("tune")

    assert again.returncode == 7, again.stderr
    assert "tinypackage-1.0 was half installed" in again.stderr
    assert not (checkout.venv / ".setup-unfinished").exists()


def test_a_changed_list_is_installed(checkout):
    project = checkout.root / "pyproject.toml"
    text = project.read_text()
    project.write_text(text.replace("tinypackage==1.0", "tinypackage>=1"))

    again = checkout.start("tune")
    project.write_text(text)

    assert again.returncode == 7, again.stderr
    assert "Setting up the packages" in again.stderr


def test_a_broken_environment_is_rebuilt_under_the_same_lock(checkout):
    lock = (checkout.venv / ".setup-lock").stat().st_ino
    (checkout.venv / "bin" / "python").unlink()

    again = checkout.start("tune")

    assert again.returncode == 7, again.stderr
    assert (checkout.venv / ".setup-lock").stat().st_ino == lock


def test_killed_in_the_middle_of_pip_the_next_start_waits_for_it_and_goes_on(checkout, registry):
    shutil.rmtree(checkout.site_packages / "tinypackage-1.0.dist-info")
    checkout.forget()
    registry.asked.clear()
    registry.answer.clear()
    first = checkout.begin("tune")
    assert registry.asked.wait(PATIENCE_S)
    first.send_signal(signal.SIGKILL)
    first.wait()  # and not for its pipes: the orphaned pip still holds them

    second = checkout.begin("tune")
    assert second.stderr is not None
    told = second.stderr.readline()
    registry.answer.set()
    out, rest = second.communicate(timeout=PATIENCE_S)
    first.communicate()

    assert "Another start is setting up" in told, told + rest
    assert (second.returncode, json.loads(out)["tiny"]) == (7, 42), rest


def test_no_registry_is_one_sentence(checkout):
    shutil.rmtree(checkout.site_packages / "tinypackage-1.0.dist-info")
    checkout.forget()
    nowhere = Checkout(checkout.root, checkout.venv, checkout.environ | {"PIP_INDEX_URL": "http://127.0.0.1:9/simple"})

    refused = nowhere.start("tune")

    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("The package registry cannot be reached: ")
    assert checkout.start("tune").returncode == 7


@pytest.mark.parametrize(
    "setting", ["PIP_USER=1", "PIP_TARGET=aside", "PIP_PREFIX=aside", "PIP_ROOT=aside", "PIP_DRY_RUN=1"]
)
def test_settings_of_pip_send_nothing_elsewhere(checkout, tmp_path, setting):
    shutil.rmtree(checkout.site_packages / "tinypackage-1.0.dist-info")
    checkout.forget()
    name, _, value = setting.partition("=")
    value = str(tmp_path / value) if value == "aside" else value
    told = Checkout(checkout.root, checkout.venv, checkout.environ | {name: value})

    done = told.start("tune")

    assert done.returncode == 7, done.stderr
    assert (checkout.site_packages / "tinypackage-1.0.dist-info").exists() and not any(tmp_path.iterdir())


def test_what_a_pip_conf_sends_elsewhere_is_no_finished_setup(checkout, tmp_path):
    """It was taken for one: each start then ended in an import that fails."""
    shutil.rmtree(checkout.site_packages / "tinypackage-1.0.dist-info")
    checkout.forget()
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[install]\ntarget = {tmp_path / 'aside'}\n")
    told = Checkout(checkout.root, checkout.venv, checkout.environ | {"PIP_CONFIG_FILE": str(settings)})

    refused = told.start("tune")

    assert refused.returncode == 2, refused.stderr
    assert "and tinypackage is not in" in refused.stderr.splitlines()[-1]
    assert checkout.start("tune").returncode == 7


def test_what_there_is_no_build_of_is_named_plainly_where_colours_are_asked_for(checkout):
    project = checkout.root / "pyproject.toml"
    text = project.read_text()
    project.write_text(text.replace("tinypackage==1.0", "tinypackage==2.0"))
    coloured = Checkout(checkout.root, checkout.venv, checkout.environ | {"FORCE_COLOR": "1"})

    refused = coloured.start("tune")
    project.write_text(text)

    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("pip finds no build of tinypackage==2.0 for Python")
    assert checkout.start("tune").returncode == 7


def test_interrupted_it_exits_130_and_goes_on_later(checkout, registry):
    shutil.rmtree(checkout.site_packages / "tinypackage-1.0.dist-info")
    checkout.forget()
    registry.asked.clear()
    registry.answer.clear()
    started = checkout.begin("tune")
    assert registry.asked.wait(PATIENCE_S)
    started.send_signal(signal.SIGINT)
    _, told = started.communicate(timeout=PATIENCE_S)
    registry.answer.set()

    assert started.returncode == 130, told
    assert told.splitlines()[-1] == "Interrupted: the same command goes on from here."
    assert checkout.start("tune").returncode == 7
