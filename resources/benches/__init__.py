"""Results of benches that later runs are held to, one file each; made by `main.py bench NAME --keep`."""
