"""The scripts of the read committed model on a real PostgreSQL, recorded as histories."""
