"""Transactions in the data plane: intents are rows, and which of them commit is a view (document 003)."""
