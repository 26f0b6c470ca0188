"""Definitions that somebody else wrote: SQL scripts, read into tables, promises, texts, values and goals."""
