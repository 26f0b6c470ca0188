"""Expressions and their types: columns in scope, aggregates, windows, literals."""
