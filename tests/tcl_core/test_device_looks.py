"""A look at a device: what it is where it is free, what is wrong where it is not."""

from __future__ import annotations

import pytest

from tcl_core.device_looks import look_at
from tcl_core.devices import DeviceState
from tcl_core.errors import UserError


def test_what_is_no_address_is_a_look_s_sentence() -> None:
    look = look_at("not one")
    assert (look.address, look.state) == ("not one", DeviceState.UNFIT)
    assert "is no address" in look.sentence


def test_nobody_is_absent() -> None:
    assert look_at("127.0.0.1:1").state is DeviceState.ABSENT


@pytest.mark.slow
def test_a_free_device_is_known(device: str) -> None:
    look = look_at(device)
    assert (look.state, look.sentence) == (DeviceState.FREE, "")
    assert look.answer_s is not None
    assert look.cores >= 1
    assert look.memory_bytes > 0
    assert dict(look.versions).keys() == {"tcl-studio", "apache-tvm"}


@pytest.mark.slow
def test_one_that_cannot_be_tuned_for_says_why(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_address: object) -> None:
        raise UserError("device", "it has another TVM")

    monkeypatch.setattr("tcl_core.device_looks.machine_of", refuse)
    look = look_at(device)
    assert (look.state, look.sentence) == (DeviceState.UNFIT, "it has another TVM")
