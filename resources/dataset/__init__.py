"""The dataset that ships, as Parquet files, with its data card; made by `packaging/make_dataset.py`."""
