"""What the texts of options stand for; argparse says of one that does not fit why."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import TypeVar

from tcl_core.command_line.paths import is_utf8, readable
from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError

_MOST_NUMBER = 2**31 - 1
"""Of a seed the window's, too; and what is counted is reckoned with as floats, which hold no number of any length."""
_MOST_DIGITS = 100
"""Python reads some thousands at most."""
_MOST_SEEDS, _MOST_JOBS = 1_000, 256
"""Each seed trains every model of every table anew; each process holds the dataset."""

_MOST_SIZE = 2**31 - 1
"""TVM counts elements in 32 bits."""

Shape = tuple[str, tuple[int, ...]]
Numbers = tuple[str, tuple[float, ...]]
_Fixed = TypeVar("_Fixed", Shape, Numbers)


def named(text: str) -> str:
    """A name or a path: an empty one would stand for the current folder, or for what nobody asked for."""
    if not text:
        raise argparse.ArgumentTypeError("an empty text names nothing; give a name or a path")
    if not is_utf8(text):
        raise argparse.ArgumentTypeError(f"{readable(text)} is a name that is not UTF-8; rename what it names")
    return text


def shape(text: str) -> Shape:
    """``name=1,3,224,224`` as a name and its dimensions."""
    name, equals, dimensions = text.rpartition("=")
    parts = dimensions.split(",")
    parsed = tuple(map(int, parts)) if all(map(_is_whole, parts)) else ()
    if not equals or not name or not parsed or min(parsed) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=1,3,224,224 with positive dimensions")
    if max(parsed) > _MOST_SIZE:
        raise argparse.ArgumentTypeError(f"{text!r} has a dimension of more than {_MOST_SIZE:,}; give a smaller one")
    return name, parsed


def value(text: str) -> Numbers:
    """``name=16000`` or ``name=1,0.5`` as a name and its numbers."""
    name, equals, numbers = text.rpartition("=")
    parsed = tuple(_number(part) for part in numbers.split(","))
    if not equals or not name or not all(math.isfinite(number) for number in parsed):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=16000 or name=1,0.5 with numbers")
    return name, parsed


def network_config(arguments: argparse.Namespace) -> NetworkConfig:
    """What `--shape` and `--value` fix, and where the network begins and ends.

    Raises:
        UserError: they fix an input to two things: the second would be held against the first as if the file said it.
    """
    return NetworkConfig(
        shapes=_one_each("shape", arguments.shape),
        values=_one_each("value", arguments.value),
        begin_at=tuple(dict.fromkeys(arguments.begin_at)),
        end_at=tuple(dict.fromkeys(arguments.end_at)),
    )


def _one_each(option: str, given: Iterable[_Fixed]) -> tuple[_Fixed, ...]:
    """What is fixed twice to the same is fixed once."""
    fixed = tuple(dict.fromkeys(given))
    names = [name for name, _ in fixed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError("network", f"--{option} is given twice for '{twice}', and not the same; give it once.")
    return fixed


def positive(text: str) -> int:
    """A whole number from 1 to `_MOST_NUMBER`."""
    return _whole(text, 1, _MOST_NUMBER)


def seed(text: str) -> int:
    """A whole number from 0 to `_MOST_NUMBER`."""
    return _whole(text, 0, _MOST_NUMBER)


def seeds(text: str) -> int:
    """A whole number from 1 to `_MOST_SEEDS`."""
    return _whole(text, 1, _MOST_SEEDS)


def jobs(text: str) -> int:
    """A whole number from 1 to `_MOST_JOBS`."""
    return _whole(text, 1, _MOST_JOBS)


def _whole(text: str, least: int, most: int) -> int:
    if not _is_whole(text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most:,}")
    return int(text)


def _is_whole(text: str) -> bool:
    """Of plain digits alone: `int` also reads 4_0, blanks and the digits of other scripts."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def minutes(text: str) -> float:
    """A positive number of minutes."""
    value = _number(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of minutes")
    return value


def task_trials(text: str) -> tuple[str, int]:
    """``TASK=N`` as a task's name or key and its trials."""
    name, equals, count = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form TASK=N with a whole number")
    return name, positive(count)


def share(text: str) -> float:
    """A share above 0 and up to 1."""
    value = _number(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share above 0 and up to 1, such as 0.1")
    return value


def share_or_none(text: str) -> float:
    """A share from 0 to 1."""
    value = _number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1, such as 0.02")
    return value


def tolerance(text: str) -> float:
    """A tolerance: 0 or more."""
    value = _number(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a tolerance, such as 1e-3")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
