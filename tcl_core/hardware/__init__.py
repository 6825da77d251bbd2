"""The machine and its targets: what it has, what a ``--target`` text means, and what is wrong with it.

A stage beside the pipeline: the tuner asks `target` for a `domain.Platform`, the command line asks `doctor` for facts.
Import the modules themselves; this package loads nothing, so that `display` works before any package is installed.
"""
