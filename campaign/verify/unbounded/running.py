"""`dvs verify rules --unbounded`: which definitions are proved, over which values, and by which processes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from itertools import permutations

from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Worker, pool_for
from campaign.verify.counterexample import block
from campaign.verify.definitions import COLUMNS, QUICK_PAIRS, Definition, over_time, pairs, singles, tables_of
from campaign.verify.engine import capture
from campaign.verify.running import rules_with
from campaign.verify.shapes import SHAPES, Rows
from campaign.verify.unbounded.contents import FROM_CONTENTS
from campaign.verify.unbounded.prove import Outcome, Proof, Refutation, prove
from campaign.verify.unbounded.solve import EFFORT, load
from campaign.verify.unbounded.tables import Domain
from campaign.verify.universe import Universe
from campaign.verify.verify import Failure, verify
from dynamic_tables.differentiate.registry import Rules
from generators.small_worlds import Bound, TableHistory
from workload.operators import Operator
from workload.outcomes.decision import Decision
from workload.query import Named, Verbatim
from workload.schema import Promises, Table
from workload.sql import Dialect, render_query
from workload.types import BIGINT, BOOLEAN, INT, SqlType, Value

# Values of a column. docs/proofs.md says for each operator why so few are enough.
NARROW: tuple[Value, ...] = (None, 0, 1)
WIDE: tuple[Value, ...] = (*NARROW, 2)
KEYS: tuple[Value, ...] = (None, 0)

PAIR_DOMAIN: Domain = {"k": (None, 1), "v": (None, 1)}
"""The values of a pair of nested operators; 1 passes the filter, NULL does not."""

SMALLER_DOMAINS: tuple[Domain, ...] = ({"k": (1,), "v": (None, 1)}, {"k": (None, 1), "v": (1,)})
"""The values of a pair on which z3 gives up over `PAIR_DOMAIN`; values that show more come first."""

ORDERED = frozenset({Operator.GROUPED_AGGREGATION, Operator.LIMIT})
"""Operators that compare three values: the one that is stored, the one that comes, and the next best."""

EFFORT_OF_PAIRS = EFFORT // 5
"""As `EFFORT`, for one formula of a pair."""

DAY_OF_K, DAY_OF_V, DAY_OF_S = (f"date_add(DATE '1970-01-01', {name})" for name in ("r.k", "r.v", "s.k"))

TEXTS: Mapping[str, tuple[str, tuple[tuple[str, SqlType], ...]]] = {
    "mark join": (
        "SELECT r.k AS k, (EXISTS (SELECT 1 FROM s WHERE s.k = r.k) OR r.k IS NULL) AS m FROM r",
        (("k", INT), ("m", BOOLEAN)),
    ),
    "mark join, NOT IN under OR": (
        "SELECT r.k AS k FROM r WHERE r.k NOT IN (SELECT s.k FROM s) OR r.k = 1",
        (("k", INT),),
    ),
    "constant row": ("SELECT r.k AS k FROM r UNION ALL SELECT 7 AS k", (("k", INT),)),
    "self join": ("SELECT a.k AS k, b.v AS v FROM r AS a JOIN r AS b ON a.k = b.k", (("k", INT), ("v", INT))),
    "groups over an outer join": (
        "SELECT s.k AS k, count(*) AS n FROM r LEFT JOIN s ON r.k = s.k GROUP BY s.k",
        (("k", INT), ("n", BIGINT)),
    ),
    "sums over an outer join": (
        "SELECT r.k AS k, sum(s.k) AS v, count(s.k) AS n FROM r LEFT JOIN s ON r.k = s.k GROUP BY r.k",
        (("k", INT), ("v", BIGINT), ("n", BIGINT)),
    ),
    "a count of counts": (
        "SELECT q.n AS k, count(*) AS c FROM (SELECT r.k AS k, count(*) AS n FROM r GROUP BY r.k) AS q "
        "GROUP BY q.n",
        (("k", BIGINT), ("c", BIGINT)),
    ),
    "a filter of groups": (
        "SELECT r.k AS k, count(*) AS n FROM r GROUP BY r.k HAVING count(*) > 1",
        (("k", INT), ("n", BIGINT)),
    ),
    "a join on two columns": (
        "SELECT a.k AS k, b.v AS v FROM r AS a JOIN r AS b ON a.k = b.k AND a.v < b.v",
        (("k", INT), ("v", INT)),
    ),
    "NOT IN of two columns": (
        "SELECT a.k AS k FROM r AS a WHERE (a.k, a.v) NOT IN (SELECT b.v, b.k FROM r AS b)",
        (("k", INT),),
    ),
    "a value and a count": (
        "SELECT r.k AS k, (SELECT count(*) FROM s WHERE s.k = r.k) AS n FROM r",
        (("k", INT), ("n", BIGINT)),
    ),
    "current time, of the last day and a half": (
        f"SELECT r.k AS k, r.v AS v FROM r WHERE CAST({DAY_OF_V} AS TIMESTAMP) > now() - INTERVAL 36 HOURS",
        (("k", INT), ("v", INT)),
    ),
    "current time, BETWEEN": (
        f"SELECT r.k AS k, r.v AS v FROM r WHERE current_date() BETWEEN {DAY_OF_K} AND {DAY_OF_V}",
        (("k", INT), ("v", INT)),
    ),
    "current time, NOT and OR": (
        f"SELECT r.k AS k FROM r WHERE NOT ({DAY_OF_V} <= current_date() OR r.k = 1)",
        (("k", INT),),
    ),
    "current time, IS DISTINCT FROM": (
        f"SELECT r.k AS k FROM r WHERE {DAY_OF_V} IS DISTINCT FROM current_date()",
        (("k", INT),),
    ),
    "current time, IN": (
        f"SELECT r.k AS k FROM r WHERE {DAY_OF_V} IN (current_date(), DATE '1970-01-02')",
        (("k", INT),),
    ),
    "current time, HAVING": (
        f"SELECT r.k AS k, count(*) AS n FROM r GROUP BY r.k HAVING {DAY_OF_K} < current_date()",
        (("k", INT), ("n", BIGINT)),
    ),
    "current time, ON of a left join": (
        f"SELECT r.k AS k, s.k AS v FROM r LEFT JOIN s ON r.k = s.k AND {DAY_OF_S} < current_date()",
        (("k", INT), ("v", INT)),
    ),
}
"""Forms that no shape has, as Spark's SQL over the tables r and s, with their columns."""

ADDED = re.compile(r"date_add\((DATE '1970-01-01'), ([a-z.]+)\)")
"""A day that is a number of days after another one, as Spark writes it."""


def written() -> Iterator[Definition]:
    """Yields the definitions of `TEXTS`."""
    for detail, (text, columns) in TEXTS.items():
        widths = (1, 1) if "s.k" in text else (2,)
        tables = tables_of(widths)
        sources = tuple(Named(table.name, table.name) for table in tables)
        yield Definition(
            outer=Operator.TEXT,
            inner=None,
            detail=detail,
            query=Verbatim(text, ADDED.sub(r"(\1 + \2)", text), sources, columns),
            tables=tables,
            bound=Bound(),
        )


def keyed() -> Iterator[Definition]:
    """Yields a projection of a table with a primary key: of one column of two, and of both."""
    (shape,) = SHAPES[Operator.PROJECTION]
    for key in (("k",), ("k", "v")):
        table = Table("r", COLUMNS, Promises(declared=key))
        yield Definition(
            outer=Operator.PROJECTION,
            inner=None,
            detail=f"primary key {', '.join(table.primary_key)}",
            query=shape.build([Rows(table.name, table.columns)]),
            tables=(table,),
            bound=Bound(),
        )


def provable(*, quick: bool) -> Iterator[Definition]:
    """Yields every form of every operator, and every operator over every other one.

    `quick`: operators alone, over tables of one column where there are two.
    """
    for definition in singles():
        widths = {len(table.columns) for table in definition.tables}
        two = len(definition.tables) == 2
        if two and (widths == {2} or (quick and widths != {1})):
            continue
        yield definition
    yield from written()
    yield from keyed()
    timed = over_time(QUICK_PAIRS)
    yield next(timed)
    if not quick:
        yield from timed
        yield from pairs(QUICK_PAIRS)


def domain_of(definition: Definition, *, quick: bool) -> Domain:
    """Returns the values over which a definition is proved."""
    if definition.inner is not None:
        return PAIR_DOMAIN
    narrow = any(len(table.columns) == 2 for table in definition.tables)
    if definition.outer is Operator.WINDOW:
        return {"k": KEYS, "v": KEYS if quick else NARROW}
    if definition.outer is Operator.SCALAR_AGGREGATION:
        # It is a grouping of one group; with three values z3 gives up on some formulas of two extremes.
        return {"k": KEYS, "v": NARROW}
    if quick:
        return {"k": KEYS if narrow else NARROW, "v": NARROW}
    if definition.outer in ORDERED:
        return {"k": KEYS, "v": WIDE}
    return {"k": NARROW, "v": NARROW} if narrow else {"k": WIDE, "v": WIDE}


def prove_all(
    definitions: Sequence[Definition],
    *,
    quick: bool,
    faults: tuple[str, ...] = (),
    workers: int = 1,
    progress: Callable[[Proof], None] = lambda proof: None,
) -> tuple[Proof, ...]:
    """Proves all definitions; returns the proofs in their order, and tells `progress` each one at once.

    Raises CampaignError: a fault is unknown or in no rule, or z3 is not installed.
    """
    rules_with(faults)
    load()
    if workers == 1:
        found = []
        for definition in definitions:
            found.append(prove_one(definition, quick, faults))
            progress(found[-1])
        return tuple(found)
    results: dict[int, Proof] = {}
    with pool_for(LaneSpec(tier="rules"), workers, dies_by_interrupt=True) as pool:
        numbers = {pool.submit(_in_worker, each, quick, faults): n for n, each in enumerate(definitions)}
        for done in as_completed(numbers):
            results[numbers[done]] = done.result()
            progress(done.result())
    return tuple(results[number] for number in range(len(definitions)))


def _in_worker(_: Worker, definition: Definition, quick: bool, faults: tuple[str, ...]) -> Proof:
    return prove_one(definition, quick, faults)


def prove_one(definition: Definition, quick: bool, faults: tuple[str, ...] = ()) -> Proof:
    """Proves one definition in this process; a world that refutes it is checked on DuckDB (`confirmed`)."""
    rules = rules_with(faults)
    effort = EFFORT if definition.inner is None else EFFORT_OF_PAIRS
    domains = (
        domain_of(definition, quick=quick),
        *(() if definition.inner is None else SMALLER_DOMAINS),
    )
    for domain in domains:
        proof = prove(definition, domain, rules, effort=effort)
        if proof.outcome is not Outcome.UNKNOWN:
            break
    if proof.refutation is None:
        return proof
    failure = confirmed(definition, proof.refutation, rules)
    if failure is None and proof.refutation.road.startswith(FROM_CONTENTS):
        failure = of_one_step(definition, proof.refutation)
    if failure is None:
        reason = f"a world that z3 found ({proof.refutation.check.value}) shows nothing on DuckDB"
        return replace(proof, outcome=Outcome.UNKNOWN, reason=reason)
    return replace(proof, failure=failure)


MOST_ORDERS = 24
"""The most orders of the ids of a table's rows that are tried: ids decide where an ORDER BY leaves ties."""


def confirmed(definition: Definition, refutation: Refutation, rules: Rules) -> Failure | None:
    """Returns what the check in small worlds finds in one world, in any order of its ids; None: nothing."""
    world = refutation.world
    changed = [sum(place.changed for place in history) for history in world]
    stored = [sum(place.before is not None for place in history) for history in world]
    bound = Bound(rows=max(*stored, 1), of_table=max(*changed, 1), in_all=max(sum(changed), 1))
    universe = Universe.of(definition.tables, bound, [_orders(history) for history in world])
    try:
        capture(universe, rules)
        failures = verify(definition, universe, rules, refutation.times).failures
    finally:
        universe.relations.close()
    return failures[0] if failures else None


def _orders(history: TableHistory) -> list[TableHistory]:
    """Returns a history with its rows in up to `MOST_ORDERS` orders: the place of a row gives its id."""
    found: dict[TableHistory, None] = {}
    for order in permutations(history):
        found[tuple(sorted(order, key=lambda place: place.before is None))] = None
        if len(found) == MOST_ORDERS:
            break
    return [*found]


def of_one_step(definition: Definition, refutation: Refutation) -> Failure:
    """Returns the failure of a refresh whose contents no single change makes, but earlier refreshes."""
    lines = [render_query(definition.query, Dialect.SPARK)]
    for table, history in zip(definition.tables, refutation.world, strict=True):
        names = [column.name for column in table.columns]
        lines += block(f"{table.name} before", names, [p.before for p in history if p.before is not None])
        lines += block(f"{table.name} after", names, [p.after for p in history if p.after is not None])
    lines.append(
        "contents before: the right rows; of some groups it is known how many rows have the extreme value"
    )
    message = "a refresh after some others is wrong, or leaves a wrong number in a hidden column"
    return Failure(
        road=refutation.road, check=refutation.check, message=message, worlds=1, world="\n".join(lines)
    )


def decision_of(proofs: Sequence[Proof]) -> Decision:
    """Returns whether every rule that can be expressed is proved; undecided where z3 gave up, or none is."""
    outcomes = {proof.outcome for proof in proofs}
    if Outcome.REFUTED in outcomes:
        return Decision.FAILED
    if Outcome.UNKNOWN in outcomes or Outcome.PROVED not in outcomes:
        return Decision.UNDECIDED
    return Decision.PASSED
