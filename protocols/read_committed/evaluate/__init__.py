"""Statements evaluated by DuckDB, over the rows that the model says they see."""
