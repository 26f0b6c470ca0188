"""Definitions of base tables and dynamic tables: what the account knows of a table besides its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.types import Columns as Columns
from dynamic_tables.reading.text.relations import StoredRelation, View as View


class RefreshMode(Enum):
    """AUTO resolves to INCREMENTAL where every operator has a rule, else to FULL (DVS paper, 3.3.2)."""

    AUTO = "AUTO"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"

    @classmethod
    def of(cls, mode: RefreshMode | str) -> RefreshMode:
        """Returns a refresh mode given by itself or by its name in any case. Raises DefinitionError."""
        if isinstance(mode, RefreshMode):
            return mode
        try:
            return cls[mode.upper()]
        except KeyError:
            modes = ", ".join(cls.__members__)
            raise DefinitionError(f"no refresh mode {mode!r}; there are: {modes}") from None


@dataclass(frozen=True, slots=True)
class BaseTable(StoredRelation):
    """A table that users write.

    `path`: the folder of a table that is attached where it lies; empty for one in the account's folder.
    `row_ids`: whether each row has an id that survives rewrites (Delta's row tracking). `stored_as`: by
    column the names under which its values are stored, where these are not its own (Delta's column mapping).
    `padded`: whether it has columns of type CHAR(n), which Spark pads with blanks as it reads. `key`: the
    columns of its primary key, by which rows keep their identity; none if it has no key.
    """

    path: str = ""
    row_ids: bool = True
    stored_as: tuple[tuple[str, str], ...] = ()
    padded: bool = False
    key: tuple[str, ...] = ()

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns of its primary key."""
        return self.key

    @property
    def identifies(self) -> bool:
        """Whether each row has an identity of its own: a key, or an id that Delta keeps."""
        return self.row_ids or bool(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicTable(StoredRelation):
    """A table whose contents are its defining query as of an earlier time (DVS paper, section 3).

    `text`: the defining query. `incremental`: whether refreshes may be incremental; `reason` says why not.
    `target_lag` in microseconds, None for DOWNSTREAM. `sources`: the stored relations it reads, views
    expanded. `expanded`: the fingerprint of the query and of every view in it, which shows a changed view.
    `state`: hidden columns, from which aggregates are maintained; readers of the table do not see them.
    `frozen_where`: the condition of rows that no refresh changes, empty if there are none (see `frozen`).
    `backfill_from`: the table whose rows are the frozen ones at first.
    """

    text: str
    mode: RefreshMode
    incremental: bool
    reason: str
    target_lag: int | None
    sources: tuple[str, ...]
    expanded: str
    state: Columns = ()
    frozen_where: str = ""
    backfill_from: str = ""

    @property
    def stored(self) -> Columns:
        """The columns that are stored beside `$ROW_ID`: those that users see, then the hidden ones."""
        return (*self.columns, *self.state)


Definition = BaseTable | View | DynamicTable


STORED_FORMAT = "row ids 3, state 3"
"""The format of what is stored beside the columns: row ids (format 1 gave a base row its number alone), and
the hidden columns."""


def fingerprint(
    texts: tuple[str, ...], columns: Columns, sources: Iterable[object], *, incremental: bool = True
) -> str:
    """Returns 16 hexadecimal digits of the SHA-256 of a query, the views below it, and its columns.

    They change with

    - the stored format, so that a table of an older format is reinitialized;
    - the types of the source columns that the query names: a text made of a value changes with its type;
    - a source that gets row ids or loses them, or has none and gets other columns, or gets another key,
      because the ids of its rows, and of those above it, change then;
    - a name of the query that means another column than before: where a source gets or loses a column that
      takes over the name, or has the values of another column under it;
    - the columns of a source of a query that depends on columns without naming them;
    - whether the table is maintained: the contents of a FULL one have neither row ids nor hidden columns.
    """
    shown = (f"{name} {type_}" for name, type_ in columns)
    stored = [source for source in sources if isinstance(source, BaseTable | DynamicTable)]
    kept = () if incremental else ("FULL",)
    parts = (STORED_FORMAT, *texts, *shown, *_facts(texts, stored), *kept)
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def _facts(texts: tuple[str, ...], stored: Sequence[BaseTable | DynamicTable]) -> tuple[str, ...]:
    """Returns the properties of its sources on which a query depends, one text each: see `fingerprint`."""
    # Imported here: opening a session needs definitions, but no parser.
    from dynamic_tables.reading.text import text

    movable = frozenset[str]().union(*map(text.movable_names, texts))
    named = frozenset[str]().union(*map(text.identifiers, texts))
    unnamed = any(map(text.reads_unnamed, texts))
    candidates = (
        f"named: {source.name}.{name}"
        for source in stored
        for name in sorted(name.lower() for name, _ in source.columns)
        if name in movable
    )
    typed = (
        f"typed: {source.name}.{name} {type_}"
        for source in stored
        for name, type_ in sorted((name.lower(), str(type_)) for name, type_ in source.columns)
        if name in named or unnamed
    )
    listed = (
        f"columns: {source.name} {', '.join(f'{name} {type_}' for name, type_ in source.columns)}"
        for source in stored
        if any(map(text.depends_on_all_columns, texts))
    )
    without = (
        f"no row ids: {source.name} {', '.join(f'{name} {type_}' for name, type_ in source.columns)}"
        for source in stored
        if not (source.identifies if isinstance(source, BaseTable) else source.incremental)
    )
    keys = (
        f"key: {source.name} {', '.join(source.key)}"
        for source in stored
        if isinstance(source, BaseTable) and source.key
    )
    stored_as = (
        f"stored: {source.name}.{name} as {names}"
        for source in stored
        if isinstance(source, BaseTable)
        for name, names in sorted(source.stored_as)
        if any(text.names_column(one, name.lower()) for one in texts)
    )
    return (*typed, *without, *keys, *candidates, *listed, *stored_as)
