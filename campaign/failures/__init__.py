"""Failures: shrunk, attributed, grouped by cause, and written to folders that reproduce them."""
