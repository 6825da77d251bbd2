"""Causes that failures are grouped by."""

from __future__ import annotations

import signal

import pytest

from tcl_core.domain import Stage
from tcl_core.measure import failures


@pytest.mark.parametrize(
    ("exit_code", "log", "cause"),
    [
        (-signal.SIGSEGV, "!!!!!!! Segfault encountered !!!!!!!", "crash (SIGSEGV)"),
        (-signal.SIGFPE, "", "crash (SIGFPE)"),
        (-signal.SIGABRT, "terminate called after throwing an instance of 'std::bad_alloc'", "out of memory"),
        (-signal.SIGABRT, "LLVM ERROR: out of memory", "out of memory"),
        (-signal.SIGABRT, "", "crash (SIGABRT)"),
        (-signal.SIGKILL, "", "out of memory or killed"),
        (-63, "", "crash (signal 63)"),
        (3, "", "crash (exit status 3)"),
        (0, "", "crash (exit status 0)"),
        (None, "", "killed"),
    ],
)
def test_cause_of_death(exit_code: int | None, log: str, cause: str) -> None:
    failure = failures.from_death(Stage.MEASURE, exit_code, log)
    assert (failure.stage, failure.cause) == (Stage.MEASURE, cause)
    assert failure.message.endswith(log or ".")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (MemoryError(), "out of memory"),
        (RuntimeError("std::bad_alloc"), "out of memory"),
        (RuntimeError("CUDA_ERROR_OUT_OF_MEMORY"), "out of memory"),
        (ValueError("wrong"), "ValueError"),
    ],
)
def test_cause_of_an_exception(error: Exception, cause: str) -> None:
    failure = failures.from_exception(Stage.COMPILE, error)
    assert (failure.stage, failure.cause) == (Stage.COMPILE, cause)
    assert str(error) in failure.message


def test_a_timeout_keeps_the_last_words() -> None:
    failure = failures.from_timeout(Stage.COMPILE, 20.0, "pass 17")
    assert failure.cause == "timeout"
    assert "20 s" in failure.message
    assert "pass 17" in failure.message
