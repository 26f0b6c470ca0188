"""The engine in memory: its stores keep every version, and its plans run on DuckDB or on Spark."""
