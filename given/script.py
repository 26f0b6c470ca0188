"""The reader of SQL scripts (`read_scripts`) with CREATE TABLE, VIEW, FUNCTION and DYNAMIC TABLE.

sqlglot parses the statements. Then the text is edited, and parsed again: a name of several parts becomes one
word (`raw.sales` is `raw__sales`), and calls of functions are written out (`given.functions`). A statement
that cannot be used becomes an `Unfit`, so that the rest of the script is judged.
"""

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

from given.dialect import WrittenSpark
from given.documents import type_of
from given.functions import SqlFunction, function_of, written_out
from workload.errors import WorkloadError, first_line
from workload.scenario import RefreshMode, Scenario
from workload.schema import Column, Table
from workload.types import NESTED, Kind, SqlType
from workload.wellformed import check_definitions

KNOWN = ("CREATE TABLE", "CREATE VIEW", "CREATE FUNCTION", "CREATE DYNAMIC TABLE")
FORMS = f"{', '.join(KNOWN[:-1])} or {KNOWN[-1]}"

PARTS = "__"
"""The separator between the parts of a name: raw.sales is raw__sales in scenarios and reports."""


UNUSABLE = ", which cannot be used"
"""The end of a reason that names another one: of a definition that reads what another statement creates."""

UNDRAWN = (exp.DataType.Type.INTERVAL, exp.DataType.Type.OBJECT)
"""Types of Spark of which no random values are drawn."""

IDENTIFYING = frozenset(Kind) - NESTED - {Kind.FLOAT, Kind.DOUBLE}
"""The kinds of the columns of a primary key of which an engine may be told."""

Foreign = tuple[tuple[str, ...], str, tuple[str, ...]]
"""A foreign key: its columns, the other table, and the columns there (empty: that table's first key)."""

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
"""The units of a target lag, in seconds."""


class ScriptError(ValueError):
    """A script or a statement in it cannot be used; the message names the file, the line and the remedy."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a statement: the file, and the line of its first word, counted from 1."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTable:
    """A base table, as a CREATE TABLE describes it.

    `keys`: the columns of each PRIMARY KEY and UNIQUE, the primary key first. `required`: the columns that
    are never NULL. `checks`: the conditions of CHECK. `foreign`: the foreign keys. `primary`: the columns of
    the PRIMARY KEY, of which the engine may be told; empty without one.
    """

    table: Table
    place: Place
    keys: tuple[tuple[str, ...], ...]
    required: frozenset[str]
    checks: tuple[exp.Expr, ...]
    foreign: tuple[Foreign, ...]
    primary: tuple[str, ...]

    @property
    def declared(self) -> tuple[str, ...]:
        """The primary key of which an engine may be told; empty where its types tell no two rows apart."""
        types = {column.name: column.type for column in self.table.columns}
        return self.primary if all(types[name].kind in IDENTIFYING for name in self.primary) else ()


@dataclass(frozen=True, slots=True)
class Unfit:
    """A statement that cannot be used. No definition that reads what it creates is judged.

    `name`: what it creates. `reason`: why such a definition is not judged. `wrong`: what the user must
    correct, with file and line; empty for a correct table that has a column of a type that is not drawn.
    """

    name: str
    place: Place
    reason: str
    wrong: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDefinition:
    """A view or dynamic table, as a CREATE VIEW or CREATE DYNAMIC TABLE describes it.

    `text`: the query as it is written, which begins in line `line` of the file. `tree`: the query as sqlglot
    parsed it. `view`: True for a view. `lag`: the target lag in microseconds; None for DOWNSTREAM or without
    one. `frozen`: the condition of the frozen part; empty without one.
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
    """The statements of all files that can be used, in their order.

    `unfit`: those that cannot be used, by the name that they create.
    """

    tables: tuple[BaseTable, ...]
    definitions: tuple[WrittenDefinition, ...]
    unfit: Mapping[str, Unfit] = field(default_factory=dict)

    def without(self, unfit: Unfit) -> Script:
        """Returns the script with a table moved to the statements that cannot be used."""
        tables = tuple(each for each in self.tables if each.table.name != unfit.name)
        return Script(tables, self.definitions, {**self.unfit, unfit.name: unfit})


def read_scripts(path: Path) -> Script:
    """Returns the statements of a script, or of all scripts in a folder and its sub-folders, by file name.

    A statement that creates a name and cannot be used is in `unfit`. Raises ScriptError if there is no
    script, for a statement that cannot be used and creates no name, and for a name that is created twice.
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
    unfit: list[Unfit] = []
    for file in files:
        for statement in _statements(file):
            match statement:
                case BaseTable():
                    tables.append(statement)
                case Unfit():
                    unfit.append(statement)
                case WrittenDefinition():
                    definitions.append(statement)
    created: dict[str, Place] = {}
    places = [
        *((each.table.name, each.place) for each in tables),
        *((each.name, each.place) for each in unfit),
        *((each.name, each.place) for each in definitions),
    ]
    for name, place in places:
        if name in created:
            raise ScriptError(f"{place}: {name} is defined twice, first in {created[name]}; remove one")
        created[name] = place
    return with_foreign_keys(Script(tuple(tables), tuple(definitions), {each.name: each for each in unfit}))


def with_foreign_keys(script: Script) -> Script:
    """Returns the script without tables whose foreign keys name a table or columns that it does not have."""
    tables = {each.table.name: each for each in script.tables}
    for base in script.tables:
        for key in base.foreign:
            if wrong := _wrong_key(key, tables, script.unfit):
                name, error = (
                    base.table.name,
                    ScriptError(f"{base.place}: a foreign key of {base.table.name} {wrong}"),
                )
                return with_foreign_keys(script.without(unusable(name, base.place, error)))
    return script


def _wrong_key(key: Foreign, tables: Mapping[str, BaseTable], unfit: Mapping[str, Unfit]) -> str:
    """Returns what is wrong with a foreign key, and what to do; an empty text if nothing is."""
    names, target, referred = key
    if target in unfit:
        return f"names {target}, which cannot be used; correct that first, or remove the key"
    if target not in tables:
        return f"names {target}, which no script creates; add its CREATE TABLE"
    other = tables[target]
    columns = referred or (other.keys[0] if other.keys else ())
    if len(columns) != len(names) or not {*columns} <= {column.name for column in other.table.columns}:
        return (
            f"does not fit the columns of {target}; "
            f"write FOREIGN KEY (..) REFERENCES {target} (..) with as many columns"
        )
    return ""


def unusable(name: str, place: Place, error: ScriptError) -> Unfit:
    """Returns the Unfit of a statement that creates a name and cannot be used because of an error."""
    return Unfit(name, place, f"it reads {name}{UNUSABLE}", str(error))


def _statements(file: Path) -> Iterator[BaseTable | Unfit | WrittenDefinition]:
    """Yields the statements of a file. Raises ScriptError for one that cannot be used and creates no name."""
    try:
        # Editors on Windows begin a file with a mark of the byte order.
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"{file} cannot be read: {error}; scripts are text in UTF-8") from error
    parts = list(_parsed_statements(text, file))
    read = [(tokens, tree) for _, tokens, tree in parts if isinstance(tree, exp.Expr)]
    if edits := [edit for tokens, tree in read for edit in _edits_of_names(tree, tokens[0].start)]:
        # From the end, so that earlier positions stay right; line breaks stay, so that line numbers do.
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + "\n" * text.count("\n", start, end) + text[end:]
        parts = list(_parsed_statements(text, file))
    functions = [function_of(tree, text, tokens) for _, tokens, tree in parts]
    if any(functions):
        text, by_name = _without_functions(text, [tokens for _, tokens, _ in parts], functions)
        try:
            text = written_out(text, by_name)
        except ValueError as error:
            raise ScriptError(f"{file}: {error}; correct the script") from error
        parts = list(_parsed_statements(text, file))
    for place, tokens, tree in parts:
        try:
            yield _statement(tree, text, tokens, place)
        except ScriptError as error:
            name = _created(tokens)
            if not name:
                raise
            yield unusable(name, place, error)


def _statement(
    tree: exp.Expr | ScriptError, text: str, tokens: list[Token], place: Place
) -> BaseTable | Unfit | WrittenDefinition:
    """Returns what a statement creates. Raises ScriptError for a statement that a script may not hold."""
    if isinstance(tree, ScriptError):
        raise tree
    written = text[tokens[0].start : tokens[-1].end + 1]
    if isinstance(tree, exp.Create) and tree.kind == "FUNCTION":
        raise ScriptError(f"{place}: write CREATE FUNCTION f(x TYPE, ..) RETURNS TYPE RETURN expression")
    if not isinstance(tree, exp.Create) or tree.kind not in ("TABLE", "VIEW"):
        raise ScriptError(f"{place}: {_opening(written)} is none of {FORMS}; remove the statement")
    if tree.kind == "VIEW" or _is_dynamic(tree):
        return _definition(tree, text, tokens, place)
    if isinstance(tree.this, exp.Schema) and tree.expression is None:
        return _table(tree, place)
    raise ScriptError(
        f"{place}: a table is given by its columns, as in CREATE TABLE t (a INT); "
        "write CREATE DYNAMIC TABLE for a query that is maintained"
    )


def _created(tokens: Sequence[Token]) -> str:
    """Returns the name that a CREATE TABLE or CREATE VIEW creates, read off its words; else an empty text."""
    words = [token.text.upper() for token in tokens]
    kind = next((n for n, word in enumerate(words[:5]) if word in ("TABLE", "VIEW")), None)
    if words[0] != "CREATE" or kind is None:
        return ""
    begin = kind + (4 if words[kind + 1 : kind + 4] == ["IF", "NOT", "EXISTS"] else 1)
    parts = [token.text.lower() for token in tokens[begin : begin + 1]]
    for dot, name in zip(tokens[begin + 1 :: 2], tokens[begin + 2 :: 2], strict=False):
        if dot.token_type is not TokenType.DOT:
            break
        parts.append(name.text.lower())
    return PARTS.join(re.sub(r"\W", "_", each) for each in parts) if len(parts) > 1 else "".join(parts)


def _without_functions(
    text: str, parts: Sequence[Sequence[Token]], functions: Sequence[SqlFunction | None]
) -> tuple[str, Mapping[str, SqlFunction]]:
    """Returns a script with blanks for its CREATE FUNCTION statements, and the functions by name."""
    by_name: dict[str, SqlFunction] = {}
    for part, function in zip(parts, functions, strict=True):
        if function is not None:
            by_name[function.name] = function
            start, end = part[0].start, part[-1].end + 1
            blank = "".join(each if each == "\n" else " " for each in text[start:end])
            text = text[:start] + blank + text[end:]
    return text, by_name


def _parsed_statements(text: str, file: Path) -> Iterator[tuple[Place, list[Token], exp.Expr | ScriptError]]:
    """Yields each statement: its place, its tokens, and its tree, or the error if sqlglot cannot parse it."""
    try:
        tokens = sqlglot.tokenize(text, read="spark")
    except SqlglotError as error:
        raise ScriptError(f"{file} cannot be read: {_short(error)}") from error
    for statement in _split(tokens):
        place = Place(file, statement[0].line)
        try:
            yield place, statement, _parsed(text[statement[0].start : statement[-1].end + 1], place)
        except ScriptError as error:
            yield place, statement, error


Edit = tuple[int, int, str]
"""An edit of a text: the first character to replace, the one behind the last, and the new characters."""


def _edits_of_names(tree: exp.Expr, begin: int) -> Iterator[Edit]:
    """Yields the edits that make `FROM raw__sales AS sales` of `FROM raw.sales`.

    Relations of a scenario have names of one part. `begin`: where the statement begins in the text.
    """
    tables = [
        table
        for table in tree.find_all(exp.Table)
        if table.args.get("db") is not None or re.search(r"\W", table.name)
    ]
    qualified = {tuple(part.name.lower() for part in table.parts) for table in tables}
    for table in tables:
        names = table.parts
        if all("start" in part.meta for part in names):
            bare = isinstance(table.parent, exp.From | exp.Join) and not table.alias
            alias = f" AS {names[-1].sql('databricks')}" if bare else ""
            name = PARTS.join(re.sub(r"\W", "_", part.name.lower()) for part in names)
            yield begin + names[0].meta["start"], begin + names[-1].meta["end"] + 1, name + alias
    # raw.sales.amount becomes sales.amount, by the alias that the relation has now.
    for column in tree.find_all(exp.Column):
        names = column.parts
        for length in range(2, len(names)):
            is_qualified = tuple(part.name.lower() for part in names[:length]) in qualified
            if is_qualified and all("start" in part.meta for part in names[:length]):
                yield begin + names[0].meta["start"], begin + names[length - 1].meta["start"], ""


def _split(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


TOO_DEEP = (
    "the query is nested too deeply; write a long chain of equalities with IN, "
    "or split the query over several definitions"
)


def _parsed(text: str, place: Place) -> exp.Expr:
    """Returns the tree of a statement. Raises ScriptError, with the line, if sqlglot cannot read it."""
    try:
        tree = sqlglot.parse_one(text, read=WrittenSpark)
    except SqlglotError as error:
        at = place
        if errors := getattr(error, "errors", None):
            at = Place(place.file, place.line + (errors[0].get("line") or 1) - 1)
        raise ScriptError(f"{at}: the statement cannot be read: {_short(error)}") from error
    except RecursionError as error:
        raise ScriptError(f"{place}: {TOO_DEEP}") from error
    if isinstance(tree, exp.Command):
        raise ScriptError(f"{place}: {_unread(text)}")
    return tree


def _unread(text: str) -> str:
    """Returns what is wrong with a statement of which sqlglot knows the first word alone."""
    form = next((form for form in KNOWN if text.upper().startswith(form)), "")
    if not form:
        return f"{_opening(text)} is none of {FORMS}; remove the statement"
    query = re.search(r"(?is)\bAS\b\s*(.*)", text)
    try:
        sqlglot.parse_one(query[1] if query else "", read=WrittenSpark)
    except SqlglotError as error:
        return f"the query behind AS cannot be read: {_short(error)}"
    return f"the statement cannot be read: something between {form} and AS, or the first word behind it"


def _short(error: Exception) -> str:
    errors = getattr(error, "errors", None)
    if not errors:
        return first_line(error).rstrip(".")
    text, word = str(errors[0].get("description")).rstrip("."), errors[0].get("highlight")
    # Such as an unknown type, where sqlglot expects the end of a column.
    return f"{text}, found {word}" if word and text.startswith("Expecting") else text


def _opening(text: str) -> str:
    return " ".join(text.split()[:3])


def _is_dynamic(tree: exp.Create) -> bool:
    properties = tree.args.get("properties")
    return properties is not None and properties.find(exp.DynamicProperty) is not None


def _name(table: exp.Expr, place: Place) -> str:
    if not isinstance(table, exp.Table) or table.args.get("db") is not None:
        raise ScriptError(f"{place}: {table.sql('spark')} is no name of one part; write it without a schema")
    return table.name.lower()


def _definition(tree: exp.Create, text: str, tokens: list[Token], place: Place) -> WrittenDefinition:
    """Returns the definition that a statement creates. Raises ScriptError for what it may not have."""
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    name = _name(target, place)
    if isinstance(tree.this, exp.Schema):
        raise ScriptError(f"{place}: {name} has a list of columns; name them in its query, with AS")
    query = tree.expression
    if not isinstance(query, exp.Query):
        raise ScriptError(f"{place}: {name} has no query; write AS SELECT ..")
    start = _after_as(tokens)
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
        text=text[tokens[start].start : tokens[-1].end + 1],
        line=tokens[start].line,
        tree=query,
        view=tree.kind == "VIEW",
        mode=mode,
        lag=lag,
        frozen=frozen,
    )


def _after_as(tokens: list[Token]) -> int:
    """Returns the number of the first token of the query: the one after the first AS outside parentheses."""
    depth = 0
    for number, token in enumerate(tokens):
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
        sqlglot.parse_one(text, into=exp.Condition, read=WrittenSpark)
    except SqlglotError as error:
        raise ScriptError(f"{place}: FROZEN_WHERE cannot be read: {_short(error)}") from error
    return text


def _lag(value: exp.Expr, place: Place) -> int | None:
    """Returns the target lag in microseconds; None for DOWNSTREAM."""
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
    foreign: list[Foreign] = field(default_factory=list)

    def add(self, constraint: Any, of: tuple[str, ...], table: str, place: Place) -> None:
        """Adds a constraint; `of`: the column that it stands beside. Raises ScriptError for other kinds."""
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


def _table(tree: exp.Create, place: Place) -> BaseTable | Unfit:
    """Returns the table that a statement creates; an Unfit if it has a column of a type that is not drawn."""
    name = _name(tree.this.this, place)
    columns: list[Column] = []
    promises = _Promises()
    for part in tree.this.expressions:
        if isinstance(part, exp.ColumnDef):
            if part.kind is not None and part.kind.is_type(*UNDRAWN):
                type_ = part.kind.sql("spark")
                reason = f"its source {name} has the column {part.name} of type {type_}, which is not drawn"
                return Unfit(name, place, reason)
            columns.append(Column(part.name.lower(), _type(part, place)))
            for constraint in part.constraints:
                promises.add(constraint.kind, (part.name.lower(),), name, place)
        else:
            for constraint in part.expressions if isinstance(part, exp.Constraint) else [part]:
                promises.add(constraint, (), name, place)
    table = Table(name, tuple(columns))
    if wrong := _wrong_table(table, promises):
        raise ScriptError(f"{place}: {wrong}")
    return BaseTable(
        table=table,
        place=place,
        keys=tuple(dict.fromkeys(promises.keys)),
        required=frozenset(promises.required),
        checks=tuple(promises.checks),
        foreign=tuple(promises.foreign),
        primary=promises.primary,
    )


def _wrong_table(table: Table, promises: _Promises) -> str:
    """Returns what is wrong with a table's columns, or those that its promises name; empty if nothing is."""
    names = [column.name for column in table.columns]
    if not names:
        return f"table {table.name} has no columns; write CREATE TABLE {table.name} (a INT)"
    if twice := next((each for each in names if names.count(each) > 1), None):
        return f"table {table.name} has the column {twice} twice; rename one"
    for key_columns in (*promises.keys, *(key for key, _, _ in promises.foreign)):
        if unknown := sorted({*key_columns}.difference(names)):
            return f"table {table.name} has no column {unknown[0]}, which a key names"
    for check in promises.checks:
        if unknown := sorted({each.name.lower() for each in check.find_all(exp.Column)}.difference(names)):
            return f"table {table.name} has no column {unknown[0]}, which a CHECK names"
    try:
        # No definition could stand beside a table whose name or columns a scenario refuses.
        check_definitions(Scenario(table.name, (table,), (), ()))
    except WorkloadError as error:
        return str(error)
    return ""


def _names(parts: Iterable[exp.Expr]) -> tuple[str, ...]:
    return tuple(part.name.lower() for part in parts)


def _referred(reference: exp.Expr) -> tuple[str, tuple[str, ...]]:
    """Returns the table of a REFERENCES, and its columns; no columns if they are left out."""
    target = reference.this
    if isinstance(target, exp.Schema):
        return target.this.name.lower(), _names(target.expressions)
    return target.name.lower(), ()


def _type(column: exp.ColumnDef, place: Place) -> SqlType:
    """Returns the type of a column. Raises ScriptError if no table here can have it."""
    if column.kind is None:
        raise ScriptError(f"{place}: column {column.name} has no type")
    if column.kind.is_type(exp.DataType.Type.CHAR, exp.DataType.Type.NCHAR):
        raise ScriptError(f"{place}: column {column.name} is a CHAR, which no table here holds; write STRING")
    try:
        return type_of(column.kind)
    except WorkloadError as error:
        raise ScriptError(f"{place}: column {column.name}: {error}") from error
