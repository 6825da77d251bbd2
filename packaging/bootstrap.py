"""From a checkout and a bare Python 3.11+ to an environment with the packages. Standard library only.

`prepare` returns where the packages are there; else it makes a private environment beside `main.py` and starts the
program again in it. The list of packages is that of `pyproject.toml`. Files kept in the environment's folder:

- ``.setup-lock``: held while someone sets it up; a second start waits;
- ``.setup-unfinished``: there from the first change to the last, so that an interrupted setup is repaired;
- ``.setup-done.json``: the digest of each installed list, written at the very end: the one proof that all is there.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from pip_install import SetupError, drop_half_installed, install, say

__all__ = ["SetupError", "prepare", "split_folder"]

NEEDED_GB = 3.0
LOCK, UNFINISHED, DONE = ".setup-lock", ".setup-unfinished", ".setup-done.json"


def prepare(root: str, arguments: list[str]) -> None:
    """Return once this process has the packages; otherwise it is replaced by one that has, with the same arguments.

    Args:
        root: folder of `main.py` and `pyproject.toml`.
        arguments: of the command line, see `split_folder`.

    Raises:
        SetupError: the packages cannot be made ready.
    """
    folder, rest = split_folder(arguments)
    venv = (folder or Path(root) / ".venv").absolute()
    lists = _read_lists(Path(root) / "pyproject.toml")
    wanted = {name: lists[name] for name in (("runtime", "dev") if rest[:1] == ["test"] else ("runtime",))}
    inside = Path(sys.prefix).resolve() == venv.resolve()
    if not _is_ready(venv, wanted, inside=inside, asked_for=folder is not None):
        if not _is_done(venv, wanted):
            _set_up(venv, wanted)
        _start_again(venv, [str(Path(root) / "main.py"), *arguments])


def _is_ready(venv: Path, wanted: dict[str, list[str]], *, inside: bool, asked_for: bool) -> bool:
    """Whether this process can go on: it is the finished environment, or has the packages from elsewhere."""
    if inside and _is_done(venv, wanted):
        return True
    # An environment that somebody made has no stamp; it will do if nothing is missing and no setup broke off in it.
    untouched = not (venv / UNFINISHED).exists() if inside else not asked_for
    return untouched and _has_all(wanted)


def split_folder(arguments: list[str]) -> tuple[Path | None, list[str]]:
    """The environment's folder that a leading ``--venv DIR`` names, and the arguments after it.

    Raises:
        SetupError: the folder is missing.
    """
    if not arguments or arguments[0].partition("=")[0] != "--venv":
        return None, arguments
    _, equals, folder = arguments[0].partition("=")
    rest = arguments[1:] if equals else arguments[2:]
    folder = folder if equals else "".join(arguments[1:2])
    if not folder:
        raise SetupError("--venv needs a folder: python3 main.py --venv DIR ...")
    return Path(folder).expanduser(), rest


def _read_lists(project_file: Path) -> dict[str, list[str]]:
    with project_file.open("rb") as file:
        project = tomllib.load(file)["project"]
    return {"runtime": project["dependencies"], "dev": project["optional-dependencies"]["dev"]}


def _digest(requirements: list[str]) -> str:
    """Changes with the list and with the Python that it was installed for."""
    text = json.dumps([sorted(requirements), sys.version_info[:2]])
    return hashlib.sha256(text.encode()).hexdigest()


def _is_done(venv: Path, wanted: dict[str, list[str]]) -> bool:
    """Whether everything wanted was once installed completely, by a Python like this one."""
    try:
        done = json.loads((venv / DONE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return (
        isinstance(done, dict)
        and _python(venv).exists()
        and all(done.get(name) == _digest(listed) for name, listed in wanted.items())
    )


def _has_all(wanted: dict[str, list[str]]) -> bool:
    """Whether this very process has all packages in the versions asked for."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return False  # it is one of them
    for text in (text for listed in wanted.values() for text in listed):
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            found = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            return False
        if not requirement.specifier.contains(found, prereleases=True):
            return False
    return True


def _set_up(venv: Path, wanted: dict[str, list[str]]) -> None:
    """Make the environment, or finish or repair the one that is there."""
    with _locked(venv) as lock:
        if _is_done(venv, wanted):
            return  # another start has done it meanwhile
        _check_room(venv)
        broken_off = (venv / UNFINISHED).exists()
        say(
            f"{'Going on with' if broken_off else 'Setting up'} the packages in {venv}: about 1 GB to download and "
            f"{NEEDED_GB:.0f} GB on disk, once. It can be interrupted: the same command goes on."
        )
        try:
            (venv / UNFINISHED).touch()
            (venv / DONE).unlink(missing_ok=True)
            _make_environment(venv)
            for site_packages in _site_packages(venv) if broken_off else ():
                for name in drop_half_installed(site_packages):
                    say(f"{name} was half installed; it is installed again.")
            install(_python(venv), [text for listed in wanted.values() for text in listed], lock)
            _write_stamp(venv, wanted)
        except KeyboardInterrupt:
            say("Interrupted: the same command goes on from here.")
            raise
        except OSError as error:
            raise SetupError(_explain_os_error(venv, error)) from error


def _make_environment(venv: Path) -> None:
    """Create the environment unless its Python and pip work."""
    works = [str(_python(venv)), "-I", "-m", "pip", "--version"]
    if _python(venv).exists() and subprocess.run(works, capture_output=True, check=False).returncode == 0:
        return
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise SetupError(
            f"Python's module {' and '.join(missing)} is missing: install it with `apt-get install python3-venv` "
            f"(or python{version}-venv), then run the same command again."
        )
    _clear(venv)
    # The base interpreter: this process may itself run in the environment that is to be replaced.
    base = getattr(sys, "_base_executable", None) or sys.executable
    made = subprocess.run(
        [base, "-I", "-m", "venv", str(venv)], capture_output=True, text=True, errors="replace", check=False
    )
    if made.returncode:
        last = (made.stdout + made.stderr).strip().splitlines()[-1:] or ["it gave no reason"]
        raise SetupError(f"The environment {venv} could not be made (status {made.returncode}): {last[0]}")


def _clear(venv: Path) -> None:
    """Empty the folder but for the files of this setup: the lock must stay the file that others wait for."""
    for entry in venv.iterdir():
        if entry.name in {LOCK, UNFINISHED}:
            continue
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _write_stamp(venv: Path, wanted: dict[str, list[str]]) -> None:
    text = json.dumps({name: _digest(listed) for name, listed in wanted.items()})
    draft = venv / (DONE + ".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(venv / DONE)
    (venv / UNFINISHED).unlink()


@contextlib.contextmanager
def _locked(venv: Path) -> Iterator[int]:
    """Hold the setup lock of an environment's folder; yields its file descriptor. The folder is made if need be."""
    try:
        venv.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(venv / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise SetupError(_explain_os_error(venv, error)) from error
    try:
        _lock(venv, descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(venv: Path, descriptor: int) -> None:
    try:
        if not _take(descriptor, wait=False):
            say(f"Another start is setting up {venv}; waiting for it.")
            _take(descriptor, wait=True)
    except OSError as error:  # some network file systems have no locks
        raise SetupError(
            f"The disk of {venv} cannot lock files ({error.strerror}): use another one with "
            "`python3 main.py --venv DIR ...`."
        ) from error


if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int, *, wait: bool) -> bool:
        """Lock the file; `msvcrt` itself waits ten seconds at most, so waiting asks again and again."""
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
            else:
                return True
else:
    import fcntl

    def _take(descriptor: int, *, wait: bool) -> bool:
        """Lock the file; whether it was had."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _check_room(venv: Path) -> None:
    """Refuse before the download what will not fit after it; what an earlier try installed counts."""
    free = shutil.disk_usage(venv).free
    used = sum(file.stat().st_size for site in _site_packages(venv) for file in site.rglob("*") if file.is_file())
    if free + used < NEEDED_GB * 1e9:
        raise SetupError(
            f"The packages need {NEEDED_GB:.0f} GB and the disk of {venv} has {free / 1e9:.1f} GB free: make room, or "
            "use another disk with `python3 main.py --venv DIR ...`."
        )


def _explain_os_error(venv: Path, error: OSError) -> str:
    return (
        f"{venv} cannot be written ({error.strerror or error}): make room or use another folder with "
        "`python3 main.py --venv DIR ...`."
    )


def _site_packages(venv: Path) -> list[Path]:
    return [*venv.glob("lib/python3*/site-packages"), *venv.glob("Lib/site-packages")]


def _python(venv: Path) -> Path:
    return venv / "Scripts" / "python.exe" if sys.platform == "win32" else venv / "bin" / "python"


def _start_again(venv: Path, command: list[str]) -> NoReturn:
    """Replace this process by the environment's Python (a fresh one, too, where this was it: it saw no packages)."""
    python = str(_python(venv))
    sys.stderr.flush()
    if sys.platform == "win32":
        # execv on Windows returns to the shell at once; the exit status would be lost.
        raise SystemExit(subprocess.call([python, *command]))
    os.execv(python, [python, *command])
