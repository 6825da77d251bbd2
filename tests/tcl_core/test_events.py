"""The cancel token: what a hold costs a run, and what is done in it."""

from __future__ import annotations

import threading

import pytest

from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken


def test_a_held_run_does_what_it_is_given_until_it_goes_on() -> None:
    token, called = CancelToken(), threading.Event()

    def errand() -> None:
        called.set()
        token.resume()

    token.while_held = errand
    token.pause()
    token.checkpoint()
    assert called.is_set() and token.held_s > 0


def test_a_stop_ends_a_hold() -> None:
    token = CancelToken()
    token.while_held = token.stop
    token.pause()
    with pytest.raises(Interrupted):
        token.checkpoint()


def test_what_is_set_aside_costs_the_run_nothing() -> None:
    token = CancelToken()
    with pytest.raises(ValueError, match="odd"), token.set_aside():
        raise ValueError("odd")
    assert token.held_s > 0
