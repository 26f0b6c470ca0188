"""What an intent inserts beside the drawn values counts where it is decided what may be calculated."""

from __future__ import annotations

from generators.builder import ScenarioBuilder
from generators.choices import SeededChoices
from generators.intents.history import values_of_two_types
from generators.profiles import SMOKE
from workload.dml import Insert
from workload.types import BIGINT


def test_the_digits_of_inserted_values_are_known_where_queries_read_them() -> None:
    """A key meets 2**32 + 2; three of these multiplied are more than a BIGINT holds."""
    met = 0
    for seed in range(60):
        b = ScenarioBuilder(SeededChoices(seed), SMOKE)
        script = values_of_two_types(b)
        inserts = [each for act in script.acts for transaction in act for each in transaction]
        values = [v for each in inserts if isinstance(each, Insert) for row in each.rows for v in row]
        if b.tables[-1].columns[1].type != BIGINT:
            continue
        met += 1
        column = b.source(b.tables[-1].name).columns[1]
        largest = max(value for value in values if type(value) is int)
        assert largest.bit_length() <= column.digits, seed
    assert met > 10
