"""Transactions over several tables: their owners, and how one that failed is undone."""
