"""Evaluation: how well cost models, samplers and learners do on networks they never saw. Wiring, like `tuner`.

Order of reading: `metrics` (the figures) and `ceiling` (what noise leaves of them), `splits` (which tasks teach, which
test), `groups` with `store_rows` (a dataset as features and labels), `training`, `shares` and `platforms` (a model, a
share of a pool, a sequence of platforms), `context` and `cells` (what a table is given, how an interrupted evaluation
goes on), `tables` (one module each) with `chains` and `speed`, `results` and `evaluate` (all of them, shown and kept).
`from_workspace` turns what was collected into a dataset.
"""
