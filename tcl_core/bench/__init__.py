"""Benches: ours against the peers in one run, interleaved, with medians and spread.

`README.md` and `resources/measured.md` quote nothing else.
"""
