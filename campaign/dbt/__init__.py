"""dbt projects: whether an incremental run leaves what a full refresh of the same sources would give."""
