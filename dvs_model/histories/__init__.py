"""Histories as events, and how they are made: drafts, inventories, clauses, clocks."""
