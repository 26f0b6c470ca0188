"""Detectors: one per phenomenon of Adya's thesis, each from its own definition."""
