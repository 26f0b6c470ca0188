"""The words all sides share: types, schemas, queries, DML, scenarios, traces and results. Pure values."""
