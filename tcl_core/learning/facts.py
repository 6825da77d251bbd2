"""What a learner's checkpoint says of itself, checked value by value: the file may be another program's.

A checksum tells that a file is whole, not that its facts make sense: a width below 0, or a token of the wrong length,
would otherwise be found in the middle of a learning. Nothing here imports torch.
"""

from __future__ import annotations

import json
import reprlib
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from tcl_core.config import LearnerConfig, ModelConfig, OfflineConfig
from tcl_core.learning.lineage import ACTIVE, KNOWLEDGE, LearnedPlatform

_MOST: Final = 2**31 - 1
_LARGEST: Final = float(np.finfo(np.float32).max)
_KINDS: Final = ("llvm", "cuda")
_RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "patience": (0, _MOST),
    "task_records": (2, _MOST),  # fewer have no order
    "dropout": (0.0, 0.99),
    "gate": (1e-6, 1 - 1e-6),  # its logit is what is kept
    "temperature": (1e-6, _LARGEST),
    **dict.fromkeys(("average", "warm_up", "gamma", "hearsay", "momentum"), (0.0, 1.0)),
}
"""Of settings by name; other whole numbers begin at 1, other numbers at 0."""

T = TypeVar("T", ModelConfig, OfflineConfig, LearnerConfig)


class WrongFact(ValueError):
    """A fact is not what a learner writes. The message names it: "seed is -5, and not a whole number from 0 to ..."."""


@dataclass(frozen=True, kw_only=True)
class LearnerFacts:
    """What a learner writes of itself.

    Attributes:
        platforms: all it has learned, oldest first; the last is the active column's.
        deployed: what answers for the last platform.
        leading: what a run on it starts from; in files of before it was written down the same.
    """

    platforms: tuple[LearnedPlatform, ...]
    parent: str | None
    metrics: tuple[tuple[str, float], ...]
    deployed: str
    leading: str
    config: LearnerConfig
    model: ModelConfig
    seed: int


def learner_facts(facts: Mapping[str, Any], token: int) -> LearnerFacts:
    """The facts of a checkpoint whose feature layout has platform tokens of length `token`.

    Raises:
        WrongFact: a value that no learner has.
        KeyError, TypeError: something is missing, or is there that this version does not know.
    """
    parent, metrics, deployed = facts["parent"], facts["metrics"], _column("deployed", facts["deployed"])
    found = _list("platforms", facts["platforms"])
    if not found:
        _refuse("platforms", found, "a list of one platform at least")
    return LearnerFacts(
        platforms=tuple(_platform(f"platforms[{at}]", one, token) for at, one in enumerate(found)),
        parent=None if parent is None else _text("parent", parent),
        metrics=tuple(
            (name, _number("metrics", value, -_LARGEST, _LARGEST))
            for name, value in _object("metrics", metrics).items()
        ),
        deployed=deployed,
        leading=_column("leading", facts.get("leading", deployed)),
        config=_settings("learner", facts["learner"], LearnerConfig),
        model=_settings("model", facts["model"], ModelConfig),
        seed=_whole("seed", facts["seed"], 0, _MOST),
    )


def _column(place: str, found: Any) -> str:
    if found not in (KNOWLEDGE, ACTIVE):
        _refuse(place, found, f"'{KNOWLEDGE}' or '{ACTIVE}'")
    return str(found)


def _platform(place: str, found: Any, token: int) -> LearnedPlatform:
    given = _object(place, found)
    values = _list(f"{place}.token", given["token"])
    if len(values) != token:
        _refuse(f"{place}.token", values, f"a list of {token} numbers")
    numbers = tuple(_number(f"{place}.token", value, -_LARGEST, _LARGEST) for value in values)
    platform = LearnedPlatform(**{**given, "token": numbers})
    for name in ("records", "vector_bits"):
        _whole(f"{place}.{name}", getattr(platform, name), 0, _MOST)
    for name in ("fingerprint", "name", "data_digest", "target_json"):
        _text(f"{place}.{name}", getattr(platform, name))
    _require_target(f"{place}.target_json", platform.target_json)
    return platform


def _require_target(place: str, text: str) -> None:
    """That candidates can be drawn for it; "" where it was not written down."""
    try:
        target = json.loads(text or '{"kind": "llvm"}')
    except (ValueError, RecursionError):
        target = None
    if not isinstance(target, dict) or target.get("kind") not in _KINDS:
        _refuse(place, text, "a target of kind 'llvm' or 'cuda' as JSON")


def _settings(place: str, found: Any, kind: type[T]) -> T:
    """A config from its fields; those that the file lacks take their defaults."""
    types = typing.get_type_hints(kind)
    given = _object(place, found)
    return kind(**{name: _setting(f"{place}.{name}", name, value, types.get(name)) for name, value in given.items()})


def _setting(place: str, name: str, found: Any, wanted: Any) -> Any:
    if wanted is OfflineConfig:
        return _settings(place, found, OfflineConfig)
    if wanted is bool:
        return found if isinstance(found, bool) else _refuse(place, found, "true or false")
    if wanted is int:
        low, high = _RANGES.get(name, (1, _MOST))
        return _whole(place, found, int(low), int(high))
    if wanted is float:
        return _number(place, found, *_RANGES.get(name, (0.0, _LARGEST)))
    return found  # the config does not know its name, and says so


def _whole(place: str, found: Any, low: int, high: int) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not low <= found <= high:
        _refuse(place, found, f"a whole number from {low} to {high}")
    return found


def _number(place: str, found: Any, low: float, high: float) -> float:
    # NaN lies between nothing; a long whole number may be none that a float can hold.
    if not isinstance(found, int | float) or isinstance(found, bool) or not low <= found <= high:
        _refuse(place, found, f"a number from {low:g} to {high:g}")
    return float(found)


def _text(place: str, found: Any) -> str:
    return found if isinstance(found, str) else _refuse(place, found, "a text")


def _list(place: str, found: Any) -> list[Any]:
    return found if isinstance(found, list) else _refuse(place, found, "a list")


def _object(place: str, found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else _refuse(place, found, "an object")


def _refuse(place: str, found: Any, wanted: str) -> NoReturn:
    raise WrongFact(f"{place} is {reprlib.repr(found)}, and not {wanted}")
