"""Histories as clients saw them: transactions, reads that no write explains, parts for the detectors."""
