"""Fenced snapshot isolation on Delta (document 004): a change is pinned to the version that was read."""
