"""An executable model of read committed with statement snapshots and partition locks.

It follows Snowflake's page on transactions (docs/protocols.md). Read `script`, `state`, then `machine`; `run`
explores orders, `laws` checks steps, `recording` makes histories.
"""
