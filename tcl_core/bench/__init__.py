"""Benches: ours against the peers in one run, interleaved, with medians and spread. The README quotes nothing else."""
