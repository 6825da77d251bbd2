"""What every process that another one of ours began has in common."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading


def obey_parent() -> None:
    """Leave Ctrl+C to the parent, and end with it even when it is killed: a pipe to it would not always tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="obey-parent", daemon=True).start()
