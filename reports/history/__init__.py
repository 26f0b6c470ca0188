"""Verdicts on transaction histories, for people and for build servers."""
