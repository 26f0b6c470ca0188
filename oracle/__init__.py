"""The truth: delayed views on DuckDB, bag comparison, and an independent reader of Delta tables."""
