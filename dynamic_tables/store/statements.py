"""Checks the DML statements of users as syntax trees; Spark then runs their text as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dynamic_tables.definition import BaseTable, Columns, Definition
from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.parse import ensure_admitted, function_name
from dynamic_tables.plan.spark_text import SparkText
from dynamic_tables.plan.text import ADMITTED
from dynamic_tables.plan.types import Type
from dynamic_tables.store.catalog import parse_type

NAME = r"(?:`(?P<quoted>[A-Za-z]\w*)`|(?P<plain>[A-Za-z]\w*))"
TO_VERSION = r"TO\s+VERSION\s+AS\s+OF\s+\d+"
RESTORE = re.compile(rf"\s*RESTORE\s+(?:TABLE\s+)?{NAME}\s+{TO_VERSION}\s*;?\s*", re.IGNORECASE | re.ASCII)
OPTIMIZE = re.compile(rf"\s*OPTIMIZE\s+{NAME}\s*;?\s*", re.IGNORECASE | re.ASCII)
"""sqlglot does not know RESTORE and OPTIMIZE; only these forms of them are admitted."""

DML = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.TruncateTable, exp.Create)
STATEMENTS = (
    "INSERT, INSERT OVERWRITE, UPDATE, DELETE, MERGE, TRUNCATE TABLE, RESTORE TABLE .. TO VERSION AS OF, "
    "OPTIMIZE or CREATE OR REPLACE TABLE"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """An admitted statement: its text for Spark, and its target.

    `columns`: the new columns, if it replaces the table. `reads`: the base tables that the text names.
    """

    text: str
    target: str
    columns: Columns | None = None
    reads: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The base tables that the statement writes or reads."""
        return (self.target, *self.reads)


def check_statement(text: str, definitions: Mapping[str, Definition]) -> Statement:
    """Returns a statement that writes one base table of the account and reads only its base tables.

    An INSERT may read other relations too: a table of Spark's catalog by its qualified name, files by their
    format and path, and RANGE.

    Raises DefinitionError: for every other statement; the text says what is refused and why.
    """
    for pattern in (RESTORE, OPTIMIZE):
        match = pattern.fullmatch(text)
        if match is not None:
            return Statement(
                text.strip().rstrip(";"), _base_table(match["quoted"] or match["plain"], definitions)
            )
    tree = _parse(text)
    if isinstance(tree, exp.Create):
        return _replacing(tree, text, definitions)
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    target = _target(tree)
    loads = isinstance(tree, exp.Insert)
    names = [_plain_name(table) for table in tree.find_all(exp.Table) if not (loads and _is_outside(table))]
    read = (name for name in names if name not in ctes or name == target)
    reads = tuple(_base_table(name, definitions) for name in read)
    ensure_admitted(tree, ADMITTED | {"range"} if loads else ADMITTED)
    target = _base_table(target, definitions)
    if isinstance(tree, exp.TruncateTable):
        # Delta has no TRUNCATE.
        return Statement(f"DELETE FROM `{target}`", target)
    return Statement(text.strip().rstrip(";"), target, reads=reads)


def _parse(text: str) -> exp.Expression:
    try:
        parsed = [tree for tree in sqlglot.parse(text, read=SparkText) if isinstance(tree, exp.Expression)]
    except (SqlglotError, RecursionError) as error:
        raise DefinitionError(f"syntax error in {_short(text)}: {str(error).splitlines()[0]}") from error
    if len(parsed) != 1 or not isinstance(parsed[0], DML):
        raise DefinitionError(f"{_short(text)} is refused: a statement is one {STATEMENTS}")
    _ensure_all_seen(text)
    return parsed[0]


def _ensure_all_seen(text: str) -> None:
    """Raises DefinitionError for text between the tokens: in Spark a comment may end at another place."""
    tokens = SparkText().tokenize(text)
    starts, ends = [token.start for token in tokens], [token.end + 1 for token in tokens]
    if any(text[end:start].strip() for end, start in zip([0, *ends], [*starts, None], strict=True)):
        raise DefinitionError(f"{_short(text)} is refused: statements take no comments")


def _target(tree: exp.Expression) -> str:
    target = tree.this
    if isinstance(tree, exp.TruncateTable) and len(tree.expressions) == 1:
        target = tree.expressions[0]
    if isinstance(target, exp.Schema):
        target = target.this
    if not isinstance(target, exp.Table):
        raise DefinitionError(f"{_short(tree.sql(SparkText))} is refused: a statement writes one base table")
    return _plain_name(target)


def _plain_name(table: exp.Table) -> str:
    extra = [key for key in ("db", "catalog", "version", "when", "sample") if table.args.get(key) is not None]
    name = table.name.lower()
    # sqlglot parses IDENTIFIER('any name') as a table named `identifier` with columns.
    if not isinstance(table.this, exp.Identifier) or extra or name == "identifier":
        raise DefinitionError(
            f"{table.sql(SparkText)} is refused: a statement names base tables of its account "
            "by their plain names"
        )
    return name


def _is_outside(table: exp.Table) -> bool:
    """Tells whether what an INSERT reads is no relation of the account; its target is never outside."""
    is_target = isinstance(table.parent, exp.Insert | exp.Schema)
    is_range = isinstance(table.this, exp.Func) and function_name(table.this) == "range"
    return not is_target and (table.args.get("db") is not None or is_range)


def _base_table(name: str, definitions: Mapping[str, Definition]) -> str:
    definition = definitions.get(name.lower())
    if not isinstance(definition, BaseTable):
        kind = "no table of this account" if definition is None else "no base table"
        raise DefinitionError(f"{name} is {kind}; statements read and write base tables")
    return definition.name


def _replacing(tree: exp.Create, text: str, definitions: Mapping[str, Definition]) -> Statement:
    schema = tree.this
    plain = {"this", "kind", "replace"} >= {key for key, value in tree.args.items() if value}
    if not (plain and tree.args.get("replace") and tree.kind == "TABLE" and isinstance(schema, exp.Schema)):
        raise DefinitionError(
            f"{_short(text)} is refused: it is CREATE OR REPLACE TABLE name (column type, ...) or nothing"
        )
    target = _base_table(_plain_name(schema.this), definitions)
    columns = []
    for column in schema.expressions:
        if not isinstance(column, exp.ColumnDef) or column.kind is None or column.args.get("constraints"):
            raise DefinitionError(f"{_short(text)} is refused: a column is a name and a type")
        columns.append((column.name, column_type(column.name, column.kind.sql(SparkText))))
    return Statement(text, target, tuple(columns))


def column_type(name: str, text: str) -> Type:
    """Returns the type of a base table's column.

    Raises DefinitionError: for a type that tables may not hold, and for a name that the engine uses itself.
    """
    if name.startswith("$") or name.lower() == "_metadata":
        raise DefinitionError(
            f"column {name}: names that begin with $, and the name _metadata, are reserved; take another name"
        )
    type_ = parse_type(text)
    if type_ is None:
        raise DefinitionError(
            f"column {name}: type {text} is not supported; use TINYINT, SMALLINT, INT, BIGINT, DECIMAL(p,s), "
            "FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, ARRAY, MAP or STRUCT"
        )
    return type_


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."
