"""PostgreSQL with pg_ivm as PGlite: its npm packages in a cache of ours, and its server as a process."""
