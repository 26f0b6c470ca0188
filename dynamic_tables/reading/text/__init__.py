"""The text of a query: parsing it, parts that only Spark understands, parts without effect."""
