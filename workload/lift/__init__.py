"""Lifting: many databases ("worlds") run through one definition, as one ordinary scenario.

Every base table gets a column that says which world a row belongs to; queries and statements are rewritten so
that worlds never meet. The result is IR like any other: an engine sees ordinary SQL, and a judgement of the
lifted scenario is a judgement of all its worlds. What cannot be lifted is told, and is to be run one by one.
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
