"""Devices and the form as the settings keep them."""

from __future__ import annotations

import pytest

from app.models.run_request import RunRequest
from app.settings import Settings


def test_devices_are_kept_in_their_order(settings: Settings) -> None:
    assert settings.devices == ()
    settings.devices = ("pi.local:9090", "[fe80::1]:9190/epyc")
    settings.sync()
    assert Settings(settings._store).devices == ("pi.local:9090", "[fe80::1]:9190/epyc")


@pytest.mark.parametrize(
    ("kept", "read"),
    [
        ('["a:1", "b:2/k", "a:1"]', ("a:1", "b:2/k")),
        ('["a", 3, null, " a:1", "a:1"]', ("a:1",)),
        ('{"a:1": 1}', ()),
        ("no json", ()),
    ],
)
def test_what_is_no_address_counts_as_never_written(settings: Settings, kept: str, read: tuple[str, ...]) -> None:
    settings._store.setValue("devices", kept)
    assert settings.devices == read


@pytest.mark.parametrize(
    "kept",
    ['{"trials": 5000000000}', '{"seed": 1e99}', '{"minutes": Infinity}', '{"diversity": NaN}', '{"threads": true}'],
)
def test_a_number_that_no_field_holds_counts_as_never_written(settings: Settings, kept: str) -> None:
    settings._store.setValue("request", kept[:-1] + ', "sampler": "topk"}')
    assert settings.request == RunRequest(sampler="topk")
