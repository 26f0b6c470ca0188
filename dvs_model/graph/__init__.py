"""The direct serialization graph (DSG): which transaction depends on which, and why."""
