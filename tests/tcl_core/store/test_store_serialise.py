from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.config import Budget, RunConfig
from tcl_core.domain import DecisionDomain, Failure, Platform, Stage, Task
from tcl_core.store.serialise import NotOfThisType, dumps, loads


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outer:
    inner: Inner
    pair: tuple[str, float]
    colour: Colour | None
    mode: Literal["fast", "slow"] = "fast"
    table: dict[str, Inner | int] = field(default_factory=dict)


OUTER = Outer(Inner((1, 2)), ("x", 0.1), Colour.RED, "slow", {"a": Inner(), "b": 7})


@given(st.from_type(RunConfig))
def test_a_run_config_comes_back_exactly(config: RunConfig) -> None:
    assert repr(loads(RunConfig, dumps(config))) == repr(config)  # repr: NaN included, 1 is not 1.0


@given(st.one_of(st.from_type(Platform), st.from_type(Task), st.from_type(DecisionDomain), st.from_type(Failure)))
def test_values_of_the_domain_come_back_exactly(value: object) -> None:
    assert repr(loads(type(value), dumps(value))) == repr(value)


def test_every_supported_type_comes_back_with_its_types() -> None:
    assert loads(Outer, dumps(OUTER)) == OUTER
    assert loads(tuple[tuple[str, int], ...], dumps((("a", 1),))) == (("a", 1),)


def test_bytes_that_are_not_unicode_survive() -> None:
    config = RunConfig(network="/models/\udcff.onnx", workspace="w")
    text = dumps(config)
    assert text.isascii()
    assert loads(RunConfig, text) == config


def test_a_missing_field_takes_its_default_and_an_unknown_one_is_dropped() -> None:
    data = json.loads(dumps(RunConfig(network=None, workspace="w", seed=3)))
    del data["target"]
    data["search"]["of_an_older_version"] = 1
    assert loads(RunConfig, json.dumps(data)) == RunConfig(network=None, workspace="w", seed=3)


@pytest.mark.parametrize(
    ("expected", "text", "place"),
    [
        (RunConfig, "{", "not JSON"),
        (RunConfig, "[]", "RunConfig: expected"),
        (RunConfig, '{"network": null}', "lacks workspace"),
        (RunConfig, '{"network": 1, "workspace": "w"}', "RunConfig.network"),
        (RunConfig, '{"network": null, "workspace": "w", "seed": true}', "RunConfig.seed"),
        (Budget, '{"trials": 1.5}', "Budget.trials"),
        (Inner, '{"numbers": [1, "2"]}', "numbers[1]"),
        (Inner, '{"numbers": 1}', "Inner.numbers"),
        (Failure, '{"stage": "lunch", "cause": ""}', "Failure.stage"),
        (Outer, dumps(dataclasses.replace(OUTER, mode="fast")).replace("fast", "other"), "Outer.mode"),
        (Outer, dumps(OUTER).replace('["x",0.1]', '["x"]'), "Outer.pair"),
    ],
)
def test_what_is_not_of_the_type_is_refused_by_place(expected: type, text: str, place: str) -> None:
    with pytest.raises(NotOfThisType) as caught:
        loads(expected, text)
    assert place in str(caught.value)


def test_unsupported_types_are_an_error_of_the_caller() -> None:
    with pytest.raises(TypeError, match="bytes"):
        dumps((b"x",))
    with pytest.raises(TypeError, match="key"):
        dumps({1: 2})
    with pytest.raises(TypeError, match="set"):
        loads(set[int], "[]")
    with pytest.raises(TypeError, match="bytes"):
        loads(bytes, '""')


def test_stages_are_written_as_their_value() -> None:
    assert dumps(Stage.LEARN) == '"learn"'
