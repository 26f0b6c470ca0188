"""The floors of the branches of rules: how often, per 1,000 scenarios, a run must maintain tables by each.

The names are those of the built-in engine (`dynamic_tables.plan.branches`), which generators do not import; a
test compares them. A coverage of operators cannot tell a window function over tails from one over whole
partitions. Each number is an eighth of what scenarios of the profile `smoke` reach, so that a run misses none
by chance.
"""

from __future__ import annotations

from collections.abc import Mapping

BRANCH_FLOORS: Mapping[str, float] = {
    "NOT IN of one column": 1.5,
    "NOT IN of several columns": 2,
    "NOT IN tied to the row outside": 1,
    "IN of several columns": 0.8,
    "mark that is never NULL": 0.8,
    "mark that may be NULL": 2,
    "query tied by equalities": 10,
    "query tied by other conditions": 0.4,
    "membership in groups tied to the row": 3,
    "LATERAL with groups or first rows": 5,
    "LATERAL with rows": 8,
    "LATERAL with aggregates": 0.8,
    "first rows of each row outside": 2,
    "first rows of each row outside, after an OFFSET": 3,
    "aggregate of all rows as a value": 4,
    "aggregate of a group as a value": 0.8,
    "aggregate with HAVING as a value": 1.5,
    "value of one row per key": 2,
    "value joined with the groups of a block": 0.6,
    "mark added to the groups of a block": 0.4,
    "condition moved below a join": 30,
    "condition moved below a grouping": 2,
    "condition moved below a window": 1,
    "condition moved below a union": 6,
    "condition moved below a DISTINCT": 2,
    "condition moved below an explode": 4,
    "window over whole partitions": 4,
    "window beside the stored rows": 1,
    "first rows of partitions from the stored ones": 2,
    "window over all rows as one partition": 10,
    "window over tails": 10,
    "window over the tail of all rows": 3,
    "window over descending tails": 7,
    "running COUNT continued": 3,
    "running SUM continued": 1.5,
    "running SUM of DECIMAL continued": 0.8,
    "running MIN or MAX continued": 6,
    "ROW_NUMBER or RANK continued": 9,
    "LIMIT from the stored rows": 8,
    "LIMIT with OFFSET from the stored rows": 1.5,
    "LIMIT below the top": 3,
    "LIMIT with OFFSET below the top": 3,
    "LIMIT with an order that may leave rows equal": 10,
    "DISTINCT computed from affected values": 20,
    "groups computed from affected groups": 60,
    "group of all rows computed anew": 15,
    "groups beside the stored rows": 60,
    "groups kept from contents": 30,
    "group of all rows kept from contents": 4,
    "DISTINCT kept from contents": 16,
    "groups kept from contents below computed outputs": 1,
    "COUNT of a column kept": 5,
    "SUM of integers kept": 9,
    "SUM of DECIMAL kept": 0.6,
    "AVG kept": 6,
    "MIN or MAX kept": 18,
    "groups that lost their extreme computed anew": 4,
    "group of all rows that lost its extreme computed anew": 0.8,
    "terms of an unchanged source left out": 60,
    "query evaluated anew where its changes fail": 0.6,
}
