"""The evaluation of a defining query by DuckDB, over versions that delta-rs has read.

The text is Spark's SQL; sqlglot writes it as DuckDB's. The engine's own reading of the text is asked only
where that differs from the table: a table that is right by one of two readings is not called wrong.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from campaign.audit.stored import Unreadable
from dynamic_tables.own_functions import Loaded
from given.dialect import WrittenSpark
from given.translation import duckdb_text
from oracle.duck import open_duckdb
from workload.errors import first_line

Rows = list[tuple[object, ...]]

START = datetime(1970, 1, 1, tzinfo=UTC)

INTERNAL = "audit"
"""The schema of the results, apart from the tables of the account, which may have any name."""

# DuckDB's names of types.
EXACT = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL")
FLOATS = ("FLOAT", "DOUBLE")


CASES: Mapping[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower}
"""Functions of texts that DuckDB changes letter by letter: UPPER('\u00df') is 'SS' in Spark and in Python."""

UNLIKE = frozenset("\u019b\u0264\u0295\ua7d3\ua7d5")
"""Letters of which Spark's Unicode, newer than that of Python 3.11, has another case."""


def as_spark(change: Callable[[str], str]) -> Callable[[str], str]:
    """Returns the function for texts on which Spark and Python agree; for others it raises ValueError."""

    def changed(text: str) -> str:
        for letter in text:
            if letter in UNLIKE or unicodedata.category(letter) == "Cn":
                raise ValueError(f"the upper and lower case of {letter!r} depend on the version of Unicode")
        return change(text)

    return changed


class Evaluation:
    """One DuckDB with the sources of one dynamic table at the versions of its frontier."""

    def __init__(self) -> None:
        # Tables of users may be large: as much memory as DuckDB takes by itself.
        self.connection = open_duckdb(memory_limit="80%", time_zone="UTC")
        self.connection.execute(f"CREATE SCHEMA {INTERNAL}")
        for name, change in CASES.items():
            own = f"{INTERNAL}_{name}"
            self.connection.create_function(own, as_spark(change), ["VARCHAR"], "VARCHAR")
            other = f"CASE WHEN strlen(t) = length(t) THEN system.main.{name}(t) ELSE {own}(t) END"
            self.connection.execute(f"CREATE MACRO {name}(t) AS {other}")

    def add(self, name: str, rows: pa.Table, schema: str = "main") -> None:
        """Adds a table, with timestamps as date and time in UTC. Raises Unreadable: DuckDB cannot hold it."""
        for number, field in enumerate(rows.schema):
            if pa.types.is_timestamp(field.type) and field.type.tz:
                local = rows.column(number).cast(pa.timestamp(field.type.unit))
                rows = rows.set_column(number, field.name, local)
        try:
            self.connection.register(f"arrow {name}", rows)
            self.connection.execute(f'CREATE TABLE {schema}."{name}" AS SELECT * FROM "arrow {name}"')
            self.connection.unregister(f"arrow {name}")
        except duckdb.Error as error:
            raise Unreadable(f"DuckDB cannot hold {name}: {first_line(error)}") from error

    def add_functions(self, found: Sequence[Loaded]) -> None:
        """Adds functions of the account's own. Raises Unreadable: DuckDB cannot have one."""
        for each in found:
            function, name = each.function, each.function.name
            try:
                if each.call is None:
                    names = ", ".join(column.name for column in _parameters(function.parameters))
                    value = f"CAST({function.body} AS {function.returns})"
                    body = sqlglot.parse_one(value, read="spark").sql("duckdb")
                    self.connection.execute(f"CREATE MACRO {name}({names}) AS {body}")
                else:
                    returns = exp.DataType.build(function.returns, dialect="spark").sql("duckdb")
                    special = {"null_handling": "special", "side_effects": True}
                    self.connection.create_function(name, each.call, None, returns, **special)  # type: ignore[call-overload]
            except (duckdb.Error, sqlglot.errors.SqlglotError) as error:
                raise Unreadable(f"DuckDB cannot call function {name}: {first_line(error)}") from error

    def query(self, text: str, views: Mapping[str, str], keep: str, time: int) -> None:
        """Keeps the result of a query in Spark's dialect as a table. Raises Unreadable: DuckDB cannot run it.

        `views`: the texts of the views of the account by name. `time`: the current time in microseconds.
        """
        try:
            parsed = _at_time(text, time)
            for name in _views_in(parsed, views):
                body = self._spark(views, name, time)
                self.connection.execute(f'CREATE OR REPLACE VIEW "{name}" AS {body}')
            self.run(duckdb_text(parsed), keep)
        except sqlglot.errors.SqlglotError as error:
            raise Unreadable(f"sqlglot cannot read the query: {first_line(error)}") from error
        except duckdb.Error as error:
            raise Unreadable(f"DuckDB cannot run the query: {first_line(error)}") from error

    def _spark(self, views: Mapping[str, str], name: str, time: int) -> str:
        """Creates the views that a view reads, and returns its own text in DuckDB's dialect."""
        parsed = _at_time(views[name], time)
        for inner in _views_in(parsed, views):
            if inner != name:
                body = self._spark(views, inner, time)
                self.connection.execute(f'CREATE OR REPLACE VIEW "{inner}" AS {body}')
        return duckdb_text(parsed)

    def run(self, text: str, keep: str) -> None:
        """Keeps the result of a query in DuckDB's dialect as the table `keep`. Raises duckdb.Error."""
        self.connection.execute(f'CREATE OR REPLACE TABLE {INTERNAL}."{keep}" AS {text}')

    def difference(self, stored: str, due: str, most: int) -> tuple[Sequence[str], Rows, int, Rows, int]:
        """Returns the columns, some rows that are missing, how many, some that are too many, and how many.

        Rows count as often as they occur. Floating-point numbers are compared by twelve digits, as sums
        depend on the order of the rows. A type that Spark chose and DuckDB did not, such as the DECIMAL of an
        average, is compared as Spark's. Raises Unreadable: the two have other numbers of columns or types.
        """
        described = [self._described(table) for table in (stored, due)]
        names = [name for name, _ in described[0]]
        width = len(described[1])
        if width != len(names):
            raise Unreadable(f"the query has {width} columns, the table has {len(names)}")
        shown: list[str] = []
        for number, ((name, kept), (_, wanted)) in enumerate(zip(*described, strict=True)):
            if _nested(kept) and any(each in kept for each in FLOATS):
                raise Unreadable(f"column {name} has floating-point numbers inside {kept}")
            text = _compared(kept, wanted)
            if not text:
                raise Unreadable(f"column {name} is {kept}, the query by DuckDB gives {wanted}")
            shown.append(text.format(f"c{number}", kept))
        columns = ", ".join(f"c{number}" for number in range(width))
        sides = [
            f'SELECT {", ".join(shown)} FROM {INTERNAL}."{name}" AS t({columns})' for name in (due, stored)
        ]
        try:
            missing, extra = (
                self.connection.execute(f"{first} EXCEPT ALL {second}").fetchall()
                for first, second in (sides, sides[::-1])
            )
        except duckdb.Error as error:
            raise Unreadable(f"the two cannot be compared: {first_line(error)}") from error
        return names, missing[:most], len(missing), extra[:most], len(extra)

    def _described(self, table: str) -> list[tuple[str, str]]:
        rows = self.connection.execute(f'DESCRIBE {INTERNAL}."{table}"').fetchall()
        return [(str(row[0]), str(row[1])) for row in rows]

    def duplicates(self, table: str, column: str) -> Rows:
        """Returns some values of a column that occur more than once, or NULL."""
        return self.connection.execute(
            f'SELECT "{column}", count(*) FROM {INTERNAL}."{table}" GROUP BY ALL '
            f'HAVING count(*) > 1 OR "{column}" IS NULL LIMIT 5'
        ).fetchall()

    def shared(self, name: str, key: Sequence[str]) -> Rows:
        """Returns some keys of a table that several rows have, each with the number of them."""
        columns = ", ".join('"' + column.replace('"', '""') + '"' for column in key)
        text = f'SELECT {columns}, count(*) FROM "{name}" GROUP BY {columns} HAVING count(*) > 1 LIMIT 5'
        return self.connection.execute(text).fetchall() if key else []

    def part(self, name: str, condition: str, keep: str, time: int, *, frozen: bool) -> None:
        """Keeps the rows of a result for which a condition in Spark's dialect holds at a time, or the others.

        Raises Unreadable: DuckDB cannot evaluate it.
        """
        try:
            holds = duckdb_text(_at_time(f"COALESCE(({condition}), FALSE)", time))
            wanted = holds if frozen else f"NOT {holds}"
            self.run(f'SELECT * FROM {INTERNAL}."{name}" WHERE {wanted}', keep)
        except (sqlglot.errors.SqlglotError, duckdb.Error) as error:
            raise Unreadable(f"DuckDB cannot evaluate frozen_where: {first_line(error)}") from error

    def close(self) -> None:
        """Closes DuckDB, which frees the memory."""
        self.connection.close()


def _parameters(text: str) -> Sequence[exp.Expr]:
    """Returns the parameters of a SQL function: a name and a type each."""
    created = sqlglot.parse_one(f"CREATE TABLE f ({text})", read="spark") if text else exp.Schema()
    return [*created.find_all(exp.ColumnDef)]


def _nested(type_: str) -> bool:
    return type_.endswith("]") or type_.startswith(("STRUCT", "MAP"))


PLAIN = "{0}"


def _compared(kept: str, wanted: str) -> str:
    """Returns how a column of both sides is compared, {0} by the stored type {1}; empty: it cannot be.

    `kept`: the type of the stored column, which Spark chose; `wanted`: that which DuckDB gives the query.
    """
    exact, whole = kept.startswith(EXACT), kept.startswith(EXACT[:-1])
    match kept:
        case _ if _nested(kept) or _nested(wanted):
            return PLAIN if kept.replace("TIMESTAMP_NS", "TIMESTAMP") == wanted else ""
        case "FLOAT" | "DOUBLE" if wanted in FLOATS or wanted.startswith(EXACT):
            # -0.0 + 0.0 is 0.0.
            return "CASE WHEN {0} IS NOT NULL THEN printf('%.12g', {0}::DOUBLE + 0.0) END"
        case _ if whole and wanted in FLOATS:
            return "CASE WHEN {0} = trunc({0}) THEN CAST({0} AS {1}) END"
        case _ if exact and wanted in FLOATS:
            # An average, say, of which Spark keeps some digits.
            return "CAST({0} AS {1})"
        case _ if exact and wanted.startswith(EXACT):
            return PLAIN
        case "DATE" if wanted.startswith("TIMESTAMP"):
            # DuckDB's reading of a date and a number of months; a time of day would be a difference.
            return "CAST({0} AS TIMESTAMP)"
        case _ if kept.startswith("TIMESTAMP") and wanted.startswith("TIMESTAMP"):
            return PLAIN if kept == wanted else "CAST({0} AS TIMESTAMP)"
        case _ if kept.startswith("TIMESTAMP") and wanted == "DATE":
            return "CAST({0} AS TIMESTAMP)"
        case _:
            return PLAIN if kept == wanted else ""


def _at_time(text: str, time: int) -> exp.Expr:
    """Returns the tree of a query with the current time as a constant: the data timestamp, in UTC."""
    moment = START + timedelta(microseconds=time)

    def constant(node: exp.Expr) -> exp.Expr:
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, exp.CurrentDate) or name == "curdate":
            return exp.cast(exp.Literal.string(str(moment.date())), "DATE")
        if isinstance(node, exp.Localtimestamp | exp.CurrentTimestamp) or name == "now":
            return exp.cast(exp.Literal.string(str(moment.replace(tzinfo=None))), "TIMESTAMP")
        return node

    return sqlglot.parse_one(text, read=WrittenSpark).transform(constant)


def _views_in(parsed: exp.Expr, views: Mapping[str, str]) -> Sequence[str]:
    names = (table.name.lower() for table in parsed.find_all(exp.Table) if not table.db)
    return tuple(dict.fromkeys(name for name in names if name in views))
