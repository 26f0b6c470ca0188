"""A busy account for hours of simulated time: its whole plan from a seed, the run, and the judge."""
