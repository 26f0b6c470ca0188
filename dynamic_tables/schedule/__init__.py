"""The account's clock, and the data timestamp of an initialization."""
