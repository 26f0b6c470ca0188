"""Fenced snapshot isolation on Delta, after duckrun: a change is pinned to the version that was read."""
