"""Seeded scenarios: random schemas, queries, DML, DAGs and schedules, and how much of it a run covered."""
