"""The rules name the branches that they take, and each branch has a floor or a reason for none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.runs.floors import BRANCHES_WITHOUT_FLOOR, unreachable
from dynamic_tables.differentiate.registry import RULES, change_plan, net_plan, stored_groups
from dynamic_tables.plan.branches import Branch
from generators.profiles import NIGHTLY, QUICK, SMOKE
from generators.queries.branches import BRANCH_FLOORS
from tests.unit.dynamic_tables.reading import read


def taken(query: str) -> set[Branch]:
    """The branches by which the changes of a query are planned."""
    found: set[Branch] = set()
    bound, rules = read(query), replace(RULES, met=found.add)
    known = stored_groups(bound, rules)
    if known is None:
        change_plan(bound, rules)
    else:
        net_plan(known, rules)
    return found


def test_each_branch_has_a_floor_or_a_reason() -> None:
    assert {*BRANCH_FLOORS}.isdisjoint(BRANCHES_WITHOUT_FLOOR)
    assert {*BRANCH_FLOORS, *BRANCHES_WITHOUT_FLOOR} == {branch.value for branch in Branch}
    for profile in (QUICK, SMOKE, NIGHTLY):
        assert {f"branch: {name}" for name in BRANCH_FLOORS} <= profile.floors.keys()


def test_a_floor_of_an_unknown_branch_is_refused() -> None:
    assert "there is no branch 'window'" in unreachable(SMOKE, "branch: window", 1)
    assert not unreachable(SMOKE, "branch: window over tails", 1)


RUNNING = "SELECT a, {} OVER (PARTITION BY b ORDER BY a {}) AS v FROM r"
TAIL, EXTREME = Branch.WINDOW_TAIL, Branch.RUNNING_EXTREME


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (RUNNING.format("MIN(a)", ""), {TAIL, EXTREME}),
        (RUNNING.format("MAX(a)", "DESC"), {TAIL, EXTREME, Branch.WINDOW_TAIL_DESCENDING}),
        (RUNNING.format("SUM(m)", ""), {TAIL, Branch.RUNNING_DECIMAL}),
        (RUNNING.format("b, MIN(a)", ""), {TAIL, EXTREME, Branch.TAIL_STORED}),
        (RUNNING.format("AVG(a)", ""), {Branch.WINDOW_WHOLE}),
        (RUNNING.format("b, AVG(a)", ""), {Branch.WINDOW_STORED}),
        (
            "SELECT a, b FROM r QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY a) = 1",
            {Branch.WINDOW_FIRST},
        ),
        (
            "SELECT a, b FROM r QUALIFY ROW_NUMBER() OVER (PARTITION BY b ORDER BY a) <= 2",
            {Branch.WINDOW_STORED},
        ),
        ("SELECT a FROM r QUALIFY RANK() OVER (PARTITION BY b ORDER BY a) = 1", {TAIL, Branch.RUNNING_PLACE}),
        (
            "SELECT a, RANK() OVER (ORDER BY a) AS v FROM r",
            {Branch.WINDOW_TAIL_OF_ALL, Branch.RUNNING_PLACE, Branch.TAIL_STORED},
        ),
        (
            "SELECT a + 1 AS c, RANK() OVER (ORDER BY a) AS v FROM r",
            {Branch.WINDOW_TAIL_OF_ALL, Branch.RUNNING_PLACE},
        ),
        ("SELECT a FROM r ORDER BY a LIMIT 2", {Branch.LIMIT_ON_TOP}),
        (
            "SELECT a, b FROM r ORDER BY a LIMIT 2 OFFSET 1",
            {Branch.LIMIT_ON_TOP_OFFSET, Branch.LIMIT_OF_TIES},
        ),
        (
            "SELECT l.a FROM (SELECT a FROM r ORDER BY a LIMIT 2 OFFSET 1) l JOIN s ON l.a = s.a",
            {Branch.LIMIT_BELOW_OFFSET},
        ),
        ("SELECT a FROM r WHERE (a, b) NOT IN (SELECT a, c FROM s)", {Branch.NOT_IN_SEVERAL}),
        (
            "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a GROUP BY s.c HAVING COUNT(*) > 1)",
            {Branch.MEMBER_OF_GROUPS, Branch.TIED_BY_KEYS, Branch.GROUPING_BELOW},
        ),
        (
            "SELECT r.a FROM r, LATERAL (SELECT c FROM s WHERE s.a = r.a ORDER BY c LIMIT 1 OFFSET 1) l",
            {
                *(Branch.LATERAL_OF_EACH, Branch.TIED_BY_KEYS, Branch.OFFSET_OF_EACH),
                *(TAIL, Branch.RUNNING_PLACE),
            },
        ),
        (
            "SELECT b, SUM(a) AS x, MAX(a) AS y FROM r GROUP BY b",
            {Branch.CONTENTS_GROUPED, Branch.KEPT_SUM, Branch.KEPT_EXTREME},
        ),
        ("SELECT b, COUNT(DISTINCT a) AS n FROM r GROUP BY b", {Branch.GROUPS_STORED}),
        ("SELECT COUNT(DISTINCT a) AS n FROM r", {Branch.GROUPS_STORED}),
        ("SELECT UPPER(b) AS c, COUNT(DISTINCT a) AS n FROM r GROUP BY b", {Branch.GROUPING_BELOW}),
        ("SELECT b, SUM(a) AS x FROM r GROUP BY b HAVING COUNT(*) > 1", {Branch.GROUPS_STORED}),
        (
            "SELECT COUNT(*) AS n FROM (SELECT DISTINCT a FROM r) d",
            {Branch.CONTENTS_OF_ALL, Branch.DISTINCT_BELOW},
        ),
        (
            "SELECT a FROM (SELECT r.a, s.c FROM r JOIN s ON r.a = s.a) j WHERE a > 1",
            {Branch.PUSHED_BELOW_JOIN},
        ),
    ],
)
def test_rules_name_the_branches_that_they_take(query: str, expected: set[Branch]) -> None:
    assert taken(query) == expected
