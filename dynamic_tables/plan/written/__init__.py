"""Plans written as SQL, for Spark and for DuckDB."""
