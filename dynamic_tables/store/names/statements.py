"""Checks the DML statements of users as syntax trees; Spark then runs their text as it is.

A statement writes exactly one base table of the account. The check reads the text with sqlglot, and Spark
runs it, so a text that the two read differently could pass the check and do something else. Therefore what
sqlglot does not know is admitted in a few forms only, and comments, which may end at another place for Spark,
are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dynamic_tables.definition import BaseTable, Columns, Definition
from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.types import Type
from dynamic_tables.reading.text.parse import OUTSIDE, called_names, ensure_inside
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.store.names.catalog import is_reserved, parse_type

NAME = r"(?:`(?P<quoted>[A-Za-z]\w*)`|(?P<plain>[A-Za-z]\w*))"
TO_VERSION = r"TO\s+VERSION\s+AS\s+OF\s+\d+"
RESTORE = re.compile(rf"\s*RESTORE\s+(?:TABLE\s+)?{NAME}\s+{TO_VERSION}\s*", re.IGNORECASE | re.ASCII)
OPTIMIZE = re.compile(rf"\s*OPTIMIZE\s+{NAME}\s*", re.IGNORECASE | re.ASCII)
"""sqlglot does not know RESTORE and OPTIMIZE; only these forms of them are admitted."""

EVOLVING = re.compile(r"\bMERGE\s+WITH\s+SCHEMA\s+EVOLUTION\b", re.IGNORECASE)
"""sqlglot does not know this form, which is refused."""

COMMENTS = re.compile(
    r"(?:\s|--(?:[^\n\r\\]|\\(?![\n\r]|$))*(?:\r?\n|$)|/\*(?:(?!\*/|/\*).)*\*/)*", re.DOTALL
)
"""White space and comments that end at the same place for Spark and for sqlglot. For Spark, but not for
sqlglot, `/* */` comments nest, and a backslash at the end of a line continues a `--` comment on the next
line."""

DML = (
    exp.Insert,
    exp.MultitableInserts,
    exp.Update,
    exp.Delete,
    exp.Merge,
    exp.TruncateTable,
    exp.Create,
)
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
    """Returns a statement that writes one base table of the account, and reads its base tables.

    It may call every function of Spark's own, also `uuid()` or `current_timestamp()`: the value is stored by
    the commit, and no refresh evaluates it again. It may read other relations too: a table of Spark's catalog
    by its qualified name, files by their format and path, and functions such as RANGE.

    Raises DefinitionError: for every other statement; the text says what is refused and why.
    """
    try:
        return _checked(text, definitions)
    except DefinitionError as error:
        raise DefinitionError(f"{shown(text)} is refused: {error}") from error


def _checked(text: str, definitions: Mapping[str, Definition]) -> Statement:
    """Returns the statement that a text is; messages do not repeat the text, `check_statement` does."""
    text = _without_comments(text).strip().rstrip(";")
    for pattern in (RESTORE, OPTIMIZE):
        match = pattern.fullmatch(text)
        if match is not None:
            return Statement(text, _base_table(match["quoted"] or match["plain"], definitions))
    tree = _parse(text)
    if isinstance(tree, exp.Create):
        return _replacing(tree, text, definitions)
    _ensure_conditions(tree)
    ensure_inside(tree)
    for name in sorted(called_names(text) & OUTSIDE):
        raise DefinitionError(f"function {name} may run or read anything")
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    target = _target(tree)
    names = [_plain_name(table) for table in tree.find_all(exp.Table) if not _is_outside(table)]
    read = (name for name in names if name not in ctes or name == target)
    reads = tuple(_base_table(name, definitions) for name in read)
    target = _base_table(target, definitions)
    if isinstance(tree, exp.TruncateTable):
        # Delta has no TRUNCATE.
        return Statement(f"DELETE FROM `{target}`", target)
    return Statement(text, target, reads=reads)


def _parse(text: str) -> exp.Expression:
    """Returns the syntax tree of one DML statement. Raises DefinitionError for any other text."""
    try:
        parsed = [tree for tree in sqlglot.parse(text, read=SparkText) if isinstance(tree, exp.Expression)]
    except (SqlglotError, RecursionError) as error:
        if EVOLVING.search(text):
            reason = "it may add columns; write CREATE OR REPLACE TABLE for that, and MERGE INTO"
            raise DefinitionError(reason) from error
        raise DefinitionError(f"syntax error: {str(error).splitlines()[0]}") from error
    if len(parsed) != 1 or not isinstance(parsed[0], DML):
        raise DefinitionError(f"a statement is one {STATEMENTS}")
    return parsed[0]


def _without_comments(text: str) -> str:
    """Returns a text without its comments, so that Spark runs exactly the text that was checked.

    Raises DefinitionError: for a comment that Spark may end at another place than sqlglot.
    """
    try:
        tokens = SparkText().tokenize(text)
    except SqlglotError as error:
        raise DefinitionError("the text ends inside a string, a name or a comment") from error
    pieces, end = [], 0
    for token in tokens:
        # sqlglot makes three tokens of `1L`, at overlapping places: text that is copied already is passed
        # over.
        if token.end >= end:
            pieces += [_gap(text[end : token.start]), text[max(end, token.start) : token.end + 1]]
            end = token.end + 1
    return "".join([*pieces, _gap(text[end:])])


def _gap(between: str) -> str:
    """Returns what stands for the text between two tokens: a blank for comments, else the text itself."""
    if "--" not in between and "/*" not in between:
        return between
    if COMMENTS.fullmatch(between) is None:
        raise DefinitionError("a comment holds /*, or ends with a backslash; leave it out")
    return " "


def _ensure_conditions(tree: exp.Expression) -> None:
    """Raises DefinitionError for a subquery where Delta takes none, before any statement of a transaction."""
    where = tree.args.get("where") if isinstance(tree, exp.Update | exp.Delete) else None
    if where is not None and where.find(exp.Query) is not None:
        raise DefinitionError(
            "Delta takes no subquery in its WHERE; write MERGE INTO .. USING (SELECT ..) .. WHEN MATCHED"
        )


def _target(tree: exp.Expression) -> str:
    """Returns the name of the table that a statement writes."""
    if isinstance(tree, exp.MultitableInserts):
        if len(tree.expressions) > 1:
            raise DefinitionError("a statement writes one base table; write one statement for each")
        tree = tree.expressions[0]
    target = tree.this
    if isinstance(tree, exp.TruncateTable) and len(tree.expressions) == 1:
        target = tree.expressions[0]
    if isinstance(target, exp.Schema):
        target = target.this
    if not isinstance(target, exp.Table):
        raise DefinitionError("a statement writes one base table")
    return _plain_name(target)


def _plain_name(table: exp.Table) -> str:
    extra = [key for key in ("db", "catalog") if table.args.get(key) is not None]
    name = table.name.lower()
    # sqlglot parses IDENTIFIER('any name') as a table named `identifier` with columns.
    if not isinstance(table.this, exp.Identifier) or extra or name == "identifier":
        raise DefinitionError(
            f"in {table.sql(SparkText)}, write the plain name of a base table of this account"
        )
    return name


def _is_outside(table: exp.Table) -> bool:
    """Tells whether what a statement reads is no relation of the account; for its target, see `_target`."""
    return table.args.get("db") is not None or isinstance(table.this, exp.Func)


def _base_table(name: str, definitions: Mapping[str, Definition]) -> str:
    definition = definitions.get(name.lower())
    if not isinstance(definition, BaseTable):
        kind = "no table of this account" if definition is None else "no base table"
        raise DefinitionError(f"{name} is {kind}; statements read and write base tables")
    return definition.name


def _replacing(tree: exp.Create, text: str, definitions: Mapping[str, Definition]) -> Statement:
    """Returns a CREATE OR REPLACE TABLE with plain columns, the only CREATE that is admitted."""
    schema = tree.this
    plain = {"this", "kind", "replace"} >= {key for key, value in tree.args.items() if value}
    if not (plain and tree.args.get("replace") and tree.kind == "TABLE" and isinstance(schema, exp.Schema)):
        raise DefinitionError("write CREATE OR REPLACE TABLE name (column type, ...)")
    target = _base_table(_plain_name(schema.this), definitions)
    columns = []
    for column in schema.expressions:
        if not isinstance(column, exp.ColumnDef) or column.kind is None or column.args.get("constraints"):
            raise DefinitionError("a column is a name and a type")
        columns.append((column.name, column_type(column.name, column.kind.sql(SparkText))))
    return Statement(text, target, tuple(columns))


def column_type(name: str, text: str) -> Type:
    """Returns the type of a base table's column.

    Raises DefinitionError: for a type that tables may not hold, and for a name that the engine uses itself.
    """
    if is_reserved(name):
        raise DefinitionError(
            f"column {name}: names that begin with $, and the name _metadata, are reserved; take another name"
        )
    type_ = parse_type(text)
    if type_ is None:
        raise DefinitionError(
            f"column {name}: type {text} is not supported; use TINYINT, SMALLINT, INT, BIGINT, DECIMAL(p,s), "
            "FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, VARIANT, ARRAY, MAP or "
            "STRUCT"
        )
    return type_


def shown(text: str) -> str:
    """Returns a statement in one short line, as errors show it."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."
