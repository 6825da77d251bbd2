"""What control groups leave of this machine: a container's, a service's or a job's share of it. Linux; else nothing.

Version 2 has one tree, version 1 one for each controller. What any group around this process says counts, and of a
container that sees its own group alone it is the tree's root.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_TREES = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def cpus(trees: Path = _TREES, own: Path = _OWN) -> float | None:
    """Processors' time that may be used, in processors; None where nothing limits it."""
    quotas = (_quota(folder) for folder in _folders("cpu", trees, own))
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_bytes(trees: Path = _TREES, own: Path = _OWN) -> int | None:
    """Memory that may be used; None where nothing limits it."""
    folders = _folders("memory", trees, own)
    told = (_read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes") for folder in folders)
    return min((int(text) for text in told if text.strip().isdigit()), default=None)


def _folders(controller: str, trees: Path, own: Path) -> Iterator[Path]:
    """Of the groups around this process, in either version; some of them may not be seen from here."""
    yield trees
    yield trees / controller
    for line in _read(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        tree = trees / controller if controllers else trees
        parts = PurePosixPath(path).parts[1:]
        yield from (tree.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1))


def _quota(folder: Path) -> float | None:
    """Time in a period by the period: "max" and -1 stand for no limit."""
    told = _read(folder / "cpu.max") or _read(folder / "cpu.cfs_quota_us") + _read(folder / "cpu.cfs_period_us")
    numbers = told.split()
    if len(numbers) != 2 or not all(number.isdigit() and int(number) for number in numbers):
        return None
    quota, period = map(int, numbers)
    return quota / period


def _read(path: Path) -> str:
    """Empty where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
