"""Benchmarks: most measure ratios side by side, in one run; no part of the package."""
