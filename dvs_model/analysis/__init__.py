"""The analysis of one history: the search for each phenomenon and the verdict with its evidence."""
