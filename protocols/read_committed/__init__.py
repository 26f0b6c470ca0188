"""Read committed with statement snapshots and partition locks, as an executable model.

After Snowflake's page on transactions (docs/protocols.md).
"""
