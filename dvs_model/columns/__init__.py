"""Histories of clients as arrays: what a million transactions saw, judged without an object for each read."""
