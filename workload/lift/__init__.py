"""Lifting: many databases ("worlds") run through one definition, as one ordinary scenario.

Every base table gets a column that says which world a row belongs to; queries and statements are rewritten so
that no world reads or changes rows of another. The result is an ordinary scenario with ordinary SQL, and a
judgement of it is a judgement of all its worlds. Worlds that cannot be lifted must run one by one.
"""

from workload.lift.intervals import Interval, interval_worlds, intervals
from workload.lift.queries import WORLD, WORLDS, lifted_query
from workload.lift.scenarios import Unliftable, lift, rows_of_world

__all__ = [
    "WORLD",
    "WORLDS",
    "Interval",
    "Unliftable",
    "interval_worlds",
    "intervals",
    "lift",
    "lifted_query",
    "rows_of_world",
]
