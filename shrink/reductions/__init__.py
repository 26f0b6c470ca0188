"""The reductions, which make a scenario smaller: one file for each part of it, all in `shrink.registry`."""
