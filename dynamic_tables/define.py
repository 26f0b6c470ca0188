"""From the text of a query to the definition of a dynamic table, INCREMENTAL or FULL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dynamic_tables.definition import (
    BaseTable,
    Columns,
    Definition,
    DynamicTable,
    RefreshMode,
    View,
    fingerprint,
)
from dynamic_tables.differentiate.registry import Rules, ensure_supported, stored_groups, time_outside
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.frozen import ensure_condition, unsupported_beside_frozen
from dynamic_tables.plan.nested_types import (
    has_comparable_pairs,
    holds_interval,
    holds_map,
    holds_variant,
    is_key_type,
)
from dynamic_tables.plan.nodes import BoundQuery, Mark, SemiJoin, SetOperation, walk
from dynamic_tables.plan.rewrites.incomparable import NO_MAPS, NO_VARIANTS, incomparable
from dynamic_tables.plan.types import VARIANT, Type
from dynamic_tables.reading.bind import ensure_different
from dynamic_tables.reading.text.current_time import ensure_no_time_columns
from dynamic_tables.reading.text.parse import words_of
from dynamic_tables.reading.text.text import TextQuery, read_text
from dynamic_tables.store.port import Store, TextAnalyzer
from dynamic_tables.ties import ensure_no_ties


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query as the engine reads it: its names, and its plan or the error that says why it has none.

    `uncaptured`: why the changes of its sources cannot be captured; then the plan serves FULL refreshes only.
    """

    text: TextQuery
    plan: BoundQuery | UnsupportedError
    uncaptured: UnsupportedError | None = None

    @property
    def bound(self) -> BoundQuery | None:
        """The plan; None for a query that only a FULL refresh can maintain."""
        return None if isinstance(self.plan, UnsupportedError) else self.plan

    @property
    def unsupported(self) -> UnsupportedError | None:
        """Why the query cannot be maintained incrementally; None where it can."""
        return self.plan if isinstance(self.plan, UnsupportedError) else self.uncaptured


def read_query(
    query: str,
    relations: Mapping[str, Definition],
    rules: Rules,
    analyzer: TextAnalyzer | None = None,
    *,
    compared: bool = False,
) -> ReadQuery:
    """Returns a query with its plan, if every operator of it has a rule.

    `analyzer`: knows what the text means to Spark. A query that the engine cannot type, and Spark can, has no
    plan; and with `compared`, one that the engine would read in another way than Spark has none either.

    Raises DefinitionError: for a query that is wrong, or that may not even run in a FULL refresh.
    """
    text = read_text(query, relations)
    for each in text.texts:
        ensure_no_time_columns(each, _columns_of(relations[source] for source in text.sources))

    def type_of(expression: str, columns: Columns) -> Type | None:
        text.ensure_admitted()
        return None if analyzer is None else analyzer.type_of(expression, columns)

    try:
        bound = rules.bind(query, relations, None if analyzer is None else type_of)
        ensure_supported(bound, rules)
        _ensure_no_intervals(bound)
        if analyzer is not None and compared:
            misread = analyzer.misread(query, bound)
            if misread:
                raise UnsupportedError("a text that the engine does not read as Spark does", misread)
    except UnsupportedError as error:
        text.ensure_admitted()
        return ReadQuery(text, error)
    except DefinitionError as error:
        if analyzer is None:
            raise
        text.ensure_admitted()
        try:
            analyzer.columns_of_text(query, text.names)
        except DefinitionError:
            raise error from None
        return ReadQuery(text, UnsupportedError("an expression that only Spark can type", str(error)))
    sources = [relations[source] for source in bound.sources]
    reasons = (
        time_outside(bound),
        *map(uncaptured, sources),
        incomparable(bound),
        compared_blanks(bound, text.texts, sources),
    )
    return ReadQuery(text, bound, next((reason for reason in reasons if reason is not None), None))


def _ensure_no_intervals(query: BoundQuery) -> None:
    """Raises DefinitionError: a column of the result is an INTERVAL, which Delta does not store."""
    for name, type_ in query.schema:
        if holds_interval(type_):
            raise DefinitionError(
                f"column {name} is of type {type_}, which dynamic tables do not hold; write datediff(..) or "
                "timestampdiff(SECOND, ..), or cast it to STRING"
            )


def _columns_of(sources: Iterable[Definition]) -> Iterable[str]:
    """Returns the names of the columns of all sources."""
    return (name for source in sources if not isinstance(source, View) for name, _ in source.columns)


def uncaptured(source: Definition) -> UnsupportedError | None:
    """Returns why the changed rows of a source cannot be told from its values; None where they can."""
    if isinstance(source, View):
        raise TypeError(f"{source.name} is a view; its sources are captured")
    has_ids = source.identifies if isinstance(source, BaseTable) else source.incremental
    for name, type_ in source.columns:
        if type_ == VARIANT or (holds_map(type_) and has_ids and has_comparable_pairs(type_)):
            continue
        if holds_variant(type_):
            reason = NO_VARIANTS
        elif holds_map(type_):
            reason = NO_MAPS
        elif not has_ids and not is_key_type(type_):
            reason = f"{source.name} has no row ids, and they cannot be made of such values"
        else:
            continue
        return UnsupportedError(f"column {name} of {source.name}, of type {type_}", reason)
    return None


BLANKS_COUNT = frozenset(("PIVOT", "STRING", "VARCHAR", "CHAR", "CHARACTER", "TEXT"))
"""Words behind which Spark compares the blanks of CHAR(n): in PIVOT, and after a cast, though it changes no
value. The plans that stand for these compare the columns themselves."""


def compared_blanks(
    query: BoundQuery, texts: Iterable[str], sources: Iterable[Definition]
) -> UnsupportedError | None:
    """Returns why a query must be read by Spark because of the blanks in CHAR(n) columns; None: it need not.

    Spark's comparisons overlook them where it still knows the type CHAR(n). In set operations and IN with a
    subquery it does not, but the plans that stand for these have comparisons.
    """
    padded = [source.name for source in sources if isinstance(source, BaseTable) and source.padded]
    if not padded:
        return None
    nodes = any(isinstance(node, SetOperation | SemiJoin | Mark) for node in walk(query.plan))
    if nodes or any(words_of(text) & BLANKS_COUNT for text in texts):
        reason = f"{padded[0]} has columns of type CHAR, and where blanks count, only Spark knows"
        return UnsupportedError("a set operation, subquery, PIVOT or cast over CHAR", reason)
    return None


def define(
    name: str,
    query: str,
    store: Store,
    rules: Rules,
    now: int,
    *,
    target_lag: int | None,
    mode: RefreshMode,
    frozen_where: str = "",
    backfill_from: str = "",
    changing: UnsupportedError | None = None,
) -> tuple[DynamicTable, BoundQuery | None]:
    """Returns a dynamic table over the relations of a store, with the plan that serves its refreshes.

    `now`: the present, in microseconds. Nothing is stored. There is no plan where Spark runs the text.
    `changing`: why the value of a function in it may change without its sources; None: there is none.

    Raises DefinitionError: for a query or an option that makes no sense.
    Raises UnsupportedError: for INCREMENTAL over a query without a plan, or for a query without a plan in a
    store that cannot tell its columns.
    """
    definitions = store.definitions()
    analyzer = store if isinstance(store, TextAnalyzer) else None
    compared = mode is not RefreshMode.FULL and changing is None
    read = read_query(query, definitions, rules, analyzer, compared=compared)
    unsupported = changing or read.unsupported
    if unsupported is None and read.bound is not None and mode is not RefreshMode.FULL:
        unsupported = _undecided_rows(read.bound, store, rules, now, frozen=bool(frozen_where))
    if mode is RefreshMode.INCREMENTAL and unsupported is not None:
        raise UnsupportedError(
            unsupported.operator, f"{unsupported.reason}; {name} cannot be INCREMENTAL, use AUTO or FULL"
        )
    reason = "" if unsupported is None else str(unsupported)
    incremental = unsupported is None and mode is not RefreshMode.FULL
    columns = _columns(query, read, analyzer, incremental=incremental)
    _ensure_names(name, [column for column, _ in columns])
    sources = read.text.sources if read.bound is None else read.bound.sources
    table = DynamicTable(
        name=name,
        text=query,
        mode=mode,
        incremental=incremental,
        reason="refresh mode FULL was asked for" if mode is RefreshMode.FULL else reason,
        target_lag=target_lag,
        columns=columns,
        sources=sources,
        expanded=fingerprint(
            read.text.texts, columns, map(definitions.__getitem__, sources), incremental=incremental
        ),
        # Of a frozen group the hidden columns would not follow its rows.
        state=hidden_columns(read.bound, rules) if incremental and not frozen_where else (),
        frozen_where=frozen_where,
        backfill_from=backfill_from,
    )
    _check_frozen(table, definitions, rules, analyzer)
    return table, read.bound if incremental or analyzer is None else None


def _ensure_names(table: str, names: Sequence[str]) -> None:
    """Raises DefinitionError for names of columns that a table cannot have, in the words of the query."""
    for name in names:
        if name.startswith("$"):
            raise DefinitionError(f"column {name} of {table}: names with a leading $ are the engine's")
    ensure_different(names)


def _undecided_rows(
    bound: BoundQuery, store: Store, rules: Rules, now: int, *, frozen: bool
) -> UnsupportedError | None:
    """Returns why a plan leaves open which rows it keeps, as ties do; None: it does not.

    `frozen`: the table has a frozen part.
    """
    if frozen and (error := unsupported_beside_frozen(bound.plan)) is not None:
        return error
    try:
        ensure_no_ties(bound, store, rules, now)
    except UnsupportedError as error:
        return error
    return None


def _check_frozen(
    table: DynamicTable, definitions: Mapping[str, Definition], rules: Rules, analyzer: TextAnalyzer | None
) -> None:
    """Raises DefinitionError: the frozen part of a new definition makes no sense."""
    if table.frozen_where:
        ensure_condition(table, rules.bind, None if analyzer is None else analyzer.type_of)
    if not table.backfill_from:
        return
    if not table.frozen_where:
        raise DefinitionError(
            f"{table.name} has backfill_from and no frozen_where: say which of the copied rows stay"
        )
    source = definitions.get(table.backfill_from)
    if not isinstance(source, BaseTable | DynamicTable):
        raise DefinitionError(f"{table.name} cannot begin with {table.backfill_from}: there is no such table")
    if source.columns != table.columns:
        raise DefinitionError(
            f"{table.name} cannot begin with the rows of {source.name}, whose columns are "
            f"{named_types(source.columns)}; those of the query are {named_types(table.columns)}"
        )


def ensure_frozen_stays(old: DynamicTable, new: DynamicTable) -> None:
    """Raises DefinitionError: a new definition would change rows that are frozen by the old one."""
    if not old.frozen_where:
        return
    other = [
        what
        for what, one, two in (
            ("other columns", old.columns, new.columns),
            ("another frozen_where", old.frozen_where, new.frozen_where),
            ("another refresh mode", old.incremental, new.incremental),
        )
        if one != two
    ]
    if not other:
        return
    remedy = f"create another table with backfill_from={old.name!r}"
    if old.columns != new.columns:
        # Another table could not begin with its rows, either.
        remedy = f"write a query that gives {named_types(old.columns)}"
    raise DefinitionError(
        f"{old.name} cannot be replaced by a definition with {other[0]}, because that would "
        f"change its frozen part; {remedy}, or drop it first"
    )


def named_types(columns: Columns) -> str:
    """Returns columns as a message shows them: `day DATE, n INT`."""
    return ", ".join(f"{name} {type_}" for name, type_ in columns)


def hidden_columns(query: BoundQuery | None, rules: Rules) -> Columns:
    """Returns the hidden columns of an incremental table over a query."""
    groups = None if query is None else stored_groups(query, rules)
    return () if groups is None else groups.state


def _columns(query: str, read: ReadQuery, analyzer: TextAnalyzer | None, *, incremental: bool) -> Columns:
    """Returns the columns as a refresh gives them: Spark's columns of the text, where Spark runs the text.

    Raises UnsupportedError: nobody can tell them.
    """
    if analyzer is not None and not incremental:
        return analyzer.columns_of_text(query, read.text.names)
    if isinstance(read.plan, UnsupportedError):
        raise UnsupportedError(
            read.plan.operator, f"{read.plan.reason}, and only an account on Delta asks Spark for it"
        )
    return read.plan.schema
