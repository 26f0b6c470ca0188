"""The definitions of the literature: names of phenomena and levels, and which level forbids what."""
