"""The definitions to verify: every operator alone in all its forms, and every operator over every other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from campaign.errors import CampaignError
from campaign.verify.shapes import SHAPES, TODAY, Rows, Shape
from generators.small_worlds import Bound
from workload.operators import OPERATORS, Operator
from workload.query import Query
from workload.schema import Column, Table
from workload.types import INT

NAMES = ("r", "s", "t")
COLUMNS = (Column("k", INT), Column("v", INT))

# Bounds of the worlds of pairs; the second one with --quick.
FULL_PAIRS = Bound()
QUICK_PAIRS = Bound(rows=1, of_table=1, in_all=1)

ONE_CHANGE = Bound(of_table=1, in_all=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One definition with the bound of its worlds. `inner`: the operator below `outer`, if there is one.

    `detail`: the form of the operator and the layout of its tables, for the name.
    """

    outer: Operator
    inner: Operator | None
    detail: str
    query: Query
    tables: tuple[Table, ...]
    bound: Bound

    @property
    def name(self) -> str:
        """The operators, with what tells this definition from others of the same operators."""
        over = f" over {self.inner}" if self.inner else ""
        return f"{self.outer}{over}{f' ({self.detail})' if self.detail else ''}"


def operators() -> tuple[Operator, ...]:
    """Returns every operator that an engine maintains, in the order of the vocabulary."""
    return tuple(operator for operator in Operator if operator in OPERATORS)


def singles(*, quick: bool = False) -> Iterator[Definition]:
    """Yields every operator alone, in each of its forms, over each layout of its tables."""
    for operator in operators():
        for shape in SHAPES[operator]:
            for widths, bound in layouts(shape.inputs, quick=quick):
                tables = tables_of(widths)
                inputs = [Rows(table.name, table.columns) for table in tables]
                columns = " x ".join("kv"[:width] for width in widths) if shape.inputs > 1 else ""
                yield Definition(
                    outer=operator,
                    inner=None,
                    detail=", ".join(part for part in (shape.note, columns) if part),
                    query=shape.build(inputs),
                    tables=tables,
                    bound=bound,
                )


def layouts(inputs: int, *, quick: bool) -> Iterator[tuple[tuple[int, ...], Bound]]:
    """Yields the number of columns of each table of an operator alone, and the bound of the worlds.

    A row of two columns may change and keep its key: in a join it then matches as before.
    """
    if inputs == 1:
        yield (2,), Bound()
        return
    yield (1, 1), Bound() if quick else Bound(in_all=4)
    yield (2, 1), ONE_CHANGE if quick else Bound()
    yield (1, 2), ONE_CHANGE if quick else Bound()
    if not quick:
        yield (2, 2), ONE_CHANGE


def chosen_definitions(definitions: Iterable[Definition], chosen: Sequence[str]) -> tuple[Definition, ...]:
    """Returns the definitions with a chosen operator, or all. Raises CampaignError: one is unknown."""
    known = {operator.value for operator in operators()}
    for name in chosen:
        if name not in known:
            raise CampaignError(f"no operator {name!r}; there are {', '.join(sorted(known))}")
    return tuple(
        definition
        for definition in definitions
        if not chosen or definition.outer.value in chosen or (definition.inner or "") in chosen
    )


def pairs(bound: Bound) -> Iterator[Definition]:
    """Yields every operator over every operator, as each of its inputs; the other input is another table."""
    for outer in operators():
        for inner in operators():
            for place in range(SHAPES[outer][0].inputs):
                yield pair(outer, inner, place, bound)


def over_time(bound: Bound) -> Iterator[Definition]:
    """Yields a filter by the current time, alone, and below every operator as each of its inputs."""
    (table,) = tables_of((2,))
    yield Definition(
        outer=Operator.FILTER,
        inner=None,
        detail=TODAY.note,
        query=TODAY.build([Rows(table.name, table.columns)]),
        tables=(table,),
        bound=bound,
    )
    for outer in operators():
        for place in range(SHAPES[outer][0].inputs):
            yield pair(outer, Operator.FILTER, place, bound, TODAY)


def pair(
    outer: Operator, inner: Operator, place: int, bound: Bound, shape: Shape | None = None
) -> Definition:
    """Returns one operator over another, its input number `place`; `shape`: the form of the inner one."""
    above, below = SHAPES[outer][0], shape or SHAPES[inner][-1]
    count = above.inputs + below.inputs - 1
    tables = tables_of((2,) if count == 1 else (1,) * count)
    stored = [Rows(table.name, table.columns) for table in tables]
    catalog = {table.name: table.columns for table in tables}
    nested = Rows.of_query(below.build(stored[: below.inputs]), catalog)
    inputs = stored[below.inputs :]
    inputs.insert(place, nested)
    return Definition(
        outer=outer,
        inner=inner,
        detail=", ".join(part for part in (_place(above, place), shape.note if shape else "") if part),
        query=above.build(inputs),
        tables=tables,
        bound=bound,
    )


def _place(above: Shape, place: int) -> str:
    return ("left", "right")[place] if above.inputs > 1 else ""


def tables_of(widths: tuple[int, ...]) -> tuple[Table, ...]:
    """Returns the tables r, s, t with the given numbers of columns."""
    return tuple(Table(name, COLUMNS[:width]) for name, width in zip(NAMES, widths, strict=False))
