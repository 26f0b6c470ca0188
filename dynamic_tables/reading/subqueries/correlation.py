"""Decorrelation: how the rows of an inner query are tied to all rows of the outer one at once.

- By keys, if each correlated predicate is an equality `inner = outer`: the inner value becomes a key, one
  more column of the inner rows, and the join with the outer rows is on the keys.
- By values, for any other predicate: the inner rows are joined with the distinct values that the predicate
  reads of the outer rows, and these values are the keys.

Keys are cheaper, because the inner query does not read the outer rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, Expr, Fn, conjunction, replace_columns, walk
from dynamic_tables.plan.nodes import Distinct, Join, JoinKind, Plan, Project, columns
from dynamic_tables.plan.types import FLOATING, INTEGRAL, Kind, Type
from dynamic_tables.reading.blocks.correlated import Block
from dynamic_tables.reading.values.scope import Names
from dynamic_tables.reading.values.typed import COMPARISONS, call

EQUALITIES = ("=", "is not distinct from")


@dataclass(frozen=True, slots=True)
class Tied:
    """Rows for all rows outside at once.

    `ties`: the conditions that tie a row to a row outside. `keys`: the columns of the plan that `ties` read.
    """

    plan: Plan
    ties: tuple[Expr, ...] = ()
    keys: tuple[Col, ...] = ()


def tied_by_keys(names: Names, block: Block, what: str) -> Tied | None:
    """Returns the rows of a block with a key for each correlated equality; None if a tie is no equality."""
    pairs = [_pair(tie, block) for tie in block.ties]
    complete = [pair for pair in pairs if pair is not None]
    if len(complete) < len(pairs):
        return None
    if complete:
        names.branches.add(Branch.TIED_BY_KEYS)
    names.refuse_keys((inner for _, inner, _ in complete), what)
    keys = tuple(Col(names.fresh("$tie"), inner.type) for _, inner, _ in complete)
    ties = tuple(call(sign, outer, key) for (outer, _, sign), key in zip(complete, keys, strict=True))
    _refuse_floats(names, ties, what)
    kept = tuple((column.name, column) for column in columns(block.plan))
    added = tuple((key.name, inner) for (_, inner, _), key in zip(complete, keys, strict=True))
    return Tied(Project(block.plan, (*kept, *added)) if added else block.plan, ties, keys)


def tied_by_values(
    names: Names,
    block: Block,
    left: Plan,
    read: Mapping[Col, Col],
    what: str,
    *,
    computed: Collection[Col] = (),
) -> Tied:
    """Returns the rows of a block, joined with the distinct values that its ties read of `left`.

    `read`: outer columns that are read beside those of the ties, each with the column that it becomes.
    `computed`: those of them that are not only compared.
    """
    names.branches.add(Branch.TIED_BY_VALUES)
    found = dict(read)
    _refuse_zeros(computed, block.ties, what)
    for column in columns_outside(block, block.ties):
        found.setdefault(column, Col(names.fresh(f"$outer_{column.name}"), column.type))
    names.refuse_keys(found, what)
    values = Distinct(Project(left, tuple((key.name, column) for column, key in found.items())))
    on = [replace_columns(tie, lambda col: found.get(col, col)) for tie in block.ties]
    _refuse_floats(names, block.ties, what)
    kind = JoinKind.INNER if on else JoinKind.CROSS
    plan = Join(kind, values, block.plan, conjunction(on) if on else None)
    ties = tuple(call("is not distinct from", column, key) for column, key in found.items())
    return Tied(plan, ties, tuple(found.values()))


def columns_outside(block: Block, exprs: Sequence[Expr]) -> list[Col]:
    """Returns the columns that expressions read and the block does not have, each once."""
    mine = {column.name for column in columns(block.plan)}
    read = (part for expr in exprs for part in walk(expr) if isinstance(part, Col))
    return list(dict.fromkeys(column for column in read if column.name not in mine))


def _refuse_zeros(read: Iterable[Col], ties: Sequence[Expr], what: str) -> None:
    """Raises UnsupportedError where 0.0 and -0.0 of outer rows may give different results, as in 1 / x.

    DISTINCT makes one value of them, so one result would stand for both.
    """
    for column in (*read, *(part for tie in ties for part in _computed_with(tie))):
        if column.type.kind in FLOATING:
            raise UnsupportedError(
                f"{what} that computes with a {column.type} from outside", "compare it only"
            )


def _computed_with(tie: Expr) -> Iterator[Col]:
    """Yields the columns of a condition, except those that a comparison takes as they are."""
    match tie:
        case Col():
            yield tie
        case Fn(name, args, _):
            for arg in args:
                if not (isinstance(arg, Col) and name in COMPARISONS):
                    yield from _computed_with(arg)
        case _:
            pass


def _refuse_floats(names: Names, ties: Sequence[Expr], what: str) -> None:
    """Raises UnsupportedError: a tie compares a sum of floats."""
    for tie in ties:
        names.refuse_float_comparison(tie, what)


def _pair(tie: Expr, block: Block) -> tuple[Expr, Expr, str] | None:
    """Returns the sides of an equality, the one outside first, and its sign; None for another condition."""
    match tie:
        case Fn(sign, (left, right), _) if sign in EQUALITIES:
            outside = [block.reads_outside(left), block.reads_outside(right)]
            inside = [_reads_inside(left, block), _reads_inside(right, block)]
            outer, inner = (left, right) if outside[0] else (right, left)
            # Both sides may be outside, as in `r.a = r.a`.
            if (
                sum(outside) == 1
                and outside == [not each for each in inside]
                and _makes_one_group(outer.type, inner.type)
            ):
                return outer, inner, sign
        case _:
            pass
    return None


def _makes_one_group(outer: Type, inner: Type) -> bool:
    """Tells whether at most one inner value equals an outer one, so that the inner values can be keys.

    Several decimals may equal one double after a cast: they would be several groups for one outer row.
    """
    kinds = {outer.kind, inner.kind}
    return outer == inner or kinds <= {*INTEGRAL} or kinds == {Kind.DECIMAL}


def _reads_inside(expr: Expr, block: Block) -> bool:
    """Tells whether an expression reads a column of the block itself."""
    mine = {column.name for column in columns(block.plan)}
    return any(isinstance(part, Col) and part.name in mine for part in walk(expr))
