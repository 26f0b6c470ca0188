"""The limits of an engine, which say what it supports; its scenarios are cut down to them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, assert_never

from workload.errors import WorkloadError
from workload.operators import OPERATORS, Operator
from workload.query import Query
from workload.sql import Dialect
from workload.sql.dialect import NAMES
from workload.types import SCALAR, Kind, SqlType, Value

PORTABLE = frozenset({"insert", "update", "delete", "merge", "truncate", "overwrite"})
"""The kinds of statement that every engine has (`workload.sql.dml_texts`), named as in profiles."""


class Timestamps(Enum):
    """The data timestamps to which an engine can refresh tables; each kind allows less than the last."""

    ANY = "any"
    """Any given data timestamp, also one before the newest commit."""

    NOW = "now"
    """Only the time of the refresh: the engine reads its sources as they are."""

    COMMIT = "commit"
    """Only that of every commit: a commit maintains the tables itself, and a refresh has nothing to do."""


def any_value(value: Value, type_: SqlType) -> bool:
    """Returns True for every value of a supported type."""
    return True


def no_gap(query: Query) -> str | None:
    """Returns None for every query: the operators alone decide what is supported."""
    return None


def as_it_is(query: Query) -> Query:
    """Returns the query without changes."""
    return query


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an engine supports.

    `types`: the kinds of types of columns and expressions; INT is among them, since tables are joined on it.
    `stores`: whether a value, never NULL, can be a literal and be stored in a column of its type.
    `statements`: kinds of DML, named as in profiles. `layered`: whether a dynamic table may read another one.
    `failures`: whether a refresh whose query fails on the data leaves everything as it was.
    `drops`: whether views and dynamic tables can be dropped, and their names be given to others.
    `replaces`: whether a view or dynamic table that others read can be replaced by another definition.
    `restarts`: whether a database can be opened again, with what it has stored, between two refreshes.
    `rollbacks`: whether a transaction can end with a ROLLBACK.
    `clock`: whether the current time in a query is the data timestamp of its refresh.
    `gap`: the reason why a query with supported operators is not supported, None where it is. `amend`: a
    query close to the given one that the engine is more likely to support, with the same columns and perhaps
    more; amending twice gives the same as amending once. `asks`: whether the engine itself is asked for each
    query, which is left out if a new database refuses it over empty tables. `dialects`: those in which every
    query and condition has a text (see `within_dialect`).

    `lacks`: functions and other words of the dialect's SQL that the engine does not know, as "substr" or
    "IS DISTINCT FROM". `keys`: every base table gets a primary key, so that no two rows are equal. `nulls`:
    whether base tables hold NULL. `single_rows`: a statement writes one row, named by its key in UPDATE and
    DELETE, which are left out without `keys`. `single_statements`: a transaction has one statement.
    """

    operators: frozenset[str] = OPERATORS
    types: frozenset[Kind] = SCALAR
    stores: Callable[[Value, SqlType], bool] = any_value
    statements: frozenset[str] = PORTABLE
    timestamps: Timestamps = Timestamps.NOW
    views: bool = True
    layered: bool = True
    failures: bool = False
    drops: bool = False
    replaces: bool = False
    restarts: bool = False
    rollbacks: bool = False
    clock: bool = False
    gap: Callable[[Query], str | None] = no_gap
    amend: Callable[[Query], Query] = as_it_is
    asks: bool = False
    dialects: frozenset[Dialect] = frozenset()
    lacks: frozenset[str] = frozenset()
    keys: bool = False
    nulls: bool = True
    single_rows: bool = False
    single_statements: bool = False

    @classmethod
    def only(cls, *words: str, **options: Any) -> Limits:
        """Returns the limits of an engine that maintains what the words name, and nothing else.

        Words are operators and clauses of SQL ("filter", "inner join", "group by") and features ("append
        only", "no null"): see WORDS. Projections are always among them. `options`: further fields by name.
        Raises WorkloadError for another word.

        >>> sorted(Limits.only("filter", "group by").operators)
        ['filter', 'grouped aggregation', 'projection']
        """
        operators = {Operator.PROJECTION}
        fields: dict[str, Any] = {"views": False, "layered": False}
        for word in words:
            meant = WORDS.get(str(word).lower())
            if meant is None:
                raise WorkloadError(f"limits: no word {word!r}; there are: {', '.join(WORDS)}")
            if isinstance(meant, Operator):
                operators.add(meant)
            else:
                fields |= meant
        return cls(**{"operators": frozenset(operators), **fields, **options})

    def __post_init__(self) -> None:
        """Raises WorkloadError, in one line, for a value that no engine can mean."""
        self._check_sets()
        self._check_flags_and_functions()
        unfit: frozenset[str] = frozenset()
        if self.keys or self.single_rows:
            unfit |= {"merge"}
        if self.single_rows:
            unfit |= {"overwrite", "truncate"} | (frozenset() if self.keys else {"update", "delete"})
        if self.single_statements:
            unfit |= {"restore"}
        object.__setattr__(self, "statements", self.statements - unfit)

    def _check_sets(self) -> None:
        kinds = PORTABLE | {"restore", "optimize", "replace"}
        for what in ("operators", "types", "statements", "dialects", "lacks"):
            given = getattr(self, what)
            if isinstance(given, str) or not isinstance(given, frozenset | set | list | tuple):
                raise WorkloadError(f"limits: {what} is {given!r}; write frozenset({{...}})")
            object.__setattr__(self, what, frozenset(given))
        lacks: frozenset[object] = self.lacks
        for what, given, known in (
            ("operators", self.operators, OPERATORS),
            ("types", self.types, frozenset(Kind)),
            ("statements", self.statements, kinds),
            ("dialects", self.dialects, frozenset(Dialect)),
            ("lacks", self.lacks, frozenset(each for each in lacks if isinstance(each, str) and each)),
        ):
            others = sorted(str(each) for each in given if each not in known)
            if others:
                listed = ", ".join(sorted(each.value if isinstance(each, Enum) else each for each in known))
                raise WorkloadError(f"limits: {what} has {', '.join(others)}; there are: {listed}")
        if Kind.INT not in self.types:
            raise WorkloadError("limits: types lacks Kind.INT, on which tables are joined")

    def _check_flags_and_functions(self) -> None:
        if not isinstance(self.timestamps, Timestamps):
            raise WorkloadError(f"limits: timestamps is {self.timestamps!r}; write Timestamps.NOW or another")
        for what in FLAGS:
            if not isinstance(given := getattr(self, what), bool):
                raise WorkloadError(f"limits: {what} is {given!r}; write True or False")
        for what, call, arguments in (
            ("stores", self.stores, ("value", "type")),
            ("gap", self.gap, ("query",)),
            ("amend", self.amend, ("query",)),
        ):
            if not callable(call):
                raise WorkloadError(f"limits: {what} is {call!r}; write a function")
            if not _takes(call, len(arguments)):
                raise WorkloadError(
                    f"limits: {what} is called with ({', '.join(arguments)}); {call!r} is not"
                )

    @property
    def reachable(self) -> frozenset[str]:
        """The supported operators that a query of the supported types can have: `explode` needs arrays."""
        return self.operators if Kind.ARRAY in self.types else self.operators - {Operator.EXPLODE}


FLAGS = (
    "views",
    "layered",
    "failures",
    "drops",
    "replaces",
    "restarts",
    "rollbacks",
    "clock",
    "asks",
    "keys",
    "nulls",
    "single_rows",
    "single_statements",
)
"""The fields of `Limits` that are True or False."""


def _takes(call: Callable[..., object], count: int) -> bool:
    """Tells whether a function can be called with so many arguments; True where Python cannot tell."""
    try:
        inspect.signature(call).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        pass
    return True


WORDS: Mapping[str, Operator | Mapping[str, object]] = {
    **{operator.value: operator for operator in Operator if operator in OPERATORS},
    "select": Operator.PROJECTION,
    "where": Operator.FILTER,
    "having": Operator.FILTER,
    "join": Operator.INNER_JOIN,
    "left outer join": Operator.LEFT_JOIN,
    "right outer join": Operator.RIGHT_JOIN,
    "full outer join": Operator.FULL_JOIN,
    "exists": Operator.SEMI_JOIN,
    "not exists": Operator.ANTI_JOIN,
    "group by": Operator.GROUPED_AGGREGATION,
    "aggregates without group by": Operator.SCALAR_AGGREGATION,
    "rollup": Operator.GROUPING_SETS,
    "cube": Operator.GROUPING_SETS,
    "window functions": Operator.WINDOW,
    "order by limit": Operator.LIMIT,
    "views": {"views": True},
    "dynamic tables over dynamic tables": {"layered": True},
    "what it takes": {"asks": True},
    "append only": {"statements": frozenset({"insert"})},
    "keys": {"keys": True},
    "no null": {"nulls": False},
    "one row per statement": {"single_rows": True},
    "one statement a transaction": {"single_statements": True},
}
"""The words of `Limits.only`, in lower case: operators of SQL, and features."""

NO_LIMITS = Limits(
    types=frozenset(Kind),
    statements=PORTABLE | {"restore", "optimize", "replace"},
    timestamps=Timestamps.ANY,
    failures=True,
    drops=True,
    replaces=True,
    restarts=True,
    rollbacks=True,
    clock=True,
)


def both(a: Limits, b: Limits) -> Limits:
    """Returns the limits of scenarios that two engines support."""
    if a == b or b == NO_LIMITS:
        return a
    if a == NO_LIMITS:
        return b
    return Limits(
        operators=a.operators & b.operators,
        types=a.types & b.types,
        stores=lambda value, type_: a.stores(value, type_) and b.stores(value, type_),
        statements=a.statements & b.statements,
        timestamps=max(a.timestamps, b.timestamps, key=list(Timestamps).index),
        views=a.views and b.views,
        layered=a.layered and b.layered,
        failures=a.failures and b.failures,
        drops=a.drops and b.drops,
        replaces=a.replaces and b.replaces,
        restarts=a.restarts and b.restarts,
        rollbacks=a.rollbacks and b.rollbacks,
        clock=a.clock and b.clock,
        gap=lambda query: a.gap(query) or b.gap(query),
        amend=lambda query: b.amend(a.amend(query)),
        asks=a.asks or b.asks,
        dialects=a.dialects | b.dialects,
        lacks=a.lacks | b.lacks,
        keys=a.keys or b.keys,
        nulls=a.nulls and b.nulls,
        single_rows=a.single_rows or b.single_rows,
        single_statements=a.single_statements or b.single_statements,
    )


def within_dialect(limits: Limits, dialect: Dialect) -> Limits:
    """Returns the limits cut to what has a text in a dialect. Spark and DuckDB have one for everything."""
    match dialect:
        case Dialect.SPARK | Dialect.DUCKDB:
            # What the engine lacks is looked for in the texts.
            return replace(limits, dialects=limits.dialects | {dialect}) if limits.lacks else limits
        case Dialect.POSTGRES:
            return replace(limits, dialects=limits.dialects | {dialect})
        case Dialect.SQLITE:
            return replace(
                limits,
                types=limits.types & NAMES[dialect].keys(),
                statements=limits.statements - {"merge"},
                stores=partial(_stored_by_sqlite, limits.stores),
                dialects=limits.dialects | {dialect},
            )
        case Dialect.MYSQL:
            return replace(
                limits,
                types=limits.types & NAMES[dialect].keys(),
                statements=limits.statements - {"merge"},
                stores=partial(_finite, limits.stores),
                dialects=limits.dialects | {dialect},
            )
        case Dialect.ANSI | Dialect.FLINK:
            return replace(
                limits,
                types=limits.types & NAMES[dialect].keys(),
                stores=partial(_finite, limits.stores),
                dialects=limits.dialects | {dialect},
            )
        case _:
            assert_never(dialect)


def _stored_by_sqlite(stores: Callable[[Value, SqlType], bool], value: Value, type_: SqlType) -> bool:
    # It makes NULL of NaN, and its texts end at the character 0.
    return value == value and not (isinstance(value, str) and "\0" in value) and stores(value, type_)


def _finite(stores: Callable[[Value, SqlType], bool], value: Value, type_: SqlType) -> bool:
    # MySQL and the standard have neither NaN nor infinity.
    return not (isinstance(value, float) and not math.isfinite(value)) and stores(value, type_)
