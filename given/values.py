"""The values that random rows over a script are made of: those at which its conditions change their answer.

A column gets each constant that it is compared with, its neighbours (for `n < 5` these are 5, 6 and 4), and
texts that do and do not match its LIKE patterns. Columns that are compared with one another share their
values, so that joins meet and miss.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice, product
from typing import Any

import duckdb
from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from generators.given.documents import DocumentPart
from generators.given.model import ColumnValues, GivenTable
from given.changes import Changes
from given.documents import taken
from given.facts import BaseColumn, Resolved, Resolver
from given.frequencies import Frequencies, shown, weighted
from given.near import BEGIN_US, EPOCH, MOMENTS_US, around, joined, matching, of_length, parts
from given.script import BaseTable, ScriptError
from given.translation import duckdb_text
from workload.errors import first_line
from workload.schema import Column, ForeignKey, Promises, RowCheck
from workload.sql import Dialect, column_name, create_table_text, literal, type_name
from workload.sql.passing_time import text_at
from workload.types import BITS, Kind, Row, SqlType, Value, fits

COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)

MOST_VALUES = 24
"""The most values of a column; with more of them rows would seldom meet."""

MOST_COMBINATIONS = 400
"""The most combinations of values that are tried for a CHECK over several columns."""

PLAIN: Mapping[Kind, tuple[Value, ...]] = {
    Kind.BOOLEAN: (True, False),
    Kind.STRING: ("a", "b", "c", ""),
    Kind.BINARY: (b"a", b"b", b""),
    # Sums of these are exact in any order.
    Kind.FLOAT: (0.0, 1.5, -2.0, 0.25),
    Kind.DOUBLE: (0.0, 1.5, -2.0, 0.25),
    Kind.DATE: (dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2023, 12, 31), dt.date(2024, 2, 29)),
    Kind.TIMESTAMP_NTZ: tuple(EPOCH + dt.timedelta(seconds=s) for s in (0, 1, 86400, -1)),
    Kind.TIMESTAMP: tuple(EPOCH + dt.timedelta(seconds=s) for s in (0, 1, 86400, -1)),
    Kind.VARIANT: ("{}", '{"a":1}', '{"b":["x",null]}', "[]", "null", '"a"', "1"),
}
"""Values of columns that are compared with nothing; those of numbers are in `plain`."""


class NoRow(ScriptError):
    """The error for a table that can hold no row: its CHECKs, or the values given for it, allow none."""

    def __init__(self, base: BaseTable, message: str) -> None:
        super().__init__(f"{base.place}: {message}")
        self.base = base


def plain(type_: SqlType) -> tuple[Value, ...]:
    """Returns values of a type for a column that is compared with nothing."""
    match type_.kind:
        case kind if kind in BITS:
            return (0, 1, 2, 3, -1)
        case Kind.DECIMAL:
            unit = Decimal(1).scaleb(-type_.scale)
            return tuple(v for v in (Decimal(0), Decimal(1), Decimal(2), -Decimal(1), unit) if fits(v, type_))
        case Kind.ARRAY:
            elements = plain(type_.parts[0][1])[:2]
            return ((), elements[:1], elements, (None,))
        case Kind.STRUCT:
            parts = [plain(part)[:2] for _, part in type_.parts]
            return tuple(islice(product(*parts), 4))
        case Kind.MAP:
            keys, values = (plain(part)[:2] for _, part in type_.parts)
            return ((), ((keys[0], values[0]),), ((keys[0], values[1]),))
        case _:
            return PLAIN[type_.kind]


@dataclass(slots=True)
class Values:
    """The values of all base columns of a script, collected from its definitions and CHECK conditions.

    `found`: what each column, or part of a document, is compared with. `shared`: a union-find over columns
    that share their values: each leads to another one, up to the one that stands for all. `connection`: a
    DuckDB database, which gets each table without rows.
    """

    resolver: Resolver
    connection: duckdb.DuckDBPyConnection
    found: defaultdict[BaseColumn, dict[Value, None]] = field(default_factory=lambda: defaultdict(dict))
    shared: dict[BaseColumn, BaseColumn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for base in self.resolver.script.tables:
            # Where a table turns out to hold no row, the others are read again.
            self.connection.execute(f"DROP TABLE IF EXISTS {column_name(base.table.name, Dialect.DUCKDB)}")
            self.connection.execute(create_table_text(base.table, Dialect.DUCKDB))
            for check in base.checks:
                self._constants_of_check(base, check)
            for names, target, referred in base.foreign:
                for name, other in zip(names, referred, strict=False):
                    if (target, other) in self.types:
                        self._share((base.table.name, name), (target, other))

    @property
    def types(self) -> Mapping[BaseColumn, SqlType]:
        """The types of the columns of base tables, and of the parts of their documents."""
        return self.resolver.types

    def refusal(self, name: str, text: str, columns: Sequence[Column]) -> str:
        """Returns why DuckDB cannot read a definition's translation over empty tables; empty if it can.

        The definition becomes an empty table, which later definitions may read.
        """
        names = [column_name(each.name, Dialect.DUCKDB) for each in columns]
        typed = ", ".join(
            f"CAST({name} AS {type_name(each.type, Dialect.DUCKDB)}) AS {name}"
            for name, each in zip(names, columns, strict=True)
        )
        typed_query = f"SELECT {typed} FROM ({text}) AS q({', '.join(names)})"
        try:
            self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS {typed_query}")
        except duckdb.Error as error:
            return f"DuckDB cannot read its translation: {first_line(error)}"
        return ""

    def read(self, definition: Resolved) -> None:
        """Collects what a definition compares its columns with."""
        if definition.scope is None:
            return
        for scope in definition.scope.traverse():
            for node in scope.find_all(exp.Condition):
                if taken(node) is not None:
                    # So that the resolver knows the part, though nothing compares it.
                    self.resolver.fact(node, scope)
                self._compared(node, scope)

    def _compared(self, node: exp.Expr, scope: Scope) -> None:
        """Collects what one node of a query compares columns with."""
        match node:
            case exp.Like() | exp.ILike() if isinstance(node.expression, exp.Literal):
                self._add_texts(node.this, scope, matching(node.expression.name))
            case exp.StartsWith() | exp.EndsWith() | exp.Contains() if isinstance(
                node.expression, exp.Literal
            ):
                self._add_texts(node.this, scope, matching(f"{node.expression.name}%"))
            case exp.Split() | exp.RegexpSplit() if isinstance(node.expression, exp.Literal):
                self._add_texts(node.this, scope, joined(node.expression.name))
            case exp.In():
                for each in node.expressions:
                    self._pair(node.this, each, scope)
            case exp.Between():
                self._pair(node.this, node.args["low"], scope)
                self._pair(node.this, node.args["high"], scope)
            case exp.Case() if node.this is not None:
                for branch in node.args["ifs"]:
                    self._pair(node.this, branch.this, scope)
            case _ if isinstance(node, COMPARISONS):
                self._pair(node.left, node.right, scope)

    def _add_texts(self, expr: exp.Expr, scope: Scope, texts: Iterable[str]) -> None:
        """Adds texts to the values of the STRING columns that an expression is computed from."""
        for base in self.resolver.fact(expr, scope).bases:
            if self.types[base].kind is Kind.STRING:
                self.found[base].update(dict.fromkeys(texts))

    def _pair(self, left: exp.Expr, right: exp.Expr, scope: Scope) -> None:
        """Collects a comparison: a column gets a constant, or two columns share their values."""
        if right.find(exp.Column) is None:
            self._add(left, scope, right)
        elif left.find(exp.Column) is None:
            self._add(right, scope, left)
        else:
            first, second = self.resolver.fact(left, scope).origin, self._origin(right, scope)
            if first is None:
                first = self._origin(left, scope)
            if first is not None and second is not None:
                self._share(first, second)

    def _origin(self, expr: exp.Expr, scope: Scope | None) -> BaseColumn | None:
        """Returns the base column that an expression shows, also one of the query outside; else None."""
        while scope is not None:
            origin = self.resolver.fact(expr, scope).origin
            if origin is not None:
                return origin
            scope = scope.parent
        return None

    def _add(self, expr: exp.Expr, scope: Scope, constant: exp.Expr) -> None:
        """Adds a constant and its neighbours to the columns that an expression is computed from."""
        if constant.find(exp.Query) is not None:
            return
        if isinstance(expr, exp.Length):
            self._add_texts(expr, scope, of_length(self.evaluated(constant)))
            return
        for base in self.resolver.fact(expr, scope).bases:
            type_ = self.types[base]
            direct = self.resolver.fact(expr, scope).origin is not None
            for value in dict.fromkeys(self.evaluated(constant, at) for at in MOMENTS_US):
                for each in around(value, type_) if direct else (*around(value, type_), *parts(value, type_)):
                    self.found[base][each] = None

    def evaluated(self, constant: exp.Expr, moment: int = BEGIN_US) -> Any:
        """Returns the value of a constant expression at a moment (microseconds); None if DuckDB has none."""
        try:
            row = self.connection.execute(f"SELECT {text_at(duckdb_text(constant), moment)}").fetchone()
        except duckdb.Error:
            return None
        return None if row is None else row[0]

    def _constants_of_check(self, base: BaseTable, check: exp.Expr) -> None:
        tree = exp.select("*").from_(base.table.name).where(check.copy())
        scope = build_scope(tree)
        assert scope is not None, "a SELECT has a scope"
        for column in tree.find_all(exp.Column):
            column.set("table", exp.to_identifier(base.table.name))
        for node in tree.find_all(exp.Condition):
            self._compared(node, scope)

    def _share(self, first: BaseColumn, second: BaseColumn) -> None:
        """Notes that two columns share their values, if their types are alike."""
        kinds = {self.types[first].kind, self.types[second].kind}
        if len(kinds) == 1 or kinds <= BITS.keys():
            self.shared[self._root(first)] = self._root(second)

    def _root(self, column: BaseColumn) -> BaseColumn:
        while self.shared.get(column, column) != column:
            column = self.shared[column]
        return column

    def together(self, base: BaseColumn) -> list[BaseColumn]:
        """Returns the columns that share the values of one, itself among them."""
        root = self._root(base)
        return [each for each in self.types if self._root(each) == root]

    def constants(self, base: BaseColumn) -> tuple[Value, ...]:
        """Returns what a column, or one that shares its values, is compared with, and its neighbours."""
        found = (value for each in self.together(base) for value in self.found[each])
        return tuple(dict.fromkeys(value for value in found if fits(value, self.types[base])))[:MOST_VALUES]

    def given(
        self, base: BaseTable, changes: Changes, sampled: Mapping[str, Frequencies] | None = None
    ) -> GivenTable:
        """Returns a table with its values and promises. Raises NoRow.

        `sampled`: how often the user's own table has each value, by column.
        """
        sampled = sampled or {}
        # A document that a CHECK reads is drawn as a whole: its parts alone would not keep the CHECK.
        checked = {name for check in base.checks for name in names_in(check)}
        parts = self.resolver.parts_of(base, changes.values.keys() | checked)
        in_parts = {part.position for part, _ in parts}
        domains = [
            domain
            for domain in self._domains(base, changes.values, sampled)
            if not in_parts & {*domain.positions}
        ]
        domains += [self._of_part(*each, place) for place, each in enumerate(parts, len(base.table.columns))]
        return GivenTable(
            replace(base.table, promises=self._promises(base, changes)),
            tuple(domains),
            changes.rows,
            tuple(part for part, _ in parts),
        )

    def _domains(
        self,
        base: BaseTable,
        only: Mapping[str, tuple[Value, ...]],
        sampled: Mapping[str, Frequencies],
    ) -> Iterator[ColumnValues]:
        """Yields the domains of the columns of a table, weighted as in the user's own. Raises NoRow.

        `only`: all values that a column may have, by its name, if the user says so.
        """
        table = base.table
        unique = {key[0] for key in base.keys if len(key) == 1}
        values: list[tuple[Value, ...]] = []
        for column in table.columns:
            found = only.get(column.name) or self._found(table.name, column, sampled.get(column.name))
            is_key = column.name in unique and column.name not in only
            values.append(more_keys(found, column.type) if is_key else found)
        for positions, checks in groups(base).items():
            names = [table.columns[n].name for n in positions]
            closed = bool(checks) or any(name in only for name in names)
            domain = replace(self._checked(base, positions, checks, values), closed=closed)
            if len(names) == 1 and names[0] in sampled.keys() - unique:
                domain = weighted(domain, sampled[names[0]])
            yield domain

    def _found(self, table: str, column: Column, sampled: Frequencies | None) -> tuple[Value, ...]:
        """Returns the values of a column: its constants, those of the user's own table, and plain ones."""
        constants = self.constants((table, column.name))
        return tuple(dict.fromkeys((*constants, *shown(sampled, column.type), *plain(column.type))))

    def _promises(self, base: BaseTable, changes: Changes) -> Promises:
        """Returns what all rows of a table and its changes keep, by its script and by dvs.toml."""
        only = changes.values
        tables = {each.table.name: each for each in self.resolver.script.tables}
        return Promises(
            keys=base.keys,
            required=tuple(sorted(base.required)),
            foreign=tuple(
                ForeignKey(names, target, referred or tables[target].keys[0])
                for names, target, referred in base.foreign
            ),
            checks=(
                *(RowCheck(names_in(check), duckdb_text(check)) for check in base.checks),
                *(_one_of(column, only[column.name]) for column in base.table.columns if column.name in only),
            ),
            statements=changes.statements,
            updated=changes.updated,
            clock=changes.clock,
            declared=base.declared,
        )

    def _of_part(self, part: DocumentPart, origin: BaseColumn, place: int) -> ColumnValues:
        """Returns the values of a part of a document. `place`: its position, after those of columns."""
        constants = self.constants(origin) if origin in self.types else ()
        values = dict.fromkeys((*constants, *plain(part.type)))
        meets = tuple(each for each in self.together(origin) if each != origin)
        return ColumnValues((place,), tuple((value,) for value in values), len(constants), meets)

    def _checked(
        self,
        base: BaseTable,
        positions: tuple[int, ...],
        checks: Sequence[exp.Expr],
        values: Sequence[tuple[Value, ...]],
    ) -> ColumnValues:
        """Returns the values of some columns that their CHECK conditions allow. Raises NoRow."""
        columns = [base.table.columns[n] for n in positions]
        choices = [
            values[n] if column.name in base.required or len(positions) == 1 else (*values[n], None)
            for n, column in zip(positions, columns, strict=True)
        ]
        rows: list[Row] = list(islice(product(*choices), MOST_COMBINATIONS))
        for check in checks:
            rows = self._allowed(columns, rows, check, base)
        if not rows:
            named = ", ".join(column.name for column in columns)
            raise NoRow(
                base,
                f"no value of {named} was found that {base.table.name} allows; "
                "correct its CHECK, or the values that dvs.toml gives it",
            )
        if len(columns) > 1:
            return ColumnValues(positions, tuple(rows))
        column = (base.table.name, columns[0].name)
        constants = {*self.constants(column)}
        meets = tuple(each for each in self.together(column) if each != column)
        return ColumnValues(positions, tuple(rows), sum(row[0] in constants for row in rows), meets)

    def _allowed(
        self, columns: Sequence[Column], rows: list[Row], check: exp.Expr, base: BaseTable
    ) -> list[Row]:
        """Returns the rows for which a CHECK is not FALSE. Raises NoRow if DuckDB cannot evaluate it."""
        names = ", ".join(column_name(column.name, Dialect.DUCKDB) for column in columns)
        if not rows:
            return []
        types = [column.type for column in columns]
        listed = ", ".join(
            f"({n}, {', '.join(literal(v, t, Dialect.DUCKDB) for v, t in zip(row, types, strict=True))})"
            for n, row in enumerate(rows)
        )
        text = (
            f'SELECT "$row" FROM (VALUES {listed}) AS t("$row", {names}) '
            f"WHERE ({duckdb_text(check)}) IS NOT FALSE"
        )
        try:
            kept = self.connection.execute(text).fetchall()
        except duckdb.Error as error:
            why = f"cannot be evaluated: {first_line(error)}"
            raise NoRow(base, f"CHECK ({check.sql('spark')}) {why}") from error
        return [rows[n] for (n,) in sorted(kept)]


def _one_of(column: Column, values: Sequence[Value]) -> RowCheck:
    """Returns the promise that a column holds no other values than some."""
    listed = ", ".join(literal(value, column.type, Dialect.DUCKDB) for value in values)
    return RowCheck((column.name,), f"{column_name(column.name, Dialect.DUCKDB)} IN ({listed})")


def names_in(check: exp.Expr) -> tuple[str, ...]:
    """Returns the names of the columns that a condition reads."""
    return tuple(dict.fromkeys(column.name.lower() for column in check.find_all(exp.Column)))


def groups(base: BaseTable) -> dict[tuple[int, ...], list[exp.Expr]]:
    """Returns the conditions of a table by the columns that they compare together; other columns stand alone.

    Columns are positions: `CHECK (a < b)` over a table (a, b, c) gives {(0, 1): [a < b], (2,): []}.
    """
    group_of: dict[int, set[int]] = {n: {n} for n in range(len(base.table.columns))}
    checks: list[tuple[set[int], exp.Expr]] = []
    for check in base.checks:
        used = {base.table.position(name) for name in names_in(check)}
        checks.append((used, check))
        merged = set[int]().union(*(group_of[n] for n in used))
        for n in merged:
            group_of[n] = merged
    conditions = {tuple(sorted(members)): list[exp.Expr]() for members in group_of.values()}
    for used, check in checks:
        if used:
            conditions[tuple(sorted(group_of[min(used)]))].append(check)
    return dict(sorted(conditions.items()))


def more_keys(values: Iterable[Value], type_: SqlType) -> tuple[Value, ...]:
    """Returns the values and some more of their type: all rows of a table differ in its key."""
    match type_.kind:
        case kind if kind in BITS:
            more: Iterator[Value] = iter(range(1, 13))
        case Kind.STRING:
            more = (f"k{n}" for n in range(1, 13))
        case Kind.DECIMAL:
            more = (Decimal(n) for n in range(1, 13))
        case Kind.DATE:
            more = (EPOCH.date() + dt.timedelta(days=n) for n in range(12))
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            more = (EPOCH + dt.timedelta(hours=n) for n in range(12))
        case _:
            more = iter(())
    return tuple(dict.fromkeys((*values, *(each for each in more if fits(each, type_)))))
