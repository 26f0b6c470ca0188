"""Scenarios over definitions that somebody else wrote: tables, what is promised of them, random data."""
