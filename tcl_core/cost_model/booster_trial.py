"""Boosted trees of a file are first tried in a process of their own: xgboost trusts what it reads.

One changed byte makes it read past an array, with a segmentation fault or an abort that no caller can catch, or loop
for ever. Of 385 files with one changed byte 127 were refused by xgboost, 56 ended the process or hung when they were
loaded, and 3 of the rest when they were asked.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import sys

import numpy as np

from tcl_core.child_processes import obey_parent

_TIMEOUT_S = 60.0
_MEMORY_BYTES = 4 << 30
"""A wrong length may ask for any amount; MetaSchedule's trees take a few megabytes."""
_ASKED_FOR = re.compile(r"\[f(\d+)")
_ENDLESS = re.compile(r"leaf=[+-]?(nan|inf)")


def can_be_trusted(raw: bytes, features: int) -> bool:
    """Whether xgboost reads the trees, and they ask for nothing but the columns of a row of so many features.

    Takes a second, most of it to start Python and xgboost.
    """
    process = multiprocessing.get_context("spawn").Process(target=_try, args=(raw, features), name="tcl-booster")
    process.start()
    try:
        process.join(_TIMEOUT_S)
        return process.exitcode == 0
    finally:
        if process.is_alive():
            process.kill()
        process.join()


def _try(raw: bytes, features: int) -> None:
    """Ends with 0 where the trees can be trusted."""
    obey_parent()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # last words of C++, which tell a person nothing
        os.dup2(nowhere, stream)
    if sys.platform == "linux":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        most = _MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(_MEMORY_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    os._exit(0 if is_sound(raw, features) else 1)


def is_sound(raw: bytes, features: int) -> bool:
    """As `can_be_trusted`, in this process, which the trees may end."""
    import xgboost

    booster = xgboost.Booster({"nthread": 1})
    try:
        booster.load_model(bytearray(raw))
        trees = "".join(booster.get_dump())  # goes through every node
        booster.inplace_predict(np.zeros((1, features), np.float32))
    except (xgboost.core.XGBoostError, ValueError):
        return False
    columns = [int(column) for column in _ASKED_FOR.findall(trees)]
    named = booster.feature_names is not None  # the dump would say names
    return not named and all(column < features for column in columns) and not _ENDLESS.search(trees)
