"""The frozen part of a dynamic table: rows that no refresh reads or changes any more.

At data timestamp t those stored rows are frozen for which the condition holds, with the current time in it
read as t. They stay as they are; every other row is as the query at t has it. So base data that only frozen
rows depend on may be deleted. As time goes on, rows may become frozen and never active again: so a condition
may have the current time on the later side of a comparison alone, as in `day < current_date() - 30`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dynamic_tables.definition import DynamicTable
from dynamic_tables.differentiate.differentiation import ID
from dynamic_tables.differentiate.limit import on_top
from dynamic_tables.differentiate.row_id import concat, frame
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Col, Expr, text
from dynamic_tables.plan.nodes import (
    ROW_ID,
    BoundQuery,
    Leaf,
    Plan,
    Project,
    Scan,
    children as parts_of,
    children_first,
    rebuilt,
)
from dynamic_tables.plan.types import Columns
from dynamic_tables.reading.text.current_time import TIME_FUNCTIONS, at_time
from dynamic_tables.reading.text.parse import ensure_deterministic, function_name, parse_query
from dynamic_tables.reading.text.relations import Relations, StoredRelation
from dynamic_tables.reading.text.text import identifiers
from dynamic_tables.reading.values.passed import TypeOf

ROWS = "rows"
"""The name of the relation over which a condition is read."""

FOLLOWING = frozenset(
    "add_months date date_trunc dateadd last_day next_day timestamp timestampadd to_date to_timestamp "
    "trunc".split()
)
"""Functions of Spark that grow with the time among their arguments, where the others are constants."""

Bind = Callable[[str, Relations, TypeOf | None], BoundQuery]
"""From a query, its relations and what types further expressions to its plan, as `reading.bind` does it."""

BEGIN = f"SELECT * FROM {ROWS} WHERE "
"""With a condition behind it, a query over these rows."""


def condition_at(condition: str, timestamp: int) -> str:
    """Returns a condition with a data timestamp in the place of the current time."""
    return at_time(BEGIN + condition, timestamp).removeprefix(BEGIN)


def ensure_only_freezes(table: str, condition: str) -> None:
    """Raises DefinitionError: a condition may stop to hold for a row as time goes on."""
    if not _only_freezes(parse_query(BEGIN + condition).args["where"].this):
        raise DefinitionError(
            f"frozen_where of {table}: rows may only become frozen as time goes on; "
            "write the current time on the later side of < or <=, such as `day < current_date() - 30`"
        )


def _only_freezes(tree: exp.Expr) -> bool:
    """Tells whether a condition that holds for a row at one time holds for it at every later time."""
    match tree:
        case exp.Paren():
            return _only_freezes(tree.this)
        case exp.And() | exp.Or():
            return _only_freezes(tree.left) and _only_freezes(tree.right)
        case exp.LT() | exp.LTE() if _has_time(tree.expression):
            return not _has_time(tree.this) and _follows_time(tree.expression)
        case exp.GT() | exp.GTE() if _has_time(tree.this):
            return not _has_time(tree.expression) and _follows_time(tree.this)
        case _:
            return not _has_time(tree)


def _has_time(tree: exp.Expr) -> bool:
    """Tells whether an expression has a function of the current time."""
    return any(map(_is_time, tree.find_all(exp.Func)))


def _is_time(tree: exp.Expr) -> bool:
    return function_name(tree) in TIME_FUNCTIONS


def _follows_time(tree: exp.Expr) -> bool:
    """Tells whether an expression over the current time grows with it, and depends on nothing else."""
    if any(tree.find_all(exp.Column, exp.Subquery)):
        return False
    match tree:
        case exp.Func() if _is_time(tree):
            return True
        case exp.Paren() | exp.Cast() | exp.TsOrDsAdd() | exp.DateAdd() | exp.DateSub() | exp.AddMonths():
            others = [part for part in tree.args.values() if isinstance(part, exp.Expr)][1:]
            return _follows_time(tree.this) and not any(map(_has_time, others))
        case exp.Add() | exp.Sub():
            return _follows_time(tree.left) and not _has_time(tree.right)
        case exp.Anonymous() if tree.name.lower() in FOLLOWING:
            times = [each for each in tree.expressions if _has_time(each)]
            return len(times) == 1 and _follows_time(times[0])
        case _:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPart:
    """Which rows of a table are frozen at a data timestamp, as plans over its rows.

    `condition`: the text with the time in its place. `named`: the columns that it names.
    """

    condition: str
    columns: Columns
    named: tuple[str, ...]
    bind: Bind
    type_of: TypeOf | None

    @classmethod
    def of(cls, table: DynamicTable, timestamp: int, bind: Bind, type_of: TypeOf | None) -> FrozenPart:
        """Returns the part of a table at a data timestamp. Raises DefinitionError: it cannot be read."""
        condition = condition_at(table.frozen_where, timestamp)
        words = identifiers(BEGIN + condition)
        named = tuple(name for name, _ in table.columns if name.lower() in words)
        return cls(condition=condition, columns=table.columns, named=named, bind=bind, type_of=type_of)

    def rows(self, leaf: str, more: Columns, *, frozen: bool) -> Plan:
        """Returns those rows of a leaf that are frozen, or those that are not.

        `more`: the columns that the leaf has beside those of the table, such as `$ROW_ID`.
        """
        schema = (*self.columns, *more)
        holds = f"COALESCE(({self.condition}), FALSE)"
        query = BEGIN + (holds if frozen else f"NOT {holds}")
        bound = self.bind(query, {ROWS: StoredRelation(ROWS, schema)}, self.type_of)
        return Project(_on_leaf(bound.plan, leaf), bound.outputs)

    def identified(self, rows: Plan, passed: Sequence[Col]) -> Plan:
        """Returns rows with ids that encode the columns in the condition, too. `passed`: further columns.

        A row that a change takes out of the frozen part, or into it, is another row of the table then: the
        frozen one stays under its own id.
        """
        types = dict(self.columns)
        values: list[Expr] = [frame(Col(name, types[name])) for name in self.named]
        row_id = concat(text("z"), frame(ID), *values)
        return Project(
            rows,
            (
                *((name, Col(name, type_)) for name, type_ in self.columns),
                *((column.name, column) for column in passed),
                (ROW_ID, row_id),
            ),
        )


def _on_leaf(plan: Plan, leaf: str) -> Plan:
    """Returns the plan of a condition that reads a leaf, instead of the relation over which it was bound."""
    done: dict[int, Plan] = {}
    for node in children_first(plan):
        match node:
            case Scan(_, columns, _):
                done[id(node)] = Leaf(leaf, columns)
            case _:
                done[id(node)] = rebuilt(node, [done[id(part)] for part in parts_of(node)])
    return done[id(plan)]


def unsupported_beside_frozen(plan: Plan) -> UnsupportedError | None:
    """Returns why a plan cannot be maintained beside a frozen part; None: it can."""
    if on_top(plan) is None:
        return None
    return UnsupportedError("LIMIT", "the first rows are found among all, frozen ones included")


def ensure_condition(table: DynamicTable, bind: Bind, type_of: TypeOf | None) -> None:
    """Raises DefinitionError: `frozen_where` of a table is no condition on its columns that only freezes."""
    try:
        ensure_only_freezes(table.name, table.frozen_where)
        part = FrozenPart.of(table, 0, bind, type_of)
        ensure_deterministic(parse_query(BEGIN + part.condition))
        part.rows(ROWS, (), frozen=True)
    except DefinitionError as error:
        prefix = f"frozen_where of {table.name}"
        raise error if str(error).startswith(prefix) else DefinitionError(f"{prefix}: {error}") from None
    types = dict(table.columns)
    if table.incremental and not all(types[name].identifies for name in part.named):
        raise DefinitionError(f"frozen_where of {table.name} reads a column that cannot be part of a row id")
