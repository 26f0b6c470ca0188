"""Definitions that are given as text: who says what they mean, and whether a text has one right answer.

On Spark the truth is Spark's own answer to the text, and DuckDB's answer to a translation is a second voice.
Elsewhere DuckDB's is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engines.errors import shown, sql_state
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from oracle.errors import OracleError, OracleQueryError
from workload.query import Verbatim
from workload.scenario import DynamicTable, Scenario
from workload.types import Row

Voice = Callable[[str, int], Sequence[Row]]
"""(table, data timestamp) -> Spark's own answer to the text of its definition, over the oracle's rows."""

SPARK, DUCKDB = "spark", "duckdb"
VOICES = (SPARK, DUCKDB)
"""Who may say what a text means: Spark, by the text itself, and DuckDB, by a translation."""

MODE, REFRESH, VOICE = "mode: ", "refresh: ", "voice: "
"""How the names begin under which an outcome counts a table's mode, its refresh actions, and its voices."""

AMBIGUOUS = "has several right contents: an order in its text leaves rows equal; add columns to the order"
"""Why a table is not judged, after its name."""

LIMIT_S = 20.0
"""Seconds that DuckDB has for one answer. It has no optimizer here, and people write joins of any size."""

ON_DATA = ("21", "22", "P0001")
"""How the SQLSTATE of an error begins that the data of a query cause: a scalar subquery with two rows, a data
exception, `raise_error`. All other errors of Spark say nothing about a definition."""


@dataclass(slots=True)
class Texts:
    """What the definitions that are given as text must hold.

    `voice`: Spark's own answer; None where only DuckDB speaks. `spoken`: Spark's answers so far; `held`:
    what tables with a frozen part held, by data timestamp. `voices`:
    for each such definition who has said what it means; DuckDB only as long as it agrees with Spark.
    """

    scenario: Scenario
    truth: DelayedView
    voice: Voice | None = None
    spoken: dict[tuple[str, int], tuple[Row, ...]] = field(default_factory=dict)
    held: dict[str, dict[int, tuple[Row, ...]]] = field(default_factory=dict)
    voices: dict[str, set[str]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Tells whether a definition is given as text, so that nothing is known of its operators."""
        return isinstance(self.scenario.definition(name).query, Verbatim)

    def contents(self, table: str, timestamp: int) -> tuple[Row, ...]:
        """Returns what a table must hold. Raises as `DelayedView.contents` does, also if Spark fails on data.

        Any other error of Spark is raised as it is: then the scenario was not judged, which is no pass.
        """
        voice, definition = self.voice, self.scenario.definition(table)
        if voice is None:
            rows = self.truth.contents(table, timestamp)
            self.voices.setdefault(table, {DUCKDB})
            return rows

        def answer(at: int) -> tuple[Row, ...]:
            if (table, at) not in self.spoken:
                self.spoken[table, at] = self._answers(table, at, voice)
            return self.spoken[table, at]

        if isinstance(definition, DynamicTable) and definition.frozen_where:
            return self.truth.held(table, timestamp, answer, self.held.setdefault(table, {}))
        return answer(timestamp)

    def _answers(self, table: str, timestamp: int, voice: Voice) -> tuple[Row, ...]:
        """Returns Spark's answer; where DuckDB's is another one, DuckDB is no voice on the table any more."""
        try:
            rows = tuple(voice(table, timestamp))
        except Exception as error:
            if not sql_state(error).startswith(ON_DATA):
                raise
            raise OracleQueryError(f"Spark: {shown(error)}") from error
        voices = self.voices.setdefault(table, {SPARK, DUCKDB})
        if DUCKDB not in voices:
            return rows
        columns = self.truth.columns(table)
        try:
            agrees = compare(columns, rows, columns, self.truth.query_rows(table, timestamp)) is None
        except OracleError:
            agrees = False
        if not agrees:
            voices.discard(DUCKDB)
        return rows

    def fails_over_both(self, table: str, before: int, timestamp: int) -> bool:
        """Tells whether DuckDB fails on data over the rows of two times; False if it cannot read the text."""
        try:
            return self.truth.fails_over_both(table, before, timestamp)
        except OracleError:
            if self.voice is None:
                raise
            return False

    def is_ambiguous(self, table: str, timestamp: int) -> bool:
        """Tells whether a text has several right answers, of which the oracle knows one."""
        if not self.has(table):
            return False
        try:
            return self.truth.is_ambiguous(table, timestamp)
        except OracleError:
            return False
