"""What the store needs of Spark: its session, settings, errors and attached tables."""
