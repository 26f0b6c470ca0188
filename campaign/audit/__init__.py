"""`dvs audit`: a deployed account, its tables against their queries, without Spark, and read only."""
