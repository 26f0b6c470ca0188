"""Histories as events, and the steps that lead to them: drafts, inventories, clauses, clocks."""
