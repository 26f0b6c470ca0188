"""`dvs compare`: two configurations on the same scenarios, with every value of a row hashed."""
