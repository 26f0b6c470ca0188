"""`dvs verify`: the engine's rules in all small worlds, its protocols under all interleavings up to a bound.

`unbounded` proves rules for every number of rows. `coherence` and `evolution` are random runs.
"""
