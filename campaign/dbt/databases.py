"""The kinds of targets, DuckDB and Spark: how sources are written, models dropped, and texts read.

Rows and types are DuckDB's everywhere else; a target of another kind gets them translated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp, parse, transpile
from sqlglot.errors import SqlglotError

from campaign.dbt.driver import described_tables
from campaign.errors import CampaignError


@dataclass(frozen=True, slots=True)
class Written:
    """A source to write, with its rows. `columns`: name, type, whether it is never NULL; `rows`: literals."""

    relation: str
    columns: Sequence[tuple[str, str, bool]]
    checks: Sequence[str]
    rows: Sequence[Sequence[str]]


class Database(ABC):
    """One kind of target.

    `dialect`: as sqlglot names it; `listing`: a query that lists tables and views. `attempts`: how many
    trials make one difference smaller, at most; trials are small, so that most need fewer.
    """

    dialect: str
    listing: str | None = None
    attempts = 40

    @abstractmethod
    def write(self, source: Written) -> list[str]:
        """Returns statements that replace the rows of a source, and fail where a CHECK does not hold."""

    def named(self, schema: str, name: str) -> str:
        """Returns the quoted name of a table."""
        return exp.table_(name, db=schema, quoted=True).sql(self.dialect)

    @abstractmethod
    def drop(self, relations: Mapping[str, str], listed: Sequence[Sequence[str | None]]) -> list[str]:
        """Returns drops of relations, given with how dbt materializes them; `listed`: rows of `listing`."""

    def tables(self, script: str | None, database: str | None) -> list[dict[str, Any]] | None:
        """Returns the tables of a script or database file; None where the user's database must read them."""
        del script, database
        return None


class DuckDb(Database):
    """A file of DuckDB, or a database in memory."""

    dialect = "duckdb"
    listing = (
        "SELECT database_name, schema_name, table_name, 'TABLE' FROM duckdb_tables() UNION ALL "
        "SELECT database_name, schema_name, view_name, 'VIEW' FROM duckdb_views() WHERE NOT internal"
    )

    def write(self, source: Written) -> list[str]:
        """Returns the statements of a table with its constraints; keys are kept by the trials themselves."""
        parts = [
            f"{exp.to_identifier(name, quoted=True).sql('duckdb')} {type_}{' NOT NULL' if never else ''}"
            for name, type_, never in source.columns
        ]
        parts += [_check(each) for each in source.checks]
        create = f"CREATE OR REPLACE TABLE {source.relation} ({', '.join(parts)})"
        if not source.rows:
            return [create]
        values = ", ".join(f"({', '.join(row)})" for row in source.rows)
        return [create, f"INSERT INTO {source.relation} VALUES {values}"]

    def drop(self, relations: Mapping[str, str], listed: Sequence[Sequence[str | None]]) -> list[str]:
        """Returns drops of the relations that are there, as tables or views."""
        kinds = {f'"{d}"."{s}"."{n}"'.lower(): kind for d, s, n, kind in listed}
        return [f"DROP {kinds[each.lower()]} {each}" for each in relations if each.lower() in kinds]


class Spark(Database):
    """A local session of Spark. A source is a view over its rows: no file is written for it."""

    dialect = "spark"
    attempts = 8

    def write(self, source: Written) -> list[str]:
        """Returns the statement of a view, and queries that fail where a CHECK does not hold."""
        names = [exp.to_identifier(name, quoted=True).sql("spark") for name, _, _ in source.columns]
        types = [_translated_type(type_) for _, type_, _ in source.columns]
        casts = ", ".join(f"CAST({n} AS {t}) AS {n}" for n, t in zip(names, types, strict=True))
        rows = source.rows or [["NULL"] * len(names)]
        values = ", ".join(f"({', '.join(map(_translated, row))})" for row in rows)
        none = "" if source.rows else " WHERE false"
        query = f"SELECT {casts} FROM VALUES {values} AS t({', '.join(names)}){none}"
        checks = [
            f"SELECT raise_error('a CHECK is broken') FROM {source.relation} "
            f"WHERE NOT ({_translated(each.removeprefix('CHECK'))})"
            for each in source.checks
        ]
        return [f"CREATE OR REPLACE VIEW {source.relation} AS {query}", *(checks if source.rows else ())]

    def drop(self, relations: Mapping[str, str], listed: Sequence[Sequence[str | None]]) -> list[str]:
        """Returns drops of all relations; Spark needs to know which are views."""
        del listed
        views = {name for name, materialized in relations.items() if materialized == "view"}
        return [f"DROP {'VIEW' if name in views else 'TABLE'} IF EXISTS {name}" for name in relations]

    def tables(self, script: str | None, database: str | None) -> list[dict[str, Any]] | None:
        """Returns the tables by the DuckDB of the harness: the user's environment of Spark may have none."""
        if database is not None:
            with duckdb.connect(database, read_only=True) as connection:
                return described_tables(connection)
        try:
            return [] if script is None else described(Path(script).read_text(encoding="utf-8"), self.dialect)
        except CampaignError as error:
            raise CampaignError(f"{script}: {error}") from error


DATABASES: Mapping[str, Database] = {"duckdb": DuckDb(), "spark": Spark()}
"""The kinds of targets by their type, as a profile of dbt names it."""


def described(script: str, dialect: str) -> list[dict[str, Any]]:
    """Returns the tables of a script in some dialect. Raises CampaignError: it cannot be read."""
    with duckdb.connect() as connection:
        try:
            for tree in parse(script, read=dialect):
                if isinstance(tree, exp.Create) and tree.args.get("kind") == "TABLE":
                    tree.set("properties", None)
                    table = tree.find(exp.Table)
                    if table is not None and table.db:
                        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{table.db}"')
                    connection.execute(tree.sql("duckdb"))
        except (SqlglotError, duckdb.Error) as error:
            raise CampaignError(f"a table cannot be read: {' '.join(str(error).split())}") from error
        return described_tables(connection)


def keeps_checks(checks: Sequence[str], columns: Sequence[tuple[str, str]], row: Sequence[str]) -> bool:
    """Returns whether a row keeps CHECK constraints; True where the user's database must tell.

    `columns`: name and type of each literal of the row.
    """
    if not checks:
        return True
    values = ", ".join(
        f"CAST({literal} AS {type_}) AS {exp.to_identifier(name, quoted=True).sql('duckdb')}"
        for (name, type_), literal in zip(columns, row, strict=False)
    )
    conditions = " AND ".join(f"coalesce({_check(each).strip()[len('CHECK') :]}, true)" for each in checks)
    with _checking().cursor() as cursor:
        try:
            found = cursor.execute(f"SELECT {conditions} FROM (SELECT {values})").fetchone()
        except duckdb.Error:
            return True
    return found is None or bool(found[0])


@lru_cache(1)
def _checking() -> duckdb.DuckDBPyConnection:
    """Returns an empty database, opened once; each thread takes a cursor of its own."""
    return duckdb.connect(config={"threads": 1})


def _check(text: str) -> str:
    return text if text.upper().startswith("CHECK") else f"CHECK ({text})"


@lru_cache(10_000)
def _translated(text: str) -> str:
    return transpile(text, read="duckdb", write="spark")[0]


@lru_cache(1_000)
def _translated_type(type_: str) -> str:
    return exp.DataType.build(type_, dialect="duckdb").sql("spark")
