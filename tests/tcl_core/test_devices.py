"""Where a device is, as a person writes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.devices import DeviceAddress, join_target, parse_address, split_target
from tcl_core.errors import UserError

_HOSTS = st.one_of(st.from_regex(r"[a-z0-9][a-z0-9.-]{0,20}", fullmatch=True), st.just("fe80::1"))
_ADDRESSES = st.builds(
    DeviceAddress,
    host=_HOSTS,
    port=st.integers(1, 65535),
    key=st.one_of(st.just(""), st.from_regex(r"[A-Za-z0-9_.+-]{1,12}", fullmatch=True)),
)
_TARGETS = st.sampled_from(["cpu", "cpu:x86-64-v3", '{"kind": "llvm", "mcpu": "a@b"}'])


@given(_ADDRESSES)
def test_an_address_is_read_as_it_is_written(address: DeviceAddress) -> None:
    assert parse_address(address.text) == address


@given(_TARGETS, _ADDRESSES)
def test_a_target_comes_apart_as_it_was_put_together(target: str, address: DeviceAddress) -> None:
    assert split_target(join_target(target, address.text)) == (target, address)


@given(_TARGETS)
def test_a_target_without_an_address_is_of_this_machine(target: str) -> None:
    assert join_target(target, "") == target
    assert split_target(target) == (target, None)


@pytest.mark.parametrize(
    "text", ["", "pi", "pi:", "pi:0", "pi:65536", "pi:x", ":9090", "pi:9090/", "p i:9090", "a/b:1"]
)
def test_what_is_no_address_is_refused_with_what_one_is(text: str) -> None:
    with pytest.raises(UserError, match="no address of a device: write HOST:PORT"):
        parse_address(text)
    with pytest.raises(UserError, match="no address of a device"):
        split_target(f"cpu@{text}")
