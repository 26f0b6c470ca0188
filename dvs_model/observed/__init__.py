"""Histories as clients saw them: who wrote what is read off the values; version orders are recovered."""
