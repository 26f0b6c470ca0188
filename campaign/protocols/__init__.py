"""Protocols of transactions under search: models against what they should do, and recorded real databases."""
