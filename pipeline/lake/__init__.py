"""The lake: Parquet files of landed records, and the entries that say which of them count."""
