"""Expansion: a definition with everything upstream of it inlined, down to the base tables.

Expansion is what makes the views *delayed* (DVS paper, section 3.1.1): an upstream dynamic table stands for
its defining query at the same data timestamp, never for the rows that some refresh stored. A table with a
frozen part is no query at one time: its rows depend on all its refreshes, so it is read as a base table is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from workload.query import Cte, Query, Verbatim, With, names_read
from workload.scenario import DynamicTable, Scenario
from workload.sql import Dialect, render_query
from workload.sql.passing_time import at_time, reads_time


@dataclass(frozen=True)
class Expansion:
    """A defining query over base tables only.

    `tables`: the base tables read, at any depth, in the scenario's order, then the dynamic tables with a
    frozen part. `ctes`: the other upstream views and dynamic tables, upstreams first, then the definition's
    CTEs. `body`: the rest of the definition.
    """

    tables: tuple[str, ...]
    ctes: tuple[Cte, ...]
    body: Query

    @property
    def query(self) -> Query:
        """The expansion as one query of the IR."""
        return With(self.ctes, self.body) if self.ctes else self.body

    @cached_property
    def reads_time(self) -> bool:
        """Whether its rows depend on the current time."""
        return reads_time(self.query)

    def at(self, timestamp: int) -> Expansion:
        """Returns the expansion with the data timestamp, a constant, as the current time."""
        if not self.reads_time:
            return self
        ctes = tuple(replace(cte, query=at_time(cte.query, timestamp)) for cte in self.ctes)
        return Expansion(self.tables, ctes, at_time(self.body, timestamp))

    def text(self, tables: tuple[str, ...], dialect: Dialect, separator: str = " ") -> str:
        """Returns the SQL text. `tables`: CTEs `name AS (...)` for the base tables, which come first."""
        named, body = self.named(tables, dialect, separator), render_query(self.body, dialect)
        if named and isinstance(self.body, Verbatim):
            # It may have a WITH of its own, and SQL allows no WITH right after another.
            body = f"SELECT * FROM ({body}) AS q"
        return f"{named}{body}"

    def named(self, tables: tuple[str, ...], dialect: Dialect, separator: str = " ") -> str:
        """Returns the WITH clause that every query over what the definition reads begins with; or ""."""
        upstream = [f"{cte.name} AS ({render_query(cte.query, dialect)})" for cte in self.ctes]
        listed = f",{separator}".join((*tables, *upstream))
        return f"WITH {listed}{separator}" if listed else ""


def expand(scenario: Scenario, name: str) -> Expansion:
    """Returns the expansion of a definition of a well-formed scenario. Raises KeyError: no such name."""
    queries = {definition.name: definition.query for definition in scenario.definitions}
    needed = set(names_read(queries[name]))
    upstream: list[Cte] = []
    frozen: list[str] = []
    # Definitions are listed upstreams first, so one pass from the end reaches all of them.
    for definition in reversed(scenario.definitions):
        if definition.name in needed and isinstance(definition, DynamicTable) and definition.frozen_where:
            frozen.insert(0, definition.name)
        elif definition.name in needed:
            needed.update(names_read(definition.query))
            upstream.insert(0, Cte(definition.name, definition.query))
    body = queries[name]
    # One WITH for all CTEs, since SQL allows no WITH right inside another.
    while isinstance(body, With):
        upstream.extend(body.ctes)
        body = body.body
    tables = tuple(table.name for table in scenario.tables if table.name in needed)
    return Expansion((*tables, *frozen), tuple(upstream), body)
