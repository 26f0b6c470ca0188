"""Comparison of two configurations on the same scenarios, with every value hashed."""
