"""What-if: a record with other decisions, replayed, predicted and measured when a person says so.

Order of reading: `commands` (what is asked and answered), `bench` (one task: replay, prediction, rank), `controls`
(decisions named by the blocks and loops they are about), `scores` (candidates as a model reads them), `lender` (model,
records and measurer where no run is on; a run lends its own).
"""
