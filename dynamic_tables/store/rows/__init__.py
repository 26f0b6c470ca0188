"""Rows in files: Parquet, deletion vectors, Arrow, and where a row lies."""
