"""Schemas, rows, change sets and queries from text that reads like the domain."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal

from workload.dml import Assignment, Delete, Dml, Insert, Merge, Overwrite, Replace, Update
from workload.outcomes.trace import ChangeAction, ChangeRow, StoredRow
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Expr,
    Item,
    Join,
    JoinKind,
    Literal,
    Named,
    Relation,
    Select,
)
from workload.scenario import Commit, Definition, Scenario
from workload.schema import Column, Table
from workload.types import BIGINT, BOOLEAN, Kind, Row, SqlType, Value, parse_type

ACTIONS: Mapping[str, ChangeAction] = {"+": ChangeAction.INSERT, "-": ChangeAction.DELETE}


def table(text: str) -> Table:
    """`orders: id INT, amount DECIMAL(10,2)`."""
    name, _, listed = text.partition(":")
    return Table(name.strip(), columns(listed))


def columns(text: str) -> tuple[Column, ...]:
    """`id INT, amount DECIMAL(10,2)`; a type holds no blank."""
    words = text.replace(", ", " ").split()
    return tuple(Column(name, parse_type(type_)) for name, type_ in zip(words[::2], words[1::2], strict=True))


def rows(of: Table | tuple[Column, ...], text: str) -> tuple[Row, ...]:
    """`1 ann 2.50; 2 NULL 0`: rows by `;`, values by blanks."""
    types = [column.type for column in (of.columns if isinstance(of, Table) else of)]
    lines = [line.split() for line in text.split(";") if line.strip()]
    return tuple(tuple(value(word, t) for word, t in zip(words, types, strict=True)) for words in lines)


def value(word: str, type_: SqlType) -> Value:
    """A value of the type; `NULL`, `true`, `2024-02-29`, `2024-02-29T12:00` and `''` are written so."""
    if word == "NULL":
        return None
    match type_.kind:
        case Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            return int(word)
        case Kind.DECIMAL:
            return Decimal(word)
        case Kind.FLOAT | Kind.DOUBLE:
            return float(word)
        case Kind.BOOLEAN:
            return {"true": True, "false": False}[word]
        case Kind.DATE:
            return dt.date.fromisoformat(word)
        case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP:
            return dt.datetime.fromisoformat(word)
        case Kind.BINARY:
            return bytes.fromhex("" if word == "''" else word)
        case Kind.STRING:
            return "" if word == "''" else word
        case Kind.ARRAY | Kind.STRUCT | Kind.MAP | Kind.VARIANT:
            raise NotImplementedError(f"no words for {type_}")


def stored(of: tuple[Column, ...], text: str) -> tuple[StoredRow, ...]:
    """`k1: 1 ann; k2: 2 bob`, row ids before the colon; `-` stands for no row id."""
    result = []
    for line in text.split(";"):
        row_id, _, cells = line.partition(":")
        if cells.strip():
            result.append(StoredRow(None if row_id.strip() == "-" else row_id.strip(), rows(of, cells)[0]))
    return tuple(result)


def changes(of: tuple[Column, ...], text: str) -> tuple[ChangeRow, ...]:
    """`-k1: 1 ann; +k1: 1 eve`: DELETE and INSERT, row id, row."""
    return tuple(
        ChangeRow(ACTIONS[(row.row_id or "")[0]], (row.row_id or "")[1:], row.row) for row in stored(of, text)
    )


def col(of: Table, name: str, alias: str | None = None) -> ColumnRef:
    """A column of a table, under its own name or an alias."""
    return ColumnRef(alias or of.name, name, of.columns[of.position(name)].type)


def call(function: str, type_: SqlType, *args: Expr) -> Call:
    """The call of a function with a result of the type."""
    return Call(function, args, type_)


def holds(function: str, left: Expr, right: Value) -> Call:
    """A comparison of an expression with a constant of its type."""
    return Call(function, (left, Literal(right, left.type)), BOOLEAN)


def plus(left: Expr, right: Value) -> Call:
    """An expression plus a constant of its type."""
    return Call("add", (left, Literal(right, left.type)), left.type)


def select(source: Relation, *items: tuple[str, Expr], where: Expr | None = None) -> Select:
    """SELECT of named expressions."""
    return Select(tuple(Item(expr, name) for name, expr in items), source, where)


def totals(source: Relation, key: Expr, amount: Expr, type_: SqlType, having: Expr | None = None) -> Select:
    """SELECT key AS k, COUNT(*) AS n, SUM(amount) AS total ... GROUP BY key."""
    aggregates = (Item(COUNT, "n"), Item(Aggregate(AggregateFunction.SUM, amount, False, type_), "total"))
    return Select((Item(key, "k"), *aggregates), source, group_by=(key,), having=having)


COUNT = Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT)


def join(kind: JoinKind, left: Table, right: Table, on: str) -> Join:
    """An equi-join of two tables on columns of one name."""
    condition = Call("eq", (col(left, on), col(right, on)), BOOLEAN)
    return Join(kind, Named(left.name, left.name), Named(right.name, right.name), condition)


def named(of: Table | str) -> Named:
    """A relation under its own name."""
    name = of if isinstance(of, str) else of.name
    return Named(name, name)


def insert(into: Table, text: str) -> Insert:
    """INSERT of rows written as text."""
    return Insert(into.name, rows(into, text))


def overwrite(of: Table, text: str) -> Overwrite:
    """INSERT OVERWRITE with rows written as text."""
    return Overwrite(of.name, rows(of, text))


def replace(of: Table, text: str) -> Replace:
    """CREATE OR REPLACE with rows written as text."""
    return Replace(of.name, rows(of, text))


def update(of: Table, column: str, to: Expr, where: Expr | None = None) -> Update:
    """UPDATE of one column."""
    return Update(of.name, (Assignment(column, to),), where)


def delete(of: Table, where: Expr | None = None) -> Delete:
    """DELETE of the rows that meet a condition, or of all rows."""
    return Delete(of.name, where)


def merge(
    into: Table, keys: str, text: str, delete_when: Expr | None = None, *, inserts: bool = True
) -> Merge:
    """MERGE of rows written as text on the keys, which are written with blanks."""
    return Merge(into.name, tuple(keys.split()), rows(into, text), delete_when, inserts)


def scenario(
    tables: tuple[Table, ...], *definitions: Definition, commits: Mapping[int, tuple[Dml, ...]]
) -> Scenario:
    """A scenario of commits only: the oracle needs no refreshes."""
    steps = tuple(Commit(at, statements) for at, statements in commits.items())
    return Scenario("in a test", tables, definitions, steps)
