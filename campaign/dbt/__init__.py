"""`dvs dbt`: whether an incremental run of a dbt project leaves what a full refresh would give.

`search` draws trials (`drawing`), runs them by a `driver` in the user's Python, and shrinks what differs.
"""
