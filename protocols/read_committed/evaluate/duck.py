"""Statements over given rows, evaluated by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from dvs_model.errors import first_line
from protocols.read_committed.rows import Changed, Rows, Selection, StatementFailed, Tables

ROW = "$row"
"""The hidden column with the id of a row."""

DIALECT = "snowflake"


class DuckEvaluator:
    """An `Evaluator`. A statement over the same rows is evaluated once, because searches repeat it often."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.columns: dict[str, tuple[str, ...]] = {}
        self._changes: dict[object, Changed] = {}
        self._selections: dict[object, Selection] = {}
        self._matched: dict[object, tuple[str, ...]] = {}
        self._parsed: dict[str, exp.Expr] = {}

    def create(self, text: str) -> str:
        """Defines a table; returns its name. Raises StatementFailed."""
        parsed = self._parse(text)
        if not isinstance(parsed, exp.Create) or parsed.kind != "TABLE" or parsed.expression is not None:
            raise StatementFailed(f"{text[:60]!r} is no CREATE TABLE with columns")
        name = str(parsed.this.this.name).lower()
        columns = parsed.this.expressions if isinstance(parsed.this, exp.Schema) else []
        if not columns:
            raise StatementFailed(f"table {name} has no columns")
        for column in columns:
            if column.kind is None or column.kind.is_type(*exp.DataType.NESTED_TYPES):
                raise StatementFailed(
                    f"column {column.name} of {name} is of a type that the model does not hold"
                )
        definition = parsed.copy()
        definition.set("replace", True)
        definition.this.append("expressions", sqlglot.parse_one(f'"{ROW}" VARCHAR', into=exp.ColumnDef))
        self._run(definition.sql("duckdb"))
        self.columns[name] = tuple(column.name for column in columns)
        return name

    def derive(self, name: str, query: str) -> None:
        """Defines a table with the columns of a query. Raises StatementFailed."""
        text = self._parse(query).sql("duckdb")
        empty = f'SELECT *, CAST(NULL AS VARCHAR) AS "{ROW}" FROM ({text}) LIMIT 0'
        columns = self._run(f"DESCRIBE SELECT * FROM ({text})").fetchall()
        names = tuple(str(column[0]) for column in columns if column[0] != ROW)
        if len(columns) != len(names):
            chosen = f'SELECT * EXCLUDE ("{ROW}") FROM ({text})'
            empty = f'SELECT *, CAST(NULL AS VARCHAR) AS "{ROW}" FROM ({chosen}) LIMIT 0'
        self._run(f'CREATE OR REPLACE TABLE "{name}" AS {empty}')
        self.columns[name] = names

    def drop(self, text: str) -> str:
        """Returns the name of the table that DROP TABLE names. Raises StatementFailed."""
        parsed = self._parse(text)
        if not isinstance(parsed, exp.Drop) or parsed.args.get("kind") != "TABLE":
            raise StatementFailed(f"{text[:60]!r} is no DROP TABLE")
        return self.named(text)

    def named(self, text: str) -> str:
        """Returns the table that CREATE or DROP TABLE names. Raises StatementFailed: it names none."""
        table = self._parse(text).find(exp.Table)
        if table is None:
            raise StatementFailed(f"{text[:60]!r} names no table")
        return table.name.lower()

    def target(self, text: str) -> str:
        """Returns the table that a statement writes. Raises StatementFailed: there is none."""
        parsed = self._parse(text)
        table = parsed.find(exp.Table) if parsed.args.get("this") is None else parsed.this.find(exp.Table)
        if table is None:
            raise StatementFailed(f"{text[:60]!r} names no table")
        return self._known_table(table.name)

    def reads(self, text: str) -> Sequence[str]:
        """Returns the tables that a statement names, each once. Raises StatementFailed: one is not known."""
        parsed = self._parse(text)
        # What an INSERT writes is no source of it, unless it is named again.
        within = parsed.args.get("expression") if isinstance(parsed, exp.Insert) else parsed
        if within is None:
            return ()
        defined = {cte.alias.lower() for cte in parsed.find_all(exp.CTE)}
        names = [table.name.lower() for table in within.find_all(exp.Table)]
        return tuple(dict.fromkeys(self._known_table(name) for name in names if name not in defined))

    def change(self, text: str, tables: Tables) -> Changed:
        """Returns what INSERT, UPDATE, DELETE or MERGE would do. Raises StatementFailed."""
        key = (text, _frozen(tables))
        if key not in self._changes:
            self._changes[key] = self._change(text, tables)
        return self._changes[key]

    def select(self, text: str, tables: Tables) -> Selection:
        """Returns the result of a query. Raises StatementFailed."""
        key = (text, _frozen(tables))
        if key not in self._selections:
            self._selections[key] = self._select(text, tables)
        return self._selections[key]

    def _change(self, text: str, tables: Tables) -> Changed:
        self._load(tables)
        table = self.target(text)
        parsed = self._parse(text).copy()
        if isinstance(parsed, exp.Insert) and not isinstance(parsed.this, exp.Schema):
            named = [exp.to_identifier(column, quoted=True) for column in self.columns[table]]
            parsed.set("this", exp.Schema(this=parsed.this, expressions=named))
        action = "merge_action, " if isinstance(parsed, exp.Merge) else ""
        result = self._run(f"{parsed.sql('duckdb')} RETURNING {action}*").fetchall()
        inserted: list[tuple[object, ...]] = []
        updated: dict[str, tuple[object, ...]] = {}
        deleted: list[str] = []
        for row in result:
            match parsed:
                case exp.Insert():
                    done = "INSERT"
                case exp.Update():
                    done = "UPDATE"
                case exp.Delete():
                    done = "DELETE"
                case _:
                    done, row = row[0], row[1:]
            *values, identity = row[: len(self.columns[table]) + 1]
            match done:
                case "INSERT":
                    inserted.append(tuple(values))
                case "UPDATE":
                    updated[identity] = tuple(values)
                case _:
                    deleted.append(identity)
        return Changed(table, updated, tuple(deleted), tuple(inserted))

    def _select(self, text: str, tables: Tables) -> Selection:
        parsed = self._parse(text)
        if parsed.args.get("locks"):
            raise StatementFailed("a query takes no locks here: leave out FOR UPDATE")
        self._load(tables)
        result = self._run(parsed.sql("duckdb"))
        # A star stands for the hidden column too.
        shown = [number for number, column in enumerate(result.description) if column[0] != ROW]
        return tuple(tuple(row[number] for number in shown) for row in result.fetchall())

    def condition(self, text: str, table: str) -> str:
        """Returns FROM and WHERE of a statement that names one table and has no subquery.

        For any other statement only FROM: it counts as reading every row of the table.
        """
        parsed = self._parse(text)
        alone = len(list(parsed.find_all(exp.Table))) == 1 and len(list(parsed.find_all(exp.Select))) <= 1
        where = parsed.args.get("where")
        if not alone or where is None or not isinstance(parsed, exp.Select | exp.Update | exp.Delete):
            return f'FROM "{table}"'
        source = parsed.find(exp.Table)
        assert source is not None
        return f"FROM {source.sql('duckdb')} {where.sql('duckdb')}"

    def matching(self, condition: str, table: str, rows: Rows) -> tuple[str, ...]:
        """Returns the ids of the rows that `condition` selects. Raises StatementFailed: it fails on one."""
        key = (condition, _frozen({table: rows}))
        if key not in self._matched:
            self._load({table: rows})
            found = self._run(f'SELECT "{ROW}" {condition}').fetchall()
            self._matched[key] = tuple(sorted(row[0] for row in found))
        return self._matched[key]

    def _load(self, tables: Tables) -> None:
        for name, rows in tables.items():
            self._run(f'DELETE FROM "{name}"')
            if rows:
                marks = ", ".join("?" for _ in range(len(self.columns[name]) + 1))
                data = [(*values, identity) for identity, values in sorted(rows.items())]
                try:
                    self.connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', data)
                except duckdb.Error as error:
                    raise StatementFailed(first_line(error)) from error

    def _parse(self, text: str) -> exp.Expr:
        if text not in self._parsed:
            try:
                statements = sqlglot.parse(text, read=DIALECT)
            except sqlglot.errors.SqlglotError as error:
                raise StatementFailed(first_line(error)) from error
            parsed = statements[0]
            if len(statements) != 1 or parsed is None:
                raise StatementFailed(f"{text[:60]!r} is {len(statements)} statements; write one a line")
            for identifier in parsed.find_all(exp.Table):
                identifier.this.set("this", identifier.name.lower())
            self._parsed[text] = parsed
        return self._parsed[text]

    def _known_table(self, name: str) -> str:
        if name.lower() not in self.columns:
            raise StatementFailed(f"there is no table {name.lower()}")
        return name.lower()

    def _run(self, text: str) -> Any:
        try:
            return self.connection.execute(text)
        except duckdb.Error as error:
            raise StatementFailed(first_line(error)) from error


def _frozen(tables: Tables) -> object:
    """Returns the rows of tables as a key of a dictionary."""
    return tuple((name, tuple(sorted(rows.items(), key=str))) for name, rows in sorted(tables.items()))
