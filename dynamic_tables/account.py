"""The public face: an account of base tables, views and dynamic tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, assert_never

from dynamic_tables.definition import BaseTable, Definition, DynamicTable, RefreshMode, View, fingerprint
from dynamic_tables.differentiate.registry import RULES, Rules, ensure_supported
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.bind import StoredRelation, ViewRelation, bind_query
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.plan.text import TextQuery, read_text
from dynamic_tables.refresh.execute import PROTOCOL, Refreshing, RefreshProtocol, RefreshResult
from dynamic_tables.refresh.plans import Plans
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.schedule.initial import initialization_timestamp
from dynamic_tables.store.port import RefreshRecord, Relation, Store
from dynamic_tables.store.statements import column_type
from dynamic_tables.store.writing import WritableStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_]{0,127}$")


@dataclass(frozen=True, slots=True)
class Description:
    """What `describe` tells of a dynamic table."""

    table: DynamicTable
    refreshes: Sequence[RefreshRecord]

    @property
    def data_timestamp(self) -> int | None:
        """The data timestamp of the contents; None before initialization."""
        return self.refreshes[-1].frontier.timestamp if self.refreshes else None


@dataclass(slots=True, kw_only=True)
class Account:
    """Tables over one store and one clock. Calls are serialized: one refresh at a time."""

    store: Store
    clock: Clock
    rules: Rules = RULES
    protocol: RefreshProtocol = PROTOCOL
    bound: dict[str, tuple[str, BoundQuery | None]] = field(default_factory=dict)
    plans: Plans = field(init=False)
    lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        self.plans = Plans(self.rules)

    @classmethod
    def open(cls, path: str, spark: SparkSession, clock: Clock) -> Account:
        """The account in a folder, new or as it was left: all it knows is in Delta commits there.

        A relative path is meant from where the caller is now; the JVM may be somewhere else.
        """
        # Not at the top: an account over another store needs no Spark.
        from dynamic_tables.store.delta import DeltaStore

        folder = path if "://" in path else str(Path(path).resolve())
        return cls(store=DeltaStore(folder, spark, clock), clock=clock)

    def create_base_table(
        self, name: str, columns: Mapping[str, str] | Sequence[tuple[str, str]]
    ) -> BaseTable:
        """Adds an empty base table; `columns` gives names and SQL types. Raises DefinitionError."""
        with self.lock:
            pairs = columns.items() if isinstance(columns, Mapping) else columns
            typed = tuple((column, column_type(column, text)) for column, text in pairs)
            table = BaseTable(self._new_name(name), typed)
            self._writable().create_base_table(table)
            return table

    def execute(self, *statements: str) -> Mapping[str, int]:
        """Runs DML on base tables as one transaction stamped with the time now.

        Returns the newest version of each table written. Raises DefinitionError for a statement that is
        refused, StoreError for one that fails; either way no statement has any effect.
        """
        with self.lock:
            return self._writable().write(statements)

    def _writable(self) -> WritableStore:
        if not isinstance(self.store, WritableStore):
            raise DefinitionError("this account's store keeps no base tables; write them where they live")
        return self.store

    def create_view(self, name: str, query: str) -> View:
        """Adds a view. Raises DefinitionError; the query may be one that only FULL can refresh."""
        with self.lock:
            name = self._new_name(name)
            self._read(query)
            view = View(name, query)
            self.store.create_view(view)
            return view

    def create_dynamic_table(
        self,
        name: str,
        query: str,
        *,
        target_lag: int | None = None,
        refresh_mode: RefreshMode | str = RefreshMode.AUTO,
        initialize: bool = True,
    ) -> DynamicTable:
        """Adds a dynamic table and initializes it.

        `target_lag` in microseconds, None for DOWNSTREAM. The initial data timestamp is the newest that
        all upstream dynamic tables have and that lies within the target lag, else now (DVS paper, 3.1.2).
        Raises DefinitionError for a query that makes no sense, UnsupportedError for INCREMENTAL over an
        operator without a rule, RefreshFailed if the initialization fails; then nothing is left behind.
        """
        with self.lock:
            table = self._define(self._new_name(name), query, target_lag, as_mode(refresh_mode))
            self.store.create_dynamic_table(table)
            if initialize:
                try:
                    self.initialize(table.name)
                except BaseException:
                    self.store.drop(table)
                    raise
            return table

    def _define(self, name: str, query: str, target_lag: int | None, mode: RefreshMode) -> DynamicTable:
        if target_lag is not None and target_lag <= 0:
            raise DefinitionError(
                f"target lag of {name} is {target_lag} microseconds; make it positive, or None for DOWNSTREAM"
            )
        bound, text = self._read(query)
        reason = text.unsupported
        if mode is RefreshMode.INCREMENTAL and bound is None:
            raise UnsupportedError(
                text.operator, f"{text.reason}; {name} cannot be INCREMENTAL, use AUTO or FULL"
            )
        if mode is RefreshMode.FULL:
            reason = "refresh mode FULL was asked for"
        columns = text.columns(self.store) if bound is None else bound.schema
        for column, _ in columns:
            if column.startswith("$"):
                raise DefinitionError(f"column {column} of {name}: names with a leading $ are the engine's")
        return DynamicTable(
            name=name,
            text=query,
            mode=mode,
            incremental=bound is not None and mode is not RefreshMode.FULL,
            reason=reason,
            target_lag=target_lag,
            columns=columns,
            sources=text.sources if bound is None else bound.sources,
            expanded=fingerprint(text.texts),
        )

    def _read(self, query: str) -> tuple[BoundQuery | None, TextQuery]:
        """The plan of a query, or None and why there is none. Raises DefinitionError."""
        text = read_text(query, self)
        try:
            bound = bind_query(query, self)
            ensure_supported(bound, self.rules)
        except UnsupportedError as error:
            text.ensure_admitted()
            return None, text.without_rule(error)
        return bound, text

    def refresh(
        self, name: str, at: int | None = None, *, observe: Callable[[RefreshResult], None] | None = None
    ) -> tuple[RefreshResult, ...]:
        """Refreshes a table to data timestamp `at` (default: now), upstreams first.

        Returns the refreshes that were run, upstream ones included; a table that already has this data
        timestamp is left alone. `observe` sees each one as it commits. Raises RefreshFailed; tables
        refreshed before the failing one stay so.
        """
        with self.lock:
            timestamp = self.clock.now() if at is None else at
            table = self.dynamic_table(name)
            if timestamp > self.clock.now():
                raise DefinitionError(
                    f"refresh of {table.name} at {timestamp}: the future cannot be read yet"
                )
            results = []
            for upstream in (*self.upstream(table), table):
                if not self.has_version_at(upstream, timestamp):
                    results.append(self.refreshing(upstream).run(timestamp))
                    if observe is not None:
                        observe(results[-1])
            return tuple(results)

    def refreshing(self, table: DynamicTable) -> Refreshing:
        """A refresh of one table alone, not yet run."""
        definitions = self.store.definitions()
        sources: dict[str, BaseTable | DynamicTable] = {}
        for source in table.sources:
            definition = definitions.get(source)
            if not isinstance(definition, BaseTable | DynamicTable):
                raise DefinitionError(
                    f"{table.name} reads {source}, which was dropped; create it again or drop {table.name}"
                )
            sources[source] = definition
        bound, table = self._bound(table)
        return Refreshing(
            table=table,
            bound=bound,
            definitions=sources,
            store=self.store,
            plans=self.plans,
            protocol=self.protocol,
        )

    def _bound(self, table: DynamicTable) -> tuple[BoundQuery | None, DynamicTable]:
        # Bound once per definition and per state of the views in it.
        text = read_text(table.text, self)
        expanded = fingerprint(text.texts)
        known = self.bound.get(table.name)
        if known is None or known[0] != expanded:
            if known is not None:
                self.plans.forget()
            known = (expanded, self._read(table.text)[0])
            self.bound[table.name] = known
        return known[1], table if table.expanded == expanded else replace(table, expanded=expanded)

    def fresh_contents(self, name: str) -> Relation:
        """What an initialization at the table's frontier would give, ids included; nothing is committed."""
        with self.lock:
            table = self.dynamic_table(name)
            record = self.store.refreshes(table)[-1]
            return self.refreshing(table).fresh(record.frontier)

    def describe(self, name: str) -> Description:
        """Definition, effective mode with its reason, and refresh history of a dynamic table."""
        with self.lock:
            table = self.dynamic_table(name)
            return Description(table, self.store.refreshes(table))

    def drop(self, name: str) -> None:
        """Removes a table or view. Raises DefinitionError while another definition reads it."""
        with self.lock:
            definition = self._existing(name)
            for other in self.store.definitions().values():
                if not isinstance(other, BaseTable) and definition.name in read_text(other.text, self).names:
                    raise DefinitionError(f"{definition.name} is read by {other.name}; drop that first")
            self.bound.pop(definition.name, None)
            self.plans.forget()
            self.store.drop(definition)

    def relation(self, name: str) -> StoredRelation | ViewRelation | None:
        """What a name in a query means (see `plan.bind.Relations`)."""
        definition = self.store.definitions().get(name)
        match definition:
            case None:
                return None
            case View():
                return ViewRelation(definition.text)
            case BaseTable() | DynamicTable():
                return StoredRelation(definition.columns)
            case _:
                assert_never(definition)

    def dynamic_table(self, name: str) -> DynamicTable:
        """The dynamic table of that name. Raises DefinitionError."""
        definition = self._existing(name)
        if not isinstance(definition, DynamicTable):
            raise DefinitionError(f"{definition.name} is no dynamic table")
        return definition

    def upstream(self, table: DynamicTable) -> tuple[DynamicTable, ...]:
        """The dynamic tables below a table, at any depth, sources first."""
        definitions = self.store.definitions()
        ordered: dict[str, DynamicTable] = {}

        def visit(current: DynamicTable) -> None:
            for source in current.sources:
                definition = definitions.get(source)
                if isinstance(definition, DynamicTable) and source not in ordered:
                    visit(definition)
                    ordered[source] = definition

        visit(table)
        return tuple(ordered.values())

    def has_version_at(self, table: DynamicTable, timestamp: int) -> bool:
        """Whether a refresh of exactly this data timestamp exists."""
        return any(record.frontier.timestamp == timestamp for record in self.store.refreshes(table))

    def initialize(
        self, name: str, *, observe: Callable[[RefreshResult], None] | None = None
    ) -> tuple[RefreshResult, ...]:
        """First contents of a table created with `initialize=False`; see `create_dynamic_table`."""
        with self.lock:
            table = self.dynamic_table(name)
            timestamps = {
                upstream.name: [record.frontier.timestamp for record in self.store.refreshes(upstream)]
                for upstream in self.upstream(table)
            }
            timestamp = initialization_timestamp(timestamps, self.clock.now(), table.target_lag)
            return self.refresh(name, timestamp, observe=observe)

    def _existing(self, name: str) -> Definition:
        definition = self.store.definitions().get(name.lower())
        if definition is None:
            known = ", ".join(self.store.definitions()) or "none"
            raise DefinitionError(f"no table or view named {name}; there are: {known}")
        return definition

    def _new_name(self, name: str) -> str:
        if not NAME.match(name):
            raise DefinitionError(f"{name!r} is no name; use letters, digits and _, starting with a letter")
        if name.lower() in self.store.definitions():
            raise DefinitionError(f"{name} exists already; drop it first or take another name")
        return name.lower()


def as_mode(mode: RefreshMode | str) -> RefreshMode:
    """A refresh mode, or its name in any case. Raises DefinitionError."""
    if isinstance(mode, RefreshMode):
        return mode
    try:
        return RefreshMode[mode.upper()]
    except KeyError:
        known = ", ".join(RefreshMode.__members__)
        raise DefinitionError(f"no refresh mode {mode!r}; there are: {known}") from None
