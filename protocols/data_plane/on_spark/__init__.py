"""The same views on Spark: DataFrames of intents, and a store in Delta tables that grows batch by batch."""
