"""The whole built-in engine on real Delta tables, one folder for each scenario: the tiers `delta*`."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from dynamic_tables import definition as engine
from dynamic_tables.account import Account
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.session import Settings, open_session
from dynamic_tables.session.dead import answers
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.log.own_commit import OwnCommitter
from dynamic_tables.store.sizes import SIZES
from engines.account_adapter import AccountAdapter, failures
from engines.adapter import OtherCommit, Record, Transaction
from engines.callers import drawn, drawn_choice, drawn_sizes
from engines.engine import Platform
from engines.operation import Operation
from engines.rows import columns_of, rows_of
from engines.spark.delta_writers import DeltaWriters
from engines.spark.outrun import Outrun
from engines.spark.spark_jobs import JobTag, job_tag
from engines.variant import Variant
from oracle.delta_reader import newest_version, read_rows
from workload.dml import Insert, Overwrite
from workload.outcomes.trace import Action, StoredRow
from workload.scenario import Meanwhile, Scenario
from workload.schema import Column, Table
from workload.sql import Dialect, delta_texts, rows_text
from workload.types import STRING, Row, parse_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROPERTIES: Mapping[str, str] = {"delta.checkpointInterval": "1000"}
"""Of all tables. A scenario has tens of commits: checkpoints would cost more than they save."""

ATTACHED: Mapping[str, str] = {**PROPERTIES, "delta.enableRowTracking": "true"}
"""Of tables that other programs have made, as their owners give them to dynamic tables."""

BEFORE_ALL = -1
"""The logical time at which base tables are created: no step of a scenario is that early."""


NOTHING_SAID: Mapping[str, object] = {"operation": "", "operationParameters": {}}
"""Stands for a commitInfo that a commit lacks: that is a failure of the engine, which the judge must see."""


class OnDelta(AccountAdapter):
    """An account in a folder. Spark writes the base tables; delta-rs, not Spark, reads everything back."""

    def __init__(
        self, spark: SparkSession, path: Path, variant: Variant, scenario: Scenario | None = None
    ) -> None:
        """Opens an account in a new folder.

        `path`: the folder, which must not exist yet; it is removed at the end. `scenario`: decides the
        settings of the sessions that processes give to the account, and the sizes of their stores; None: no
        settings, and the usual sizes.
        Where the variant has the engine's validations off, its MERGE does not refuse wrong changes either.
        """
        path.mkdir(parents=True)
        self.spark = spark
        self.path = path
        self.clock = SimulatedClock(BEFORE_ALL)
        self._resources = ExitStack()
        self._resources.callback(shutil.rmtree, path, ignore_errors=True)
        self._resources.callback(shutil.rmtree, self.others, ignore_errors=True)
        self.variant = variant.watched(self.watch())
        self.scenario = scenario
        self.processes = 0
        self.account = self._opened()
        self._resources.callback(lambda: self.store.close())
        self.writers = DeltaWriters(path, spark, PROPERTIES, variant.versions, SimulatedClock(BEFORE_ALL))
        self._resources.callback(self.writers.close)
        self._jobs: JobTag = self._resources.enter_context(job_tag(spark.sparkContext))
        self.elsewhere: Account | None = None
        self.outrun = Outrun(self._kept_store, variant.own_commit)
        # The names that the account has defined so far.
        self._known: set[str] = set()
        self._attached: set[str] = set()
        # The newest version of each base table after each commit, read from the log and not from the engine:
        # an engine that overlooks a version must not make the judge overlook it.
        self._written: dict[str, list[tuple[int, int]]] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table: through the account, or one in four by Spark elsewhere, and attaches it."""
        if self.scenario is None or crc32(f"{self.scenario.name} {table.name} attached".encode()) % 4:
            columns = [(column.name, str(column.type)) for column in table.columns]
            self.account.create_base_table(table.name, columns, primary_key=table.primary_key)
        else:
            self._attach(table)

    def _attach(self, table: Table) -> None:
        """Creates a Delta table beside the account's folder; its texts are VARCHAR in every second column."""
        place = self.others / table.name
        columns = ", ".join(
            f"{column.name} {'VARCHAR(4000)' if column.type == STRING and number % 2 else column.type}"
            for number, column in enumerate(table.columns)
        )
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in ATTACHED.items())
        self.spark.sql(f"CREATE TABLE delta.`{place}` ({columns}) USING delta TBLPROPERTIES ({properties})")
        self._attached.add(table.name)
        self.account.attach(table.name, str(place), primary_key=table.primary_key)

    def commit(self, transaction: Transaction) -> Mapping[str, int]:
        """Applies a transaction; returns the newest versions of its tables. Raises StoreError."""
        if not self._loads(transaction):
            self.account.execute(*self._texts(transaction))
        return self._committed(transaction)

    def _loads(self, transaction: Transaction) -> bool:
        """Writes one of three commits that only insert or overwrite as a data frame; tells whether it did."""
        match transaction.statements:
            case (Insert(name, rows) | Overwrite(name, rows),) if rows:
                mode = "append" if isinstance(transaction.statements[0], Insert) else "overwrite"
            case _:
                return False
        if crc32(f"{name} {transaction.at}".encode()) % 3:
            return False
        table = transaction.tables[name]
        names = ", ".join(column.name for column in table.columns)
        values = rows_text(table, rows, Dialect.SPARK)
        self.account.write(name, self.spark.sql(f"SELECT * FROM VALUES {values} AS loaded({names})"), mode)
        return True

    def begin(self, transaction: Transaction, meanwhile: Meanwhile) -> OtherCommit:
        """Returns a transaction of another process, of which all statements are one part."""
        texts = self._texts(transaction)
        return OtherCommit(
            [lambda: self.writers.commit(texts, transaction.at, meanwhile)],
            lambda: self._committed(transaction),
        )

    def defining(self, name: str) -> Account:
        """Returns the account; for a name that it has known before, one of another process.

        So the account has to notice by itself that a table was dropped, and that another one has its name.
        In half of these cases it drops the table itself, and has to forget what it knows of it.
        """
        itself = crc32(f"{name} {self.clock.now()}".encode()) % 2 == 0
        if name not in self._known or itself:
            self._known.add(name)
            return self.account
        if self.elsewhere is None:
            self.elsewhere = self._account(self._kept_store(self.variant.own_commit))
        return self.elsewhere

    def restart(self) -> None:
        """Opens the account anew, as another process."""
        self.store.close()
        self.account = self._opened()

    def refresh_with_upstream(self, name: str, timestamp: int, record: Record) -> None:
        """Refreshes as users do; beside a quarter of the refreshes another process comes too late."""

        def refresh() -> None:
            super(OnDelta, self).refresh_with_upstream(name, timestamp, record)

        if crc32(f"{name} {timestamp}".encode()) % 4:
            refresh()
        else:
            # Its creation may have failed.
            with failures():
                table = self.account.dynamic_table(name)
            self.outrun.run(table, timestamp, refresh)

    def _opened(self) -> Account:
        self.store = self._store()
        return self._account(self.store)

    def _kept_store(self, commit: OwnCommitter) -> DeltaStore:
        """Returns a store of another process, which stays open as long as the account."""
        store = self._store(commit)
        self._resources.callback(store.close)
        return store

    def _store(self, commit: OwnCommitter | None = None) -> DeltaStore:
        """Returns the store of one more process, with settings and sizes drawn from the scenario."""
        self.processes += 1
        caller = self.spark.newSession()
        sizes = SIZES
        if self.scenario is not None:
            sizes = drawn_sizes(self.scenario, self.processes)
            for name, value in drawn(self.scenario, self.processes).items():
                caller.conf.set(name, value)
        return DeltaStore(
            str(self.path),
            caller,
            self.clock,
            strict_merge=self.variant.protocol.validations,
            properties=PROPERTIES,
            rules=self.variant.versions,
            session_of=self.variant.session_of,
            own_commit=commit or self.variant.own_commit,
            sizes=sizes,
        )

    def _account(self, store: DeltaStore) -> Account:
        variant, protocol = self.variant, self.variant.protocol
        if self.scenario is not None:
            protocol = replace(protocol, choose=drawn_choice(self.scenario, self.processes))
        return Account(store=store, clock=self.clock, rules=variant.rules, protocol=protocol)

    def _texts(self, transaction: Transaction) -> tuple[str, ...]:
        return tuple(
            chain.from_iterable(
                delta_texts(dml, transaction.tables[dml.table], self._restored)
                for dml in transaction.statements
            )
        )

    def _committed(self, transaction: Transaction) -> Mapping[str, int]:
        versions = {dml.table: self._last_version(dml.table) for dml in transaction.statements}
        for name, version in versions.items():
            self._written.setdefault(name, []).append((version, transaction.at))
        return versions

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of the newest version, read by delta-rs."""
        return read_rows(self._place(name), self._last_version(name), columns)

    def rows_at(self, name: str, timestamp: int, columns: Sequence[Column]) -> Iterable[Row] | None:
        """Returns the rows as users read them, by Spark. Raises RefreshFailed."""
        with failures():
            return rows_of(self.account.read(name, timestamp))

    def stored_version(self, table: engine.DynamicTable, version: int) -> tuple[StoredRow, ...]:
        """Returns the rows of a version with their ids, read by delta-rs."""
        columns = tuple(Column(name, parse_type(str(type_))) for name, type_ in table.columns)
        if not table.incremental:
            return tuple(StoredRow(None, row) for row in read_rows(self.path / table.name, version, columns))
        rows = read_rows(self.path / table.name, version, (*columns, Column(ROW_ID, STRING)))
        return tuple(StoredRow(None if row[-1] is None else str(row[-1]), row[:-1]) for row in rows)

    def newest(self, name: str) -> int | None:
        """Returns the last version in the log; None where there is no such table."""
        return self._last_version(name) if (self._place(name) / "_delta_log").is_dir() else None

    def effective_action(self, table: engine.DynamicTable, version: int, reported: Action) -> Action:
        """Returns the refresh action that Delta's own record of the commit shows.

        A commit that neither adds a row nor removes a file left the contents alone, as NO_DATA and an
        INCREMENTAL refresh without changes should. Any other commit that is neither a MERGE nor an overwrite
        is no refresh action, and counts as FULL.
        """
        actions = self._actions(table.name, version)
        info = next((body for kind, body in actions if kind == "commitInfo"), NOTHING_SAID)
        if info["operation"] == "MERGE":
            return Operation.MERGE.action(reported)
        if _is_overwrite(info):
            return Operation.OVERWRITE.action(reported)
        if any(kind == "remove" for kind, _ in actions) or _rows_added(actions):
            return Action.FULL
        return Operation.TOUCH.action(reported)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns Spark's own answer: no plan, no frontier and no Delta table take part."""
        return rows_of(self.spark.newSession().sql(query))

    def columns_of(self, query: str) -> Sequence[Column]:
        """Returns the columns that Spark gives a query. Raises EngineError."""
        return columns_of(self.spark.newSession(), query)

    def interrupt(self) -> None:
        """Cancels the Spark jobs of this scenario."""
        self._jobs.cancel()

    def close(self) -> None:
        """Closes the store and removes the folder."""
        self._resources.close()

    @property
    def others(self) -> Path:
        """The folder of tables that are not the account's own."""
        return self.path.with_name(f"{self.path.name}-others")

    def _place(self, name: str) -> Path:
        """Returns the folder of a table."""
        return (self.others if name in self._attached else self.path) / name

    def _last_version(self, name: str) -> int:
        return newest_version(self._place(name))

    def _restored(self, name: str, to: int) -> str:
        """Returns the version of a base table at a logical time, as RESTORE names it."""
        version = max((version for version, at in self._written.get(name, ()) if at <= to), default=0)
        return f"VERSION AS OF {version}"

    def _actions(self, name: str, version: int) -> list[tuple[str, dict[str, object]]]:
        log = self._place(name) / "_delta_log" / f"{version:020d}.json"
        lines = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
        return [(kind, body) for line in lines for kind, body in line.items()]


def _is_overwrite(info: Mapping[str, object]) -> bool:
    parameters = info["operationParameters"]
    return isinstance(parameters, dict) and parameters.get("mode") == "Overwrite"


def _rows_added(actions: list[tuple[str, dict[str, object]]]) -> bool:
    stats = (json.loads(str(body.get("stats", "{}"))) for kind, body in actions if kind == "add")
    # A file of which the log says nothing is taken for one with rows.
    return any(stat.get("numRecords", 1) > 0 for stat in stats)


@dataclass(frozen=True, kw_only=True)
class DeltaPlatform(Platform):
    """Folders of Delta tables below one folder, written by one Spark that several threads share.

    `time_limit_s`: a refresh takes a second, and a long scenario has hundreds.
    """

    spark: SparkSession
    folder: Path
    variant: Variant = field(default_factory=Variant)
    time_limit_s: float = 1800.0

    @staticmethod
    def start(settings: Settings = Settings.TUNED, variant: Variant | None = None) -> DeltaPlatform:
        """Returns the platform in a folder that is removed when the process ends. Raises SessionError."""
        folder = Path(tempfile.mkdtemp(prefix="dvs-delta-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        spark = open_session(settings=settings)
        return DeltaPlatform(spark=spark, folder=folder, variant=variant or Variant())

    def open(self) -> OnDelta:
        """Opens an empty account in a folder of its own."""
        return self._opened(None)

    def open_for(self, scenario: Scenario) -> OnDelta:
        """Opens an empty account whose callers have settings and sizes drawn from the scenario."""
        return self._opened(scenario)

    def _opened(self, scenario: Scenario | None) -> OnDelta:
        return OnDelta(self.spark, self.folder / uuid.uuid4().hex, self.variant, scenario)

    def alive(self) -> bool:
        """Tells whether the JVM still answers."""
        return answers(self.spark.sparkContext)
