"""Read committed with statement snapshots and partition locks, as an executable model (document 002)."""
