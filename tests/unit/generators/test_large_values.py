"""What an intent writes beside the drawn values counts where it is decided what may be calculated."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from generators.builder import ScenarioBuilder
from generators.choices import NothingToPick, SeededChoices
from generators.domains import DECIMAL, NO_ARITHMETIC
from generators.generate import initial_rows
from generators.intents import INTENTS
from generators.intents.history import values_of_two_types
from generators.intents.script import Script
from generators.profiles import QUICK, SMOKE
from tests.depth import examples
from workload.dml import Insert, Update
from workload.query import Literal
from workload.types import BIGINT, INT, Kind, Value

SLACK = 12
"""Binary digits of the keys that intents write: the key of the last of many rows."""

SEEDS = examples(60)


def written(script: Script) -> Iterator[tuple[str, str | int, Value]]:
    """Yields (table, column's name or place, value) for each value that a script writes."""
    for act in script.acts:
        for statement in (each for transaction in act for each in transaction):
            match statement:
                case Insert(table, rows):
                    yield from ((table, place, value) for row in rows for place, value in enumerate(row))
                case Update(table, assignments):
                    for assignment in assignments:
                        if isinstance(assignment.value, Literal):
                            yield table, assignment.column, assignment.value.value
                case _:
                    pass


def test_what_intents_write_fits_what_may_be_calculated() -> None:
    """A DECIMAL(8,2) of 999999.99 in a column of small values: its double has no place in the type."""
    met: Counter[Kind] = Counter()
    for seed, name in itertools.product(range(SEEDS), INTENTS):
        b = ScenarioBuilder(SeededChoices(name, seed), QUICK)
        for _ in range(2):
            b.add_table((INT, DECIMAL))
        initial_rows(b)
        try:
            script = INTENTS[name](b)
        except NothingToPick:
            continue
        columns = {source.name: source.columns for source in b.sources}
        for table, where, value in written(script):
            # A table apart is read by its own intent alone.
            known = columns.get(table, ())
            column = next((each for at, each in enumerate(known) if where in (at, each.name)), None)
            if column is None or column.digits == NO_ARITHMETIC:
                continue
            met[column.type.kind] += 1
            if type(value) is int:
                assert value.bit_length() <= max(column.digits, SLACK), (name, seed, column, value)
            elif column.type == DECIMAL and isinstance(value, Decimal):
                assert abs(value) * 2 < 10**6, (name, seed, column, value)
    assert met[Kind.INT] > 10 * SEEDS
    assert met[Kind.DECIMAL] > 10 * SEEDS


def test_the_digits_of_inserted_values_are_known_where_queries_read_them() -> None:
    """A key meets 2**32 + 2; three of these multiplied are more than a BIGINT holds."""
    met = 0
    for seed in range(60):
        b = ScenarioBuilder(SeededChoices(seed), SMOKE)
        script = values_of_two_types(b)
        values = [value for _, _, value in written(script)]
        if b.tables[-1].columns[1].type != BIGINT:
            continue
        met += 1
        column = b.source(b.tables[-1].name).columns[1]
        largest = max(value for value in values if type(value) is int)
        assert largest.bit_length() <= column.digits, seed
    assert met > 10
