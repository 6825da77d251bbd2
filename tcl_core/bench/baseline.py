"""What an earlier run of a bench gave, kept in a file: a later one on the same machine must not fall behind it.

Figures that a peer of the same run stands beside (`BenchResult.ratio`) are held by that ratio, which a slower hour of
the machine leaves alone; all others by the series that the bench names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from tcl_core.bench.result import TIMES_AS_FAST, BenchResult
from tcl_core.destinations import check_folder, in_place_of
from tcl_core.errors import UserError

_SLACK = 0.1
"""How far beyond both spreads a figure may be: three repeats do not show the whole spread of a shared machine."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Median and spread of one thing that is held."""

    name: str
    median: float
    low: float
    high: float
    more_is_better: bool

    def behind(self, kept: Figure) -> bool:
        """Whether even its best value is worse than the worst that was kept, by more than the slack."""
        if self.more_is_better:
            return self.high < kept.low * (1.0 - _SLACK)
        return self.low > kept.high * (1.0 + _SLACK)

    def __str__(self) -> str:
        return f"{self.median:.4g} ({self.low:.4g} - {self.high:.4g})"


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A kept result, as far as later ones are compared with it."""

    date: str
    machine: str
    subject: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, kw_only=True)
class Held:
    """One figure then and now."""

    now: Figure
    kept: Figure

    @property
    def behind(self) -> bool:
        return self.now.behind(self.kept)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a result stands to a baseline.

    Attributes:
        others: what is not the same ("machine", "subject"), so that nothing was compared; empty otherwise.
        alone: names of figures that only one of the two has.
    """

    baseline: Baseline
    held: tuple[Held, ...]
    others: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    def sentences(self) -> tuple[str, ...]:
        """For a person, one for each figure, and one for what is not compared."""
        of = f"baseline of {self.baseline.date}"
        if self.others:
            theirs = " and ".join(f"another {name} ({getattr(self.baseline, name)})" for name in self.others)
            return (f"{of}: {theirs}, so nothing is compared",)
        compared = [
            f"{of}: {one.now.name} was {one.kept}, is {one.now}: {'FALLEN BEHIND' if one.behind else 'held'}"
            for one in self.held
        ]
        alone = f"{of}: only one of the two has {'; '.join(self.alone)}, so that is not compared"
        return (*compared, *([alone] if self.alone else []))

    def json(self) -> dict[str, Any]:
        """As one JSON object."""
        return {
            "date": self.baseline.date,
            "compared": bool(self.held),
            "others": list(self.others),
            "alone": list(self.alone),
            "held": [asdict(one) | {"behind": one.behind} for one in self.held],
        }


def bundled_baseline_path(name: str) -> Path:
    """Where the baseline of a bench lies that ships."""
    return Path(str(resources.files("resources"))) / "benches" / f"{name}.json"


def read_baseline(path: Path, name: str) -> Baseline | None:
    """The kept result of bench `name`; None where there is no file.

    Raises:
        UserError: the file is no result of that bench.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["bench"] != name:
            raise ValueError(told["bench"])
        return _baseline(told)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            "bench",
            f"{path} cannot be read as a result of the bench {name}; name another file.",
        ) from error


def check_keepable(path: Path) -> None:
    """Refuse a file that no result could be kept in, before anything is measured; what it holds stays.

    Raises:
        UserError: the file cannot be written; or there is none yet, and its folder takes nothing.
    """
    if not path.exists():
        check_folder(path.parent, "bench")
        return
    with _refusing(path), path.open("a", encoding="utf-8"):
        pass


def keep(result: BenchResult, path: Path) -> None:
    """Make a result the baseline, all of it or nothing: what was kept survives a full disk.

    Raises:
        UserError: the file cannot be written.
    """
    with _refusing(path), in_place_of(path) as whole:
        whole.write_text(json.dumps(result.json(), indent=2) + "\n", encoding="utf-8")


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            "bench", f"{path} cannot be written ({error.strerror}); name another file with --baseline."
        ) from error


def stand(result: BenchResult, baseline: Baseline) -> Standing:
    """Compare figure by figure; nothing where machine or subject differ."""
    now = _baseline(result.json())
    others = tuple(name for name in ("machine", "subject") if getattr(now, name) != getattr(baseline, name))
    if others:
        return Standing(baseline=baseline, held=(), others=others)
    found, kept = ({figure.name: figure for figure in one.figures} for one in (now, baseline))
    held = tuple(Held(now=found[name], kept=kept[name]) for name in found if name in kept)
    return Standing(baseline=baseline, held=held, alone=tuple(sorted(found.keys() ^ kept.keys())))


def _baseline(told: dict[str, Any]) -> Baseline:
    return Baseline(date=told["date"], machine=told["machine"], subject=told["subject"], figures=_figures(told))


def _figures(told: dict[str, Any]) -> tuple[Figure, ...]:
    """Of a `BenchResult.json`."""
    if told["ratio"] is not None:
        low, high = told["ratio_spread"]
        return (Figure(name="ratio", median=told["ratio"], low=low, high=high, more_is_better=True),)
    return tuple(
        Figure(
            name=row["name"],
            median=row["median"],
            low=row["low"],
            high=row["high"],
            more_is_better=row["unit"].endswith("/s") or row["unit"] == TIMES_AS_FAST,
        )
        for row in told["series"]
        if row["name"] in told["held"]
    )
