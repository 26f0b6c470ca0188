"""Dynamic tables on Spark and Delta: definitions, differentiation, refresh and scheduling."""
