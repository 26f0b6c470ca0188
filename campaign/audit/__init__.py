"""A deployed account checked from outside: its tables against their queries, without Spark and read-only."""
