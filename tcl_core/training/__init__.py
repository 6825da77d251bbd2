"""Wiring: from a workspace's records to checkpoints. `train` for one platform, `learn` for one more (METHOD, "CKD").

Order of reading: `platform_choice` (which platform a person means), `lesson` (its records as groups, and no others),
`train`, `learn`.
"""
