"""Random definitions over documents: scripts whose base tables have a column of type VARIANT.

The definitions are those of random scenarios. Of each base table a script keeps the key, and moves all other
columns into a document; a view with the name of the table takes them out again. So every operator of random
queries reads parts of documents, and the documents are drawn as those of users' definitions are. One
dynamic table of each scenario has whole documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from generators.generate import scenario_at
from generators.given.documents import path_text
from generators.profiles import SMOKE
from workload.query import with_sources
from workload.scenario import DynamicTable, Scenario, View
from workload.schema import Table
from workload.sql import Dialect, column_name, render_query, type_name
from workload.sql.passing_time import reads_time
from workload.types import BITS, Kind

IN_DOCUMENTS = {*BITS, Kind.DECIMAL, Kind.BOOLEAN, Kind.STRING, Kind.DATE, Kind.TIMESTAMP_NTZ}
"""The kinds of types whose values JSON has, or as which Spark reads a text in it."""

DOCUMENT = "payload"


def random_documents(seed: int, dynamic_tables: int) -> str:
    """Returns a script of that many random dynamic tables; the same seed gives the same script."""
    profile = replace(SMOKE, intents=(0, 0))
    scenarios = (scenario_at(seed, profile, index) for index in count())
    statements = (
        text for number, each in enumerate(scenarios) if _fits(each) for text in _script(number, each)
    )
    script: list[str] = []
    for statement in statements:
        script.append(statement)
        dynamic_tables -= statement.startswith("CREATE DYNAMIC")
        if not dynamic_tables:
            break
    return "\n".join(script)


def _fits(scenario: Scenario) -> bool:
    """Tells whether a scenario's columns have types of JSON, and its queries do not read the time."""
    types = {column.type.kind for table in scenario.tables for column in table.columns}
    return types <= IN_DOCUMENTS and not any(reads_time(each.query) for each in scenario.definitions)


def _script(number: int, scenario: Scenario) -> Iterator[str]:
    """Yields the statements of a scenario, under names that no other scenario has."""
    names = {each.name: f"s{number}_{each.name}" for each in (*scenario.tables, *scenario.definitions)}
    for table in scenario.tables:
        yield from _table(table, names[table.name])
    first = f"{names[scenario.tables[0].name]}_documents"
    yield f"CREATE DYNAMIC TABLE {first}_kept TARGET_LAG = '1 minute' AS SELECT k, {DOCUMENT} FROM {first};"
    for definition in scenario.definitions:
        query = render_query(with_sources(definition.query, names), Dialect.SPARK)
        match definition:
            case View():
                yield f"CREATE VIEW {names[definition.name]} AS {query};"
            case DynamicTable():
                yield f"CREATE DYNAMIC TABLE {names[definition.name]} TARGET_LAG = '1 minute' AS {query};"


def _table(table: Table, name: str) -> Iterator[str]:
    """Yields the base table with its document, and the view that takes the columns out of it."""
    key, *others = table.columns
    names = [column_name(each.name, Dialect.SPARK) for each in others]
    parts = (
        f"{DOCUMENT}{path_text((each.name,))}::{type_name(each.type, Dialect.SPARK)} AS {written}"
        for each, written in zip(others, names, strict=True)
    )
    of_key = f"{key.name} {type_name(key.type, Dialect.SPARK)}"
    yield f"CREATE TABLE {name}_documents ({of_key}, {DOCUMENT} VARIANT);"
    yield f"CREATE VIEW {name} AS SELECT {', '.join((key.name, *parts))} FROM {name}_documents;"
