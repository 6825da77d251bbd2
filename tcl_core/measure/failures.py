"""From an exception in a worker, or the death of one, to a `Failure` with stage and cause."""

from __future__ import annotations

import signal
import traceback

from tcl_core.device_sessions import DeviceCrash
from tcl_core.domain import Failure, Stage

OUT_OF_MEMORY = "out of memory"
TIMEOUT = "timeout"

_MEMORY_PHRASES = ("bad_alloc", "bad allocation", "out of memory", "out_of_memory", "cannot allocate memory")


def from_exception(stage: Stage, error: BaseException) -> Failure:
    """Cause: the exception's type, or what it stands for; message: the whole traceback, TVM's C++ part included."""
    message = "".join(traceback.format_exception(error))
    return Failure(stage=stage, cause=_cause(error), message=message)


def _cause(error: BaseException) -> str:
    if is_of_memory(error):
        return OUT_OF_MEMORY
    if isinstance(error, TimeoutError):
        return TIMEOUT
    return "crash" if isinstance(error, DeviceCrash) else type(error).__name__


def is_of_memory(error: BaseException) -> bool:
    """Whether memory is what was missing: of the process, of the machine or of a device."""
    return isinstance(error, MemoryError) or _speaks_of_memory(str(error))


def from_timeout(stage: Stage, limit_s: float, log: str) -> Failure:
    """The worker was killed because a job did not end in time."""
    return Failure(stage=stage, cause=TIMEOUT, message=_with_log(f"No answer within {limit_s:g} s.", log))


def from_death(stage: Stage, exit_code: int | None, log: str) -> Failure:
    """The worker died of itself.

    Args:
        exit_code: negative for a signal, None when nobody was left to ask for it.
        log: what the worker wrote to its standard error during the job.
    """
    if exit_code is None:
        return Failure(stage=stage, cause="killed", message=_with_log("The worker vanished.", log))
    if exit_code >= 0:
        sentence = f"The worker ended with status {exit_code}."
        return Failure(stage=stage, cause=f"crash (exit status {exit_code})", message=_with_log(sentence, log))
    name = _signal_name(-exit_code)
    if -exit_code == signal.SIGKILL:
        cause = "out of memory or killed"
    elif _speaks_of_memory(log):
        cause = OUT_OF_MEMORY
    else:
        cause = f"crash ({name})"
    return Failure(stage=stage, cause=cause, message=_with_log(f"The worker died of {name}.", log))


def _speaks_of_memory(text: str) -> bool:
    lowered = text.lower()
    return any(phrase in lowered for phrase in _MEMORY_PHRASES)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no name
        return f"signal {number}"


def _with_log(sentence: str, log: str) -> str:
    return f"{sentence}\n{log}" if log else sentence
