"""Defining queries as plans: parsed from SQL text, bound, typed, and rendered back to text."""
