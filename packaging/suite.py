"""The whole test suite in one command: style, formatting, types, then the tests. For `main.py test`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

CHECKS = (
    ("ruff check", ("ruff", "check", ".")),
    ("ruff format", ("ruff", "format", "--check", ".")),
    ("mypy", ("mypy",)),
)
SIDE_BY_SIDE = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")
"""pytest's processes: one a core, as far as memory goes (each loads TVM and torch, 1.5 GB). A file stays in one."""


def run(root: str, arguments: Sequence[str]) -> int:
    """Run everything, or only pytest when it is given arguments; pytest's status, or 1 when a check failed.

    The whole suite is shared out to several processes. pytest comes last, so that its summary is the last line. No test
    opens a window on a display.
    """
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    failures = []
    for name, command in () if arguments else CHECKS:
        _say(f"== {name}")
        if call(command, root, environ):
            failures.append(name)
    if failures:
        _say(f"== failed so far: {', '.join(failures)}")
    _say("== pytest")
    status = call(("pytest", *(arguments or SIDE_BY_SIDE)), root, environ)
    return status or (1 if failures else 0)


def call(command: Sequence[str], root: str, environ: dict[str, str]) -> int:
    """The status of a module with its arguments.

    Ctrl+C reaches it, too, and its end is waited for: `subprocess.call` kills it after a moment, and what pytest had
    begun went on without it.
    """
    with subprocess.Popen([sys.executable, "-m", *command], cwd=root, env=environ) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
