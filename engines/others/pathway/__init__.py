"""Pathway's tables: the adapter, and its translation of queries."""
