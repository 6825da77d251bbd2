"""Installing the packages into a private environment with pip, and what went wrong in one sentence.

Standard library only. pip's own progress goes to standard error as it comes; downloads stay in pip's cache, so that a
second try goes on where the first one ended.
"""

from __future__ import annotations

import csv
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path

TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PROBE_SECONDS = 40
_ELSEWHERE = {"PIP_DRY_RUN", "PIP_NO_DEPS", "PIP_PREFIX", "PIP_ROOT", "PIP_TARGET"}
"""Settings of pip by which it says that all is installed, and nothing is where it was asked for."""
_LACKING = """
import importlib.metadata, sys
from pip._vendor.packaging.requirements import Requirement
for wanted in map(Requirement, sys.argv[1:]):
    if not wanted.marker or wanted.marker.evaluate():
        try:
            importlib.metadata.version(wanted.name)
        except importlib.metadata.PackageNotFoundError:
            print(wanted.name)
"""


class SetupError(Exception):
    """The packages cannot be made ready: one sentence for a person."""


_CAUSES = (
    (r"No space left on device|Errno 28|WinError 112|disk quota exceeded", "disk"),
    (r"Permission denied|Errno 13|Read-only file system|Errno 30|WinError 5\b", "folder"),
    # Before the network: what is given up for a certificate also says "Max retries exceeded".
    (r"CERTIFICATE_VERIFY_FAILED", "certificate"),
    (
        r"SSLError|NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|Read timed out|"
        r"ProxyError|Connection refused|Connection reset|Network is unreachable|IncompleteRead|Max retries exceeded|"
        r"ProtocolError|getaddrinfo failed|Temporary failure in name resolution",
        "network",
    ),
    (r"No matching distribution found|Could not find a version", "no build"),
)


def install(python: Path, requirements: Sequence[str], lock: int | None) -> None:
    """Install the requirements into the environment of `python`: torch first, in its CPU build, then the rest.

    Args:
        lock: file descriptor of the setup lock. pip inherits it, so that the environment stays locked while an
            orphaned pip is still at work in it after its parent was killed.

    Raises:
        SetupError: with the cause pip gave, or a package is not there for all that pip says.
    """
    torch = next((item for item in requirements if re.match(r"torch\b", item)), None)
    if torch and not _has(python, torch):
        _pip_install(python, _torch_arguments(python, torch), lock)
    _pip_install(python, list(requirements), lock)
    _require(python, requirements)


def _require(python: Path, requirements: Sequence[str]) -> None:
    """Raises: SetupError where a package did not come into the environment: a pip.conf can send it elsewhere, too."""
    looked = subprocess.run(
        [str(python), "-I", "-c", _LACKING, *requirements], capture_output=True, text=True, check=False
    )
    lacking = looked.stdout.split()
    if lacking:
        raise SetupError(
            f"pip says that all is installed, and {lacking[0]} is not in {python.parent.parent}: take out what sends "
            "it elsewhere (target, prefix, root or dry-run, see `pip config list`), then run the same command again."
        )


def _has(python: Path, requirement: str) -> bool:
    """Whether the exact version of `name==version` is installed, in whichever build."""
    name, version = requirement.split("==")
    code = f"import importlib.metadata as m; print(m.version({name!r}).split('+')[0] == {version!r})"
    answer = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=False)
    return answer.stdout.strip() == "True"


def _torch_arguments(python: Path, torch: str) -> list[str]:
    """How to get torch without its gigabytes of CUDA.

    On Linux, PyPI's own wheel is the CUDA build. The CPU build is called `+cpu`; it comes from wherever pip is set up
    to look, or from PyTorch's index when that can be reached. Only when neither has it does PyPI's build have to do.
    """
    if sys.platform != "linux":
        return ["--no-deps", torch]
    for extra in ([], ["--extra-index-url", TORCH_CPU_INDEX]):
        if f"{torch.partition('==')[2]}+cpu" in _offered(python, extra):
            return ["--no-deps", f"{torch}+cpu", *extra]
    say("The CPU build of torch is out of reach: taking PyPI's, which may bring several GB of CUDA along.")
    return [torch]


def _offered(python: Path, extra: list[str]) -> list[str]:
    """Versions of torch that pip would find, asked impatiently: a host that is out of reach costs seconds."""
    command = [str(python), "-I", "-m", "pip", "index", "versions", "torch", "--retries", "0", "--timeout", "5", *extra]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        return []
    found = re.search(r"^Available versions: (.*)$", answer.stdout, re.MULTILINE)
    return found[1].split(", ") if found else []


def _pip_install(python: Path, arguments: list[str], lock: int | None) -> None:
    command = [
        str(python),
        "-I",
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--prefer-binary",
        "--no-user",  # it is refused in an environment, and a pip.conf may ask for it everywhere
        "--no-color",  # `explain` reads it, and FORCE_COLOR colours even a pipe
    ]
    last_lines: deque[str] = deque(maxlen=60)
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=2,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        env={name: value for name, value in os.environ.items() if name not in _ELSEWHERE},
        pass_fds=() if lock is None or sys.platform == "win32" else (lock,),
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            last_lines.append(line)
            sys.stderr.write(line)
        status = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        if process.stderr:
            process.stderr.close()
    if status:
        raise SetupError(explain(status, "".join(last_lines), python.parent.parent))


def explain(status: int, output: str, folder: Path) -> str:
    """One sentence for what pip said last."""
    cause = next((name for pattern, name in _CAUSES if re.search(pattern, output, re.IGNORECASE)), "unknown")
    errors = re.findall(r"^ERROR: (.*)$", output, re.MULTILINE)
    again = "then run the same command again: what was downloaded is kept"
    wanted = re.search(r"No matching distribution found for (\S+)", output)
    return {
        "disk": f"The disk of {folder} is full ({_free_gb(folder):.1f} GB free): free some space, {again}.",
        "folder": f"{folder} cannot be written: use another folder with `python3 main.py --venv DIR ...`.",
        "network": f"The package registry cannot be reached: check the network or pip's index settings, {again}.",
        "certificate": f"The package registry's certificate is not trusted: tell pip of yours with PIP_CERT, {again}.",
        "no build": f"pip finds no build of {wanted[1] if wanted else 'a package'} for Python "
        f"{platform.python_version()} on {platform.system()} {platform.machine()}: try another Python from 3.11 on, or "
        "check pip's index settings.",
        "unknown": f"pip failed with status {status}: {errors[-1] if errors else 'it gave no reason'}",
    }[cause]


def _free_gb(folder: Path) -> float:
    there = next(path for path in (folder, *folder.parents) if path.is_dir())
    return shutil.disk_usage(there).free / 1e9


def drop_half_installed(site_packages: Path) -> list[str]:
    """Make pip forget packages whose installation was cut off; returns their names.

    pip believes a package is there as soon as its `METADATA` is. `RECORD` is written last and lists every file with its
    size: where it is missing or a file is not as listed, the `.dist-info` folder goes, and pip installs it again.
    """
    dropped = []
    for info in sorted(site_packages.glob("*.dist-info")):
        if not _is_whole(info):
            shutil.rmtree(info)
            dropped.append(info.name.removesuffix(".dist-info"))
    for leftover in site_packages.glob("~*"):  # what an interrupted uninstall has moved aside
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    return dropped


def _is_whole(info: Path) -> bool:
    try:
        with (info / "RECORD").open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if len(row) == 3]
        return bool(rows) and all(
            (info.parent / path).stat().st_size == int(size) for path, _, size in rows if size and ".." not in path
        )
    except (OSError, ValueError):
        return False


def say(sentence: str) -> None:
    """One line on standard error: standard output may have to hold one JSON object."""
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()
