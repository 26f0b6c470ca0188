"""SQL scripts with CREATE TABLE, VIEW, FUNCTION and DYNAMIC TABLE, read into statements and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from given.documents import type_of
from given.functions import SqlFunction, function_of, written_out
from workload.errors import WorkloadError
from workload.scenario import RefreshMode
from workload.schema import Column, Table
from workload.types import SqlType

FORMS = "CREATE TABLE, CREATE VIEW, CREATE FUNCTION or CREATE DYNAMIC TABLE"

PARTS = "__"
"""Stands between the parts of a name such as raw.sales, which is raw__sales in scenarios and reports."""


UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
"""The units of a target lag, in seconds."""


class ScriptError(ValueError):
    """A script or a statement in it cannot be used; the message names the file, the line and the remedy."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands: the file and the line of its first word, counted from 1."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTable:
    """A CREATE TABLE. `checks`: its CHECK conditions. The other fields name columns.

    `keys`: those of UNIQUE, too. `primary`: that of PRIMARY KEY, of which the engine is told.
    """

    table: Table
    place: Place
    keys: tuple[tuple[str, ...], ...]
    required: frozenset[str]
    checks: tuple[exp.Expr, ...]
    foreign: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]
    primary: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnfitTable:
    """A CREATE TABLE with a column of a type that no random value has; what reads the table is not judged."""

    name: str
    place: Place
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDefinition:
    """A CREATE VIEW or CREATE DYNAMIC TABLE.

    `text`: the query as it is written, which begins in line `line` of the file. `tree`: sqlglot's reading.
    `lag`: the target lag in microseconds; None for DOWNSTREAM or without one. `frozen`: the condition of the
    frozen part; empty without one.
    """

    name: str
    place: Place
    text: str
    line: int
    tree: exp.Query
    view: bool
    mode: RefreshMode = RefreshMode.AUTO
    lag: int | None = None
    frozen: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """The statements of all files, in the order in which they stand.

    `unfit`: tables with a column of a type that no random value has, each with the reason.
    """

    tables: tuple[BaseTable, ...]
    definitions: tuple[WrittenDefinition, ...]
    unfit: Mapping[str, str] = field(default_factory=dict)


def read_scripts(path: Path) -> Script:
    """The statements of a script, or of all scripts in a folder and its sub-folders, by name.

    Raises ScriptError for the first statement that cannot be used.
    """
    if not path.exists():
        raise ScriptError(
            f"{path}: there is no such file or folder; name a .sql script or a folder of scripts"
        )
    files = [path] if path.is_file() else sorted(path.rglob("*.sql"))
    if not files:
        raise ScriptError(f"{path}: the folder holds no file that ends in .sql; name one with {FORMS}")
    tables: list[BaseTable] = []
    definitions: list[WrittenDefinition] = []
    unfit: list[UnfitTable] = []
    for file in files:
        for statement in _statements(file):
            match statement:
                case BaseTable():
                    tables.append(statement)
                case UnfitTable():
                    unfit.append(statement)
                case WrittenDefinition():
                    definitions.append(statement)
    known: dict[str, Place] = {}
    places = [
        *((each.table.name, each.place) for each in tables),
        *((each.name, each.place) for each in unfit),
        *((each.name, each.place) for each in definitions),
    ]
    for name, place in places:
        if name in known:
            raise ScriptError(f"{place}: {name} is defined twice, first in {known[name]}; remove one")
        known[name] = place
    return Script(tuple(tables), tuple(definitions), {each.name: each.reason for each in unfit})


def _statements(file: Path) -> Iterator[BaseTable | UnfitTable | WrittenDefinition]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"{file} cannot be read: {error}; scripts are text in UTF-8") from error
    parts = list(_parts(text, file))
    if edits := [edit for _, part, tree in parts for edit in _names_of_one_part(tree, part[0].start)]:
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + "\n" * text.count("\n", start, end) + text[end:]
        parts = list(_parts(text, file))
    functions = [function_of(tree, text, part) for _, part, tree in parts]
    if any(functions):
        text, kept = _without_functions(text, [part for _, part, _ in parts], functions)
        try:
            text = written_out(text, kept)
        except ValueError as error:
            raise ScriptError(f"{file}: {error}; correct the script") from error
        parts = list(_parts(text, file))
    for place, part, tree in parts:
        written = text[part[0].start : part[-1].end + 1]
        if isinstance(tree, exp.Create) and tree.kind == "FUNCTION":
            raise ScriptError(f"{place}: write CREATE FUNCTION f(x TYPE, ..) RETURNS TYPE RETURN expression")
        if not isinstance(tree, exp.Create) or tree.kind not in ("TABLE", "VIEW"):
            raise ScriptError(f"{place}: {_opening(written)} is none of {FORMS}; remove the statement")
        if tree.kind == "VIEW" or _is_dynamic(tree):
            yield _definition(tree, text, part, place)
        elif isinstance(tree.this, exp.Schema) and tree.expression is None:
            yield _table(tree, place)
        else:
            raise ScriptError(
                f"{place}: a table is given by its columns, as in CREATE TABLE t (a INT); "
                "write CREATE DYNAMIC TABLE for a query that is maintained"
            )


def _without_functions(
    text: str, parts: Sequence[Sequence[Token]], functions: Sequence[SqlFunction | None]
) -> tuple[str, Mapping[str, SqlFunction]]:
    """Returns a script with blanks for its CREATE FUNCTION statements, and the functions by name."""
    kept: dict[str, SqlFunction] = {}
    for part, function in zip(parts, functions, strict=True):
        if function is not None:
            kept[function.name] = function
            start, end = part[0].start, part[-1].end + 1
            blank = "".join(each if each == "\n" else " " for each in text[start:end])
            text = text[:start] + blank + text[end:]
    return text, kept


def _parts(text: str, file: Path) -> Iterator[tuple[Place, list[Token], exp.Expr]]:
    """Each statement: where it stands, its tokens, and what sqlglot reads in it."""
    try:
        tokens = sqlglot.tokenize(text, read="spark")
    except SqlglotError as error:
        raise ScriptError(f"{file} cannot be read: {_short(error)}") from error
    for part in _split(tokens):
        place = Place(file, part[0].line)
        yield place, part, _parsed(text[part[0].start : part[-1].end + 1], place)


Edit = tuple[int, int, str]
"""The first character of a text to replace, the one behind the last, and what stands there instead."""


def _names_of_one_part(tree: exp.Expr, begin: int) -> Iterator[Edit]:
    """What makes `FROM raw__sales AS sales` of `FROM raw.sales`: relations of a scenario have one name.

    `begin`: where the statement begins in the text.
    """
    tables = [table for table in tree.find_all(exp.Table) if table.args.get("db") is not None]
    qualified = {tuple(part.name.lower() for part in table.parts) for table in tables}
    for table in tables:
        names = table.parts
        if all("start" in part.meta for part in names):
            bare = isinstance(table.parent, exp.From | exp.Join) and not table.alias
            alias = f" AS {names[-1].sql('databricks')}" if bare else ""
            name = PARTS.join(re.sub(r"\W", "_", part.name.lower()) for part in names)
            yield begin + names[0].meta["start"], begin + names[-1].meta["end"] + 1, name + alias
    for column in tree.find_all(exp.Column):
        names = column.parts
        for length in range(2, len(names)):
            known = tuple(part.name.lower() for part in names[:length]) in qualified
            if known and all("start" in part.meta for part in names[:length]):
                yield begin + names[0].meta["start"], begin + names[length - 1].meta["start"], ""


def _split(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _parsed(text: str, place: Place) -> exp.Expr:
    try:
        tree = sqlglot.parse_one(text, read="databricks")
    except SqlglotError as error:
        at = place
        if errors := getattr(error, "errors", None):
            at = Place(place.file, place.line + (errors[0].get("line") or 1) - 1)
        raise ScriptError(f"{at}: the statement cannot be read: {_short(error)}") from error
    if isinstance(tree, exp.Command):
        raise ScriptError(f"{place}: {_opening(text)} is none of {FORMS}; remove the statement")
    return tree


def _short(error: Exception) -> str:
    errors = getattr(error, "errors", None)
    text = str(errors[0].get("description")) if errors else str(error).splitlines()[0]
    return text.rstrip(".")


def _opening(text: str) -> str:
    return " ".join(text.split()[:3])


def _is_dynamic(tree: exp.Create) -> bool:
    properties = tree.args.get("properties")
    return properties is not None and properties.find(exp.DynamicProperty) is not None


def _name(table: exp.Expr, place: Place) -> str:
    if not isinstance(table, exp.Table) or table.args.get("db") is not None:
        raise ScriptError(f"{place}: {table.sql('spark')} is no name of one part; write it without a schema")
    return table.name.lower()


def _definition(tree: exp.Create, text: str, part: list[Token], place: Place) -> WrittenDefinition:
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    name = _name(target, place)
    if isinstance(tree.this, exp.Schema):
        raise ScriptError(f"{place}: {name} has a list of columns; name them in its query, with AS")
    query = tree.expression
    if not isinstance(query, exp.Query):
        raise ScriptError(f"{place}: {name} has no query; write AS SELECT ..")
    start = _after_as(part)
    mode, lag, frozen = RefreshMode.AUTO, None, ""
    for each in tree.args["properties"].expressions if tree.args.get("properties") else ():
        match each:
            case exp.Property() if each.name.upper() == "TARGET_LAG":
                lag = _lag(each.args["value"], place)
            case exp.Property() if each.name.upper() == "REFRESH_MODE":
                mode = _mode(each.args["value"], place)
            case exp.Property() if each.name.upper() == "FROZEN_WHERE":
                frozen = _condition(each.args["value"], place)
            case exp.Property() if each.name.upper() == "BACKFILL_FROM":
                # Each scenario begins with tables of its own, without a history.
                pass
            case exp.DynamicProperty():
                pass
            case _:
                what = each.name or each.sql("spark")
                raise ScriptError(f"{place}: {name} has the property {what}; remove it")
    return WrittenDefinition(
        name=name,
        place=place,
        text=text[part[start].start : part[-1].end + 1],
        line=part[start].line,
        tree=query,
        view=tree.kind == "VIEW",
        mode=mode,
        lag=lag,
        frozen=frozen,
    )


def _after_as(part: list[Token]) -> int:
    """The number of the token with which the query begins: the one after the first AS outside parentheses."""
    depth = 0
    for number, token in enumerate(part):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if token.token_type is TokenType.ALIAS and not depth:
            return number + 1
    raise AssertionError("sqlglot found a query after AS")


def _mode(value: exp.Expr, place: Place) -> RefreshMode:
    word = value.name.upper()
    if word not in RefreshMode.__members__:
        raise ScriptError(
            f"{place}: REFRESH_MODE is {value.name}; write one of {', '.join(RefreshMode.__members__)}"
        )
    return RefreshMode[word]


def _condition(value: exp.Expr, place: Place) -> str:
    """Returns the condition of a frozen part, which stands in quotes."""
    # sqlglot reads a doubled quote as the end of a text and the begin of the next one.
    text = "'".join(part.name for part in value.expressions) if isinstance(value, exp.Concat) else value.name
    try:
        sqlglot.parse_one(text, into=exp.Condition, read="databricks")
    except SqlglotError as error:
        raise ScriptError(f"{place}: FROZEN_WHERE cannot be read: {_short(error)}") from error
    return text


def _lag(value: exp.Expr, place: Place) -> int | None:
    if value.name.upper() == "DOWNSTREAM":
        return None
    found = re.fullmatch(r"\s*(\d+)\s+(second|minute|hour|day)s?\s*", value.name.lower())
    if found is None or not int(found[1]):
        raise ScriptError(f"{place}: TARGET_LAG is {value.name!r}; write it like '5 minutes', or DOWNSTREAM")
    return int(found[1]) * UNITS[found[2]] * 1_000_000


@dataclass(slots=True)
class _Promises:
    """The constraints of a table, collected as `BaseTable` has them."""

    keys: list[tuple[str, ...]] = field(default_factory=list)
    primary: tuple[str, ...] = ()
    required: set[str] = field(default_factory=set)
    checks: list[exp.Expr] = field(default_factory=list)
    foreign: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = field(default_factory=list)

    def add(self, constraint: Any, of: tuple[str, ...], table: str, place: Place) -> None:
        """Adds a constraint; `of`: the column that it stands beside. Raises ScriptError."""
        match constraint:
            case exp.PrimaryKeyColumnConstraint() | exp.PrimaryKey():
                self.primary = of or _names(constraint.expressions)
                self.keys.insert(0, self.primary)
                self.required.update(self.primary)
            case exp.UniqueColumnConstraint():
                self.keys.append(of or _names(constraint.this.expressions))
            case exp.NotNullColumnConstraint():
                self.required.update(() if constraint.args.get("allow_null") else of)
            case exp.CheckColumnConstraint():
                self.checks.append(constraint.this)
            case exp.Reference():
                self.foreign.append((of, *_referred(constraint)))
            case exp.ForeignKey():
                self.foreign.append(
                    (_names(constraint.expressions), *_referred(constraint.args["reference"]))
                )
            case exp.DefaultColumnConstraint() | exp.CommentColumnConstraint():
                pass
            case _:
                what = constraint.sql("spark")
                raise ScriptError(f"{place}: table {table} has {what}, which is not supported; remove it")


def _table(tree: exp.Create, place: Place) -> BaseTable | UnfitTable:
    name = _name(tree.this.this, place)
    columns: list[Column] = []
    promises = _Promises()
    for part in tree.this.expressions:
        if isinstance(part, exp.ColumnDef):
            type_ = _type(part, place)
            if type_ is None:
                shown = part.args["kind"].sql("spark")
                reason = f"its source {name} has the column {part.name} of type {shown}, which is not drawn"
                return UnfitTable(name, place, reason)
            columns.append(Column(part.name.lower(), type_))
            for constraint in part.constraints:
                promises.add(constraint.kind, (part.name.lower(),), name, place)
        else:
            for constraint in part.expressions if isinstance(part, exp.Constraint) else [part]:
                promises.add(constraint, (), name, place)
    keys, required, checks, foreign = promises.keys, promises.required, promises.checks, promises.foreign
    if not columns:
        raise ScriptError(f"{place}: table {name} has no columns; write CREATE TABLE {name} (a INT)")
    names = [column.name for column in columns]
    known = set(names)
    if twice := next((each for each in known if names.count(each) > 1), None):
        raise ScriptError(f"{place}: table {name} has the column {twice} twice; rename one")
    for used in (*keys, *(key for key, _, _ in foreign)):
        if others := sorted(set(used) - known):
            raise ScriptError(f"{place}: table {name} has no column {others[0]}, which a key names")
    return BaseTable(
        table=Table(name, tuple(columns)),
        place=place,
        keys=tuple(dict.fromkeys(keys)),
        required=frozenset(required),
        checks=tuple(checks),
        foreign=tuple(foreign),
        primary=promises.primary,
    )


def _names(parts: Iterable[exp.Expr]) -> tuple[str, ...]:
    return tuple(part.name.lower() for part in parts)


def _referred(reference: exp.Expr) -> tuple[str, tuple[str, ...]]:
    """The table of a REFERENCES, and its columns, which may be left out."""
    target = reference.this
    if isinstance(target, exp.Schema):
        return target.this.name.lower(), _names(target.expressions)
    return target.name.lower(), ()


def _type(column: exp.ColumnDef, place: Place) -> SqlType | None:
    """Returns the type of a column; None for one of which no random values are drawn."""
    if column.kind is None:
        raise ScriptError(f"{place}: column {column.name} has no type")
    if column.kind.is_type(exp.DataType.Type.CHAR, exp.DataType.Type.NCHAR):
        raise ScriptError(f"{place}: column {column.name} is a CHAR, which no table here holds; write STRING")
    try:
        return type_of(column.kind)
    except WorkloadError:
        return None
