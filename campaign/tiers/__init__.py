"""Where a scenario can run: each tier turns a scenario into a trace."""
