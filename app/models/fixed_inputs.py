"""What a person fixes of a network's inputs, dimensions and numbers, and how the form writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.translation import tr
from tcl_core.domain import Network

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
Values = tuple[tuple[str, tuple[float, ...]], ...]

_SHAPE = re.compile(r"(?:--shape\s+)?(?P<name>[^\s=;]+)\s*=\s*(?P<sizes>\d+(?:\s*[,x]\s*\d+)*)")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?:--value\s+)?(?P<name>[^\s=;]+)\s*=\s*(?P<numbers>{_NUMBER}(?:\s*,\s*{_NUMBER})*)")


@dataclass(frozen=True, kw_only=True)
class FixedInputs:
    """Dimensions and numbers by input name; they belong to one network."""

    shapes: Shapes = ()
    values: Values = ()


NOTHING_FIXED = FixedInputs()


def fixed_of(network: Network) -> FixedInputs:
    """What a network was opened with."""
    return FixedInputs(shapes=network.shapes, values=network.values)


def parse_shapes(text: str) -> Shapes:
    """Shapes as a person writes them: ``x=1,3,224,224; mask=1x128``.

    Raises:
        ValueError: one sentence on the part that is no shape.
    """
    found = []
    for part in _parts(text):
        match = _SHAPE.fullmatch(part)
        if match is None:
            raise ValueError(tr("“{part}” is no shape; write x=1,3,224,224 and “;” between inputs.", part=part))
        found.append((match["name"], tuple(int(size) for size in re.findall(r"\d+", match["sizes"]))))
    return tuple(found)


def parse_values(text: str) -> Values:
    """Values as a person writes them: ``sr=16000; mask=1,0.5``.

    Raises:
        ValueError: one sentence on the part that is no value.
    """
    found = []
    for part in _parts(text):
        match = _VALUE.fullmatch(part)
        if match is None:
            raise ValueError(tr("“{part}” is no value; write rate=16000 and “;” between inputs.", part=part))
        found.append((match["name"], tuple(float(number) for number in match["numbers"].split(","))))
    return tuple(found)


def shapes_text(shapes: Shapes) -> str:
    """What `parse_shapes` reads."""
    return "; ".join(f"{name}={','.join(map(str, sizes))}" for name, sizes in shapes)


def values_text(values: Values) -> str:
    """What `parse_values` reads."""
    return "; ".join(f"{name}={','.join(f'{number:.17g}' for number in numbers)}" for name, numbers in values)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]
