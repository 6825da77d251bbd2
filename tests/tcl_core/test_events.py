"""The cancel token: what a hold costs a run, and what is done in it."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE_S

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


def test_a_pause_behind_a_stop_holds_nothing() -> None:
    token = CancelToken()
    token.stop()
    token.pause()
    with pytest.raises(Interrupted):
        token.checkpoint()


def test_a_wake_is_answered_before_the_next_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcl_core.events._HELD_BEAT_S", 3600.0)
    token, held, answered = CancelToken(), threading.Event(), threading.Event()

    def answer() -> None:
        (answered if held.is_set() else held).set()

    token.while_held = answer
    token.pause()
    thread = threading.Thread(target=token.checkpoint)
    thread.start()
    assert held.wait(PATIENCE_S)
    token.wake()
    told = answered.wait(PATIENCE_S)
    token.resume()
    thread.join(PATIENCE_S)
    assert told and not thread.is_alive()


def test_what_is_not_held_is_stopped_all_the_same() -> None:
    token = CancelToken()
    token.pause()
    unheld = token.unheld()
    unheld.checkpoint()
    token.stop()
    with pytest.raises(Interrupted):
        unheld.checkpoint()


def test_what_is_set_aside_costs_the_run_nothing() -> None:
    token = CancelToken()
    with pytest.raises(ValueError, match="odd"), token.set_aside():
        raise ValueError("odd")
    assert token.held_s > 0


def test_what_can_be_left_in_its_midst_is_marked_and_followed_by_a_stop_that_came_meanwhile() -> None:
    token = CancelToken()
    with token.abandonable():
        assert token.may_be_left
    assert not token.may_be_left
    with pytest.raises(Interrupted), token.abandonable():
        token.stop()
    assert not token.may_be_left
    begun = []
    with pytest.raises(Interrupted), token.abandonable():
        begun.append(True)
    assert not begun
