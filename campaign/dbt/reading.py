"""The reading of models' compiled texts: which source drives a model, its clock column, its constants.

Nothing here decides whether a model is right: it only chooses which changes are worth a trial, and how they
are named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, build_scope, traverse_scope

from campaign.dbt.project import CLOCK_NAMES, Project, Source
from campaign.dbt.rows import DOT, ELEMENT, NULL, can_be_clock, is_time, part_type
from given.near import around
from workload.types import Kind, SqlType

COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between),
    *(exp.In, exp.Like, exp.ILike, exp.Case, exp.Is),
)

ISO_DAY = re.compile(r"\d{4}-[01]\d-[0-3]\d")

TIME = re.compile(
    r"\b(current_date|current_timestamp|now\s*\(|today\s*\(|get_current_timestamp|localtimestamp|run_started_at)",
    re.IGNORECASE,
)
"""Words of a condition that depends on the time of its run."""


@dataclass(frozen=True, slots=True)
class TextRead:
    """What the text of one model reads. Relations are named in lower case, without quotes.

    `driving`: those whose rows become its rows; `joined`: those that are only joined or looked up.
    `filtered`: columns that are compared with the model itself, `matched`: those that are looked up in it,
    such as `id IN (SELECT id FROM {{ this }})`. `constants`: literals by column name.
    `links`: names of columns that are compared with one another. `renames`: other names of columns, each with
    the column. `timed`: a condition depends on the time. `times`: columns that are read as dates or times.
    `made_of`: names of expressions of one column, such as lower(status), each with the column. `documents`:
    columns that are read as JSON, each with a path: payload.type. `groups`: several rows may become one.
    `latest`: of several rows of a key one is chosen, by its place in an order.
    """

    driving: frozenset[str]
    joined: frozenset[str]
    filtered: tuple[str, ...]
    constants: Mapping[str, tuple[str, ...]]
    links: frozenset[tuple[str, str]]
    renames: frozenset[tuple[str, str]]
    timed: bool
    times: frozenset[str] = frozenset()
    made_of: frozenset[tuple[str, str]] = frozenset()
    matched: tuple[str, ...] = ()
    documents: frozenset[str] = frozenset()
    groups: bool = False
    latest: bool = False


@dataclass(frozen=True, slots=True)
class Roles:
    """Which sources drive each model, and which are only joined, both by id."""

    driving: Mapping[str, frozenset[str]]
    joined: Mapping[str, frozenset[str]]


def plain(relation: str) -> str:
    """Returns a relation's name in lower case without quotes."""
    return relation.replace('"', "").replace("`", "").lower()


def read_text(text: str, itself: str, dialect: str = "duckdb") -> TextRead | None:
    """Returns what a compiled text reads, or None if sqlglot cannot read it; `itself`: its own relation."""
    try:
        tree = parse_one(text, read=dialect)
        root = build_scope(tree)
    except (SqlglotError, RecursionError):
        return None
    if root is None:
        return None
    driving: set[str] = set()
    joined: set[str] = set()
    sort_relations(root, driving, driving, joined, set())
    everything = {plain(relation_of(table)) for table in tree.find_all(exp.Table)}
    joined |= {name for name in everything if "." in name} - driving
    filtered = tuple(dict.fromkeys(filtered_columns(tree, itself, ORDERED)))
    constants: dict[str, dict[str, None]] = {}
    for name, literal in literals(tree):
        constants.setdefault(name, {})[literal] = None
    return TextRead(
        frozenset(driving - {itself}),
        frozenset(joined - {itself}),
        filtered,
        {name: tuple(found) for name, found in constants.items()},
        frozenset(links(tree)),
        frozenset(renames(tree)),
        any(TIME.search(each.sql("duckdb")) for each in tree.find_all(*COMPARISONS)),
        frozenset(read_as_times(tree)),
        frozenset(made_of(tree)),
        tuple(dict.fromkeys(filtered_columns(tree, itself, (exp.EQ, exp.In)))),
        frozenset(documents(tree)),
        groups(root, set()),
        takes_latest(tree),
    )


def relation_of(table: exp.Table) -> str:
    """Returns the full name of a table, unquoted."""
    return ".".join(part.name for part in table.parts)


def named_relations(text: str, dialect: str) -> frozenset[str]:
    """Returns the relations that a compiled text names, in lower case, but for its CTEs."""
    try:
        tree = parse_one(text, read=dialect)
    except (SqlglotError, RecursionError):
        return frozenset()
    inner = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    return frozenset(plain(relation_of(table)) for table in tree.find_all(exp.Table)) - inner - {""}


def ends_with(relation: str, name: str) -> bool:
    """Returns whether a name stands for a relation, in full or without its first parts, in lower case."""
    return f".{relation}".endswith(f".{name}")


def sort_relations(scope: Scope, into: set[str], driving: set[str], joined: set[str], seen: set[int]) -> None:
    """Adds the relations that a scope reads in FROM to `into`, those that it joins to `joined`, once each."""
    if id(scope) in seen:
        return
    seen.add(id(scope))
    for part in scope.set_operation_scopes:
        sort_relations(part, into, driving, joined, seen)
    if scope.set_operation_scopes:
        return
    select = scope.expression
    first = select.args.get("from_") or select.args.get("from")
    joins = select.args.get("joins") or ()
    for at, source in [(first, into), *((join, joined) for join in joins)]:
        table = None if at is None else at.this
        if table is None:
            continue
        inner = scope.sources.get(table.alias_or_name)
        if isinstance(inner, Scope):
            sort_relations(inner, source, driving, joined, seen)
        elif isinstance(table, exp.Table):
            source.add(plain(relation_of(table)))


def groups(scope: Scope, seen: set[int]) -> bool:
    """Returns whether a scope makes one row of several (GROUP BY, DISTINCT), or what it reads in FROM does.

    A grouping that is only joined or looked up, such as that of the keys that changed, is none.
    """
    if id(scope) in seen:
        return False
    seen.add(id(scope))
    if scope.set_operation_scopes:
        return any(groups(part, seen) for part in scope.set_operation_scopes)
    select = scope.expression
    first = select.args.get("from_") or select.args.get("from")
    inner = None if first is None else scope.sources.get(first.this.alias_or_name)
    distinct = select.args.get("distinct")
    grouped = bool(select.args.get("group")) or (distinct is not None and not distinct.args.get("on"))
    return grouped or (isinstance(inner, Scope) and groups(inner, seen))


def takes_latest(tree: exp.Expr) -> bool:
    """Returns whether a text takes one row of each key: row_number() = 1, QUALIFY, or DISTINCT ON."""
    if any(each.args.get("on") for each in tree.find_all(exp.Distinct)):
        return True
    places = [each for each in tree.find_all(exp.Window) if isinstance(each.this, PLACES)]
    names = {each.parent.alias.lower() for each in places if isinstance(each.parent, exp.Alias)}
    if any(each.find_ancestor(exp.Qualify) for each in places):
        return True
    return any(
        isinstance(each.this, exp.Column) and each.this.name.lower() in names and each.expression.name == "1"
        for each in tree.find_all(exp.EQ)
    )


PLACES = (exp.RowNumber, exp.Rank, exp.DenseRank)
"""Functions that number the rows of a key in an order."""


def filtered_columns(tree: exp.Expr, itself: str, by: tuple[type[exp.Expr], ...]) -> Iterator[str]:
    """Yields the columns compared with what is read from the model: at > (SELECT max(at) FROM {{ this }}).

    `by`: the comparisons.
    """
    reads_itself = {
        scope_name(scope)
        for scope in traverse_scope(tree)
        if any(plain(relation_of(table)) == itself for table in scope.expression.find_all(exp.Table))
    } - {""}
    for each in tree.find_all(*by):
        if _has_inner(each, itself, reads_itself):
            continue
        sides = [
            each.this,
            *(side for key, side in each.args.items() if key != "this" and isinstance(side, exp.Expression)),
        ]
        for side in sides:
            names = {plain(relation_of(table)) for table in side.find_all(exp.Table)}
            if itself in names or names & reads_itself:
                for other in sides:
                    if other is not side:
                        # A part of a document may say how new it is, the document does not.
                        columns = [
                            c for c in other.find_all(exp.Column) if not isinstance(wrapped(c).parent, PARTS)
                        ]
                        yield from (column.name.lower() for column in columns)
                        yield from parts_of(other)


ORDERED = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)

FILTERS = (*ORDERED, exp.EQ, exp.In)


def _has_inner(comparison: exp.Expr, itself: str, reads_itself: set[str]) -> bool:
    """Returns whether a comparison inside this one reads the model itself: that one has the clock column."""
    for inner in comparison.find_all(*FILTERS):
        names = {plain(relation_of(table)) for table in inner.find_all(exp.Table)}
        if inner is not comparison and (itself in names or names & reads_itself):
            return True
    return False


def scope_name(scope: Scope) -> str:
    """Returns the name of the CTE that a scope is, or an empty one."""
    parent = scope.expression.parent
    return parent.alias.lower() if isinstance(parent, exp.CTE) else ""


def renames(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Yields the aliases of plain columns, also of those that are only cast, each with the column's name."""
    for alias in tree.find_all(exp.Alias):
        inner = alias.this.this if isinstance(alias.this, exp.Cast) else alias.this
        if isinstance(inner, exp.Column) and inner.name.lower() != alias.alias.lower():
            yield alias.alias.lower(), inner.name.lower()


def made_of(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Yields the aliases of expressions of one column over one row, each with the column's name.

    And those of parts of a column, each with the part's name (`parts_of`).
    """
    for alias in tree.find_all(exp.Alias):
        yield from ((alias.alias.lower(), part) for part in parts_of(alias.this))
        names = {column.name.lower() for column in alias.this.find_all(exp.Column)}
        if len(names) == 1 and alias.this.find(exp.AggFunc, exp.Window, exp.Query) is None:
            yield alias.alias.lower(), names.pop()
    # SELECT ctx.country has the name country.
    yield from ((each.name.lower(), part) for each in tree.find_all(exp.Column) for part in parts_of(each))


def columns_of(source: Source, name: str, renamed: Mapping[str, frozenset[str]]) -> list[str]:
    """Returns the columns of a source that a name in a model may stand for, by the renames of all models."""
    spelled = {column.lower(): column for column in source.names}
    found, left = [], [name.lower()]
    for each in left:
        if each in spelled:
            found.append(spelled[each])
        else:
            left.extend(other for other in sorted(renamed.get(each, ())) if other not in left)
    return found


def parts_named(source: Source, name: str, behind: Mapping[str, frozenset[str]]) -> list[str]:
    """Returns the parts of a source's columns that a name in a model may stand for, such as payload.type.

    `behind`: by an alias, the columns and parts that its expression reads, in all models.
    """
    found = [name]
    for each in found:
        found.extend(other for other in sorted(behind.get(each, ())) if other not in found)
    parts = [each.split(".", 1) for each in found if "." in each]
    # A column of the alias's name may stand beside the one that the alias is made of.
    return list(
        dict.fromkeys(
            f"{column.lower()}.{path}"
            for first, path in parts
            for also in (first, *sorted(behind.get(first, ())))
            for column in columns_of(source, also, behind)
        )
    )


def links(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Yields the names of columns that are equal in a condition, or in USING, both ways."""
    for each in tree.find_all(exp.EQ):
        if isinstance(each.this, exp.Column) and isinstance(each.expression, exp.Column):
            one, two = each.this.name.lower(), each.expression.name.lower()
            yield from ((one, two), (two, one))
    for join in tree.find_all(exp.Join):
        yield from ((name.name.lower(), name.name.lower()) for name in join.args.get("using") or ())


def literals(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """Yields by column name the literals beside it in a condition, with neighbours, and NULL after IS."""
    for each in tree.find_all(*COMPARISONS):
        columns = [column.name.lower() for column in each.find_all(exp.Column)]
        names = [*columns, *parts_of(each)]
        if isinstance(each, exp.Is) and isinstance(each.expression, exp.Null):
            yield from ((name, NULL) for name in names)
        for literal in each.find_all(exp.Literal):
            # In ctx['country'] it is the name of a field.
            for name in [] if isinstance(literal.parent, exp.Bracket) else names:
                yield from ((name, value) for value in with_neighbours(literal))
    for contains in tree.find_all(exp.ArrayContains):
        if isinstance(contains.this, exp.Column) and isinstance(contains.expression, exp.Literal):
            yield f"{contains.this.name.lower()}.{ELEMENT}", contains.expression.sql("duckdb")


def parts_of(tree: exp.Expr) -> Iterator[str]:
    """Yields the parts of columns that an expression reads: payload.type for payload->>'$.type', or a field.

    A column with the name of its table reads as a field, too; no source has a column of that name.
    """
    for each in tree.find_all(*PARTS, exp.Column, exp.Any):
        names = [] if isinstance(wrapped(each).parent, PARTS) else part_names(each)
        if len(names) > 1:
            yield ".".join([names[0].lower(), *names[1:]])


def documents(tree: exp.Expr) -> Iterator[str]:
    """Yields the columns that are read as JSON, where a path of them is read with it: payload.type."""
    for extract in tree.find_all(exp.JSONExtract, exp.JSONExtractScalar):
        names = [] if isinstance(wrapped(extract).parent, PARTS) else part_names(extract)
        if names:
            yield ".".join([names[0].lower(), *names[1:]])
    for each in tree.find_all(exp.Cast, exp.Func):
        anonymous = isinstance(each, exp.Anonymous)
        named = anonymous and re.match("json_(?!object|array$|quote|merge|group)", each.name, re.IGNORECASE)
        first = next(iter(each.expressions), None) if anonymous else each.this
        is_json = isinstance(each, exp.Cast) and each.to.this == exp.DataType.Type.JSON
        if isinstance(first, exp.Column) and (named or is_json or each.key in JSON_READERS):
            yield first.name.lower()


JSON_READERS = frozenset({"parsejson", "fromjson", "jsontype", "jsonkeys"})
"""Functions of sqlglot that read a text as JSON, by their keys."""


def part_names(each: exp.Expr) -> list[str]:
    """Returns the column of a part, and the names on its path; [] for what is no part."""
    if isinstance(each, exp.Column):
        return [name for name in (each.table, each.name) if name]
    if isinstance(each, exp.Any):
        return [*[column.name for column in each.find_all(exp.Column)][:1], ELEMENT]
    if not isinstance(each, PARTS):
        return []
    inner = bare(each.this)
    above = [inner.name] if isinstance(inner, exp.Column) else part_names(inner)
    path = each.args.get("expression")
    keys = each.expressions if isinstance(each, exp.Bracket) else path.expressions if path else []
    # Several paths at once are a list of texts.
    several = isinstance(path, exp.Array)
    names = [name for key in keys if (name := _name_on_path(key, several=several))]
    return [*above, *names] if above else []


def _name_on_path(key: exp.Expr, *, several: bool) -> str:
    """Returns the name of a step on the path of a part, of a field or an element of a list; else nothing."""
    if isinstance(key, exp.JSONPathSubscript):
        return f"[{key.this}]" if isinstance(key.this, int) and key.this >= 0 else ""
    if isinstance(key, exp.JSONPathKey) or (key.is_string and not several):
        return key.name.replace(".", DOT)
    return ""


PARTS = (exp.JSONExtract, exp.JSONExtractScalar, exp.Bracket)
"""Expressions that read a part of a column."""


WRAPPERS = (exp.Paren, exp.Cast, exp.ParseJSON)


def bare(each: exp.Expr) -> exp.Expr:
    """Returns an expression without parentheses, casts and json(..) around it."""
    while isinstance(each, WRAPPERS):
        each = each.this
    return each


def wrapped(each: exp.Expr) -> exp.Expr:
    """Returns an expression with all parentheses, casts and json(..) around it."""
    while isinstance(each.parent, WRAPPERS):
        each = each.parent
    return each


def with_neighbours(literal: exp.Literal) -> list[str]:
    """Returns a literal as DuckDB writes it, and the numbers or days just above and below, if it is one.

    >>> with_neighbours(exp.Literal.number("9.99")), with_neighbours(exp.Literal.string("2024-02-29"))
    (['9.99', '10.00', '9.98'], ["'2024-02-29'", "'2024-03-01'", "'2024-02-28'"])
    """
    text = literal.name
    if literal.is_string:
        days = around(text, SqlType(Kind.DATE)) if ISO_DAY.fullmatch(text) else ()
        texts = [str(day) for day in days] or [text.replace("%", "a").replace("_", "b").replace("'", "''")]
        return [f"'{each}'" for each in texts]
    digits = len(text.partition(".")[2])
    number = f"-{text}" if isinstance(literal.parent, exp.Neg) else text
    return [str(each) for each in around(number, SqlType(Kind.DECIMAL, 38, digits))] or [text]


def read_as_times(tree: exp.Expr) -> Iterator[str]:
    """Yields the names of columns that are cast to a date or timestamp, or parsed as one."""
    for each in tree.find_all(exp.Cast, exp.TryCast, exp.StrToTime, exp.StrToDate):
        to = each.to.this if isinstance(each, exp.Cast) else exp.DataType.Type.TIMESTAMP
        if to in exp.DataType.TEMPORAL_TYPES:
            inner = bare(each.this)
            yield from [inner.name.lower()] if isinstance(inner, exp.Column) else parts_of(inner)


def check_literals(check: str) -> list[tuple[str, str]]:
    """Returns the literals of a CHECK constraint by column name; none where sqlglot cannot read it."""
    text = check.strip()
    text = text[len("CHECK") :] if text.upper().startswith("CHECK") else text
    try:
        return list(literals(parse_one(text, read="duckdb")))
    except SqlglotError:
        return []


def roles(project: Project, reads: Mapping[str, TextRead]) -> Roles:
    """Returns which sources drive each model, through the models between them.

    A model whose text could not be read counts all its sources as driving.
    """
    names = {plain(each.relation): id_ for id_, each in project.models.items() if each.relation}
    names |= {plain(each.relation): id_ for id_, each in project.sources.items()}
    driving: dict[str, frozenset[str]] = {}
    for id_, model in project.models.items():
        read = reads.get(id_)
        parents = {
            parent for parent in model.parents if parent in project.sources or parent in project.models
        }
        # An ephemeral parent stands in the text with what it reads, so that any ancestor may be named.
        driven = frozenset[str]() if read is None else read.driving
        named = {id_ for each, id_ in names.items() for name in driven if ends_with(each, name)}
        first = named & project.ancestors[id_]
        found: set[str] = set()
        for each in first or parents:
            found |= {each} if each in project.sources else driving.get(each, frozenset())
        driving[id_] = frozenset(found)
    joined = {
        id_: (project.ancestors[id_] & project.sources.keys()) - found for id_, found in driving.items()
    }
    return Roles(driving, joined)


def grouping(project: Project, reads: Mapping[str, TextRead]) -> frozenset[str]:
    """Returns the models whose key is no key of a source: they group its rows, or one above them does."""
    groups = {id_ for id_, read in reads.items() if read.groups}
    return frozenset(id_ for id_ in project.models if any(each.id in groups for each in project.above(id_)))


def with_repeats(project: Project, reads: Mapping[str, TextRead]) -> frozenset[str]:
    """Returns the models for which rows of one key may come several times: they take the latest of them.

    Or a model between them and a source does.
    """
    latest = {id_ for id_, read in reads.items() if read.latest}
    return frozenset(id_ for id_ in project.models if any(each.id in latest for each in project.above(id_)))


def with_clocks(project: Project, reads: Mapping[str, TextRead]) -> Project:
    """Returns the project with a clock column for each source that may have one.

    The first of: what the user or `loaded_at_field` says, a column by which an incremental model filters, a
    usual name, the only column of a timestamp.
    """
    sources = {}
    for id_, source in project.sources.items():
        # Models that do not read the source may give another meaning to a column of the same name.
        below = [model for model in project.models.values() if id_ in project.ancestors[model.id]]
        read_by = [reads[model.id] for model in below if model.id in reads]
        filtered = [model.event_time.lower() for model in below if model.event_time]
        filtered += [name for read in read_by for name in read.filtered]
        matched = [name for read in read_by for name in read.matched]
        renamed, behind = all_renames(read_by), all_renames(read_by, made_of=True)
        times = {name for read in read_by for name in read.times}
        parts_read = {part for name in times for part in parts_named(source, name, behind)}
        paths = {name for read in read_by for name in read.documents}
        documents = {part for name in paths for part in parts_named(source, name, behind)}
        named = []
        for name in filtered:
            named += columns_of(source, name, renamed)
            parts = parts_named(source, name, behind)
            named += [part for part in parts if is_clock_part(source, part, documents)]
        # A number or a text that is looked up in the model is a key, and says nothing of how new a row is.
        looked_up = [column for name in matched for column in columns_of(source, name, renamed)]
        named += [column for column in looked_up if is_time(source.column(column).type)]
        clock = clock_of(source, named)
        more = [
            name
            for name in dict.fromkeys(named)
            if name != clock
            and (name in parts_read or (name in source.names and is_time(source.column(name).type)))
        ]
        sources[id_] = replace(source, clock=clock, clocks=tuple(more))
    return replace(project, sources=sources)


def is_clock_part(source: Source, name: str, documents: Collection[str]) -> bool:
    """Returns whether a part of a column may hold clock values. `documents`: the parts that are read as JSON.

    The name of a table before that of its column reads as a part, too: event.made_at, where event is a text.
    """
    part = source.part(name)
    type_ = "" if part is None else part_type(part[0].type, part[1])
    return name in documents if type_ == "JSON" else can_be_clock(type_)


def all_renames(reads: Iterable[TextRead], *, made_of: bool = False) -> dict[str, frozenset[str]]:
    """Returns by alias the columns of which it is a name in some model; `made_of`: or an expression."""
    found: dict[str, set[str]] = {}
    for read in reads:
        for alias, name in read.renames | (read.made_of if made_of else frozenset()):
            found.setdefault(alias, set()).add(name)
    return {alias: frozenset(names) for alias, names in found.items()}


def clock_of(source: Source, filtered: Iterable[str]) -> str | None:
    """Returns the clock column of a source, or None; `filtered`: its columns by which models filter."""
    if source.clock is not None:
        return source.clock
    keys = {name for key in source.keys if len(key) == 1 for name in key}
    keys |= {name for foreign in source.foreign for name in foreign.columns}
    usable = {c.name.lower(): c for c in source.columns if can_be_clock(c.type) and c.name not in keys}
    for name in filtered:
        if name.lower() in usable:
            return usable[name.lower()].name
        if source.part(name):
            return name
    times = {name: c for name, c in usable.items() if is_time(c.type)}
    for name in CLOCK_NAMES:
        if name in times:
            return times[name].name
    return next(iter(times.values())).name if len(times) == 1 else None
