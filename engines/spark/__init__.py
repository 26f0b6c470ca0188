"""The engine on Spark and on Delta tables, and what other writers do beside it."""
