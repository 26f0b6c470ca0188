"""The text itself: parsing, what only Spark reads, parts that mean nothing."""
