"""Judging: one scenario runs on one engine, and its trace is compared with the truth."""
