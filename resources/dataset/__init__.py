"""The dataset that ships, as Parquet files, with its data card; made by `packaging/make_dataset.py`.

In folders: records of further processors, measured after the tables were made, for the checkpoints of these.
"""
