"""Queries in Spark's SQL as people write them: one query in many texts, drawn by the number of a style."""

from workload.writing.writer import definition_text, written_query

__all__ = ["definition_text", "written_query"]
