"""Frozen dataclasses to JSON text and back, exactly, led by the types of their fields.

The store keeps configs, tensor specs and domains as JSON: readable in any SQLite browser, and reading runs no code from
the file. Supported field types: None, bool, int, float, str, enums, nested dataclasses, `tuple[X, ...]`,
`tuple[X, Y]`, `dict[str, X]`, `Literal` and unions of these.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast

T = TypeVar("T")


class NotOfThisType(ValueError):
    """The JSON does not describe a value of the type asked for; the message names the place."""


def dumps(value: object) -> str:
    """JSON text of a supported value. Infinities and NaN are written as Python's `json` does.

    Raises:
        TypeError: a part of the value has no supported type.
    """
    return json.dumps(_plain(value), separators=(",", ":"))


def loads(expected: type[T], text: str) -> T:
    """The value of type `expected` that `dumps` wrote.

    A field that the text lacks takes its default; a field that `expected` no longer has is dropped, so that a run of
    an older version can still be listed.

    Raises:
        NotOfThisType: not JSON, or not a value of that type.
    """
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise NotOfThisType(f"not JSON: {error}") from error
    return cast(T, _typed(expected, data, expected.__name__ if isinstance(expected, type) else str(expected)))


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return _plain(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_text_key(key): _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"cannot be kept as JSON: {type(value).__name__}")


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"only text can be a key in JSON, not {type(key).__name__}")
    return key


@cache
def _field_types(dataclass_type: type) -> dict[str, Any]:
    return typing.get_type_hints(dataclass_type)


def _typed(expected: Any, data: object, place: str) -> object:
    origin = typing.get_origin(expected)
    if origin is not None:
        if origin not in _GENERIC:
            raise TypeError(f"{place}: cannot read a {expected} from JSON")
        return _GENERIC[origin](typing.get_args(expected), data, place)
    if dataclasses.is_dataclass(expected) and isinstance(expected, type):
        return _typed_dataclass(expected, data, place)
    if isinstance(expected, type) and issubclass(expected, Enum):
        return _typed_enum(expected, data, place)
    return _typed_scalar(expected, data, place)


def _typed_enum(expected: type[Enum], data: object, place: str) -> Enum:
    try:
        return expected(data)
    except ValueError as error:
        raise NotOfThisType(f"{place}: {error}") from error


def _typed_scalar(expected: Any, data: object, place: str) -> object:
    accepted: dict[Any, tuple[type, ...]] = {
        bool: (bool,),
        int: (int,),
        float: (int, float),
        str: (str,),
        type(None): (type(None),),
        None: (type(None),),
    }
    if expected not in accepted:
        raise TypeError(f"{place}: cannot read a {expected} from JSON")
    # A JSON number without a fraction is a legal float; `True` is an int to Python, but not to us.
    if not isinstance(data, accepted[expected]) or (isinstance(data, bool) and expected is not bool):
        raise _mismatch(expected, data, place)
    return data


def _typed_union(members: tuple[Any, ...], data: object, place: str) -> object:
    for member in members:
        try:
            return _typed(member, data, place)
        except NotOfThisType:
            continue
    raise _mismatch(" | ".join(str(member) for member in members), data, place)


def _typed_literal(values: tuple[Any, ...], data: object, place: str) -> object:
    for value in values:
        if type(value) is type(data) and value == data:
            return value
    raise _mismatch(f"one of {values}", data, place)


def _typed_tuple(members: tuple[Any, ...], data: object, place: str) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise _mismatch("a list", data, place)
    if len(members) == 2 and members[1] is Ellipsis:
        return tuple(_typed(members[0], item, f"{place}[{index}]") for index, item in enumerate(data))
    if len(members) != len(data):
        raise NotOfThisType(f"{place}: expected {len(members)} items, found {len(data)}")
    pairs = zip(members, data, strict=True)
    return tuple(_typed(member, item, f"{place}[{index}]") for index, (member, item) in enumerate(pairs))


def _typed_dict(members: tuple[Any, ...], data: object, place: str) -> dict[str, object]:
    if members[0] is not str:
        raise TypeError(f"{place}: only text can be a key in JSON")
    if not isinstance(data, dict):
        raise _mismatch("an object", data, place)
    return {key: _typed(members[1], item, f"{place}.{key}") for key, item in data.items()}


def _typed_dataclass(expected: type, data: object, place: str) -> object:
    if not isinstance(data, dict):
        raise _mismatch(f"the fields of a {expected.__name__}", data, place)
    arguments: dict[str, object] = {}
    for field in dataclasses.fields(expected):
        if field.name in data:
            hint = _field_types(expected)[field.name]
            arguments[field.name] = _typed(hint, data[field.name], f"{place}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise NotOfThisType(f"{place}: lacks {field.name}")
    return expected(**arguments)


def _mismatch(expected: object, data: object, place: str) -> NotOfThisType:
    name = expected.__name__ if isinstance(expected, type) else str(expected)
    return NotOfThisType(f"{place}: expected {name}, found {type(data).__name__}")


_GENERIC: dict[Any, Callable[[tuple[Any, ...], object, str], object]] = {
    Union: _typed_union,
    types.UnionType: _typed_union,
    Literal: _typed_literal,
    tuple: _typed_tuple,
    dict: _typed_dict,
}
