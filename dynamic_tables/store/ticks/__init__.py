"""Data timestamps: which version of a table is the one of a time."""
