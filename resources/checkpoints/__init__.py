"""Checkpoints that ship with the studio; see README.md in this folder."""
