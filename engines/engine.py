"""An engine under test: opens databases, runs scenarios in them, and restarts a platform that has died.

Each engine has a `Platform` (`in_memory`, `on_spark`, `on_delta`; others get `AdapterPlatform`).
"""

from __future__ import annotations

import os
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from engines.adapter import Adapter, SchedulingAdapter
from engines.drive import FreshWanted, SoFar, drive, never_fresh
from engines.errors import EngineError, shown
from engines.watchdog import HungQuery, cut_after
from engines.working_time import ENGINE_WORKS
from workload.errors import WorkloadError
from workload.outcomes.results import Breakage
from workload.outcomes.trace import RefreshRefused, Trace
from workload.scenario import Scenario
from workload.schema import Column
from workload.sql import Dialect
from workload.types import Row

TIME_LIMIT_S = 300.0
"""Seconds that one scenario may take; in memory most take a quarter of a second."""

Open = Callable[[], Adapter]
"""Opens an empty database of an engine: an Adapter class, or a function that returns an Adapter."""


@contextmanager
def opened(database: Open) -> Iterator[Adapter]:
    """Opens an empty database for the block; closes it then, and restores the working folder."""
    folder = Path.cwd()
    try:
        with ENGINE_WORKS:
            adapter = database()
        try:
            yield adapter
        finally:
            with ENGINE_WORKS:
                adapter.close()
    finally:
        os.chdir(folder)


class Platform(ABC):
    """What databases of an engine run on, such as a JVM. Several threads may share it."""

    time_limit_s: float = TIME_LIMIT_S

    @abstractmethod
    def open(self) -> Adapter:
        """Opens an empty database."""

    def open_for(self, scenario: Scenario) -> Adapter:
        """Opens an empty database for a scenario, which may decide what no engine should depend on."""
        return self.open()

    def open_for_vote(self) -> Adapter:
        """Opens an empty database for the third vote, without planted faults of the refresh protocol."""
        return self.open()

    def alive(self) -> bool:
        """Returns whether the platform still answers; a dead one is started again."""
        return True


@dataclass(frozen=True)
class AdapterPlatform(Platform):
    """The platform of an engine without a platform of its own: each adapter starts what it needs."""

    adapter: Open
    time_limit_s: float = TIME_LIMIT_S

    def open(self) -> Adapter:
        """Opens an empty database."""
        return self.adapter()


@dataclass(frozen=True, slots=True)
class Recomputation:
    """A request to compute one table in full from given rows, in the two forms that engines can compute.

    `text`: the query over literal rows in a dialect. `columns`: the columns of its result. `alone`: a
    scenario whose only refresh gives the table its first contents from the same rows.
    """

    table: str
    text: Callable[[Dialect], str]
    columns: tuple[Column, ...]
    alone: Callable[[], Scenario]


METHODS = frozenset({"__init__", *(name for name in dir(SchedulingAdapter) if not name.startswith("_"))})
"""The names of the methods of an adapter that the driver calls."""

TRACEBACK_LINES = 40
"""Lines of a traceback that are kept, the last ones."""


def breakage(error: BaseException, so_far: SoFar) -> Breakage:
    """Returns where an adapter raised an error that its interface does not name: step, method, traceback."""
    shown_error: BaseException = error
    if isinstance(error, HungQuery) and error.__cause__ is not None:
        shown_error = error.__cause__
    frames, method = shown_error.__traceback__, ""
    frame = frames
    while frame is not None and not method:
        code, of = frame.tb_frame.f_code.co_name, frame.tb_frame.f_locals.get("self")
        if code in METHODS and isinstance(of, Adapter):
            frames, method = frame, code
        frame = frame.tb_next
    lines = "".join(traceback.format_exception(type(shown_error), shown_error, frames, chain=False))
    run = so_far.run
    try:
        statements = () if run is None else run.given
    except WorkloadError as no_text:
        statements = (str(no_text),)
    return Breakage(
        step=None if run is None or run.step < 0 else run.step,
        method=method,
        statements=statements,
        traceback="\n".join(lines.rstrip().splitlines()[-TRACEBACK_LINES:]),
        hung=isinstance(error, HungQuery),
    )


Result = TypeVar("Result")


@dataclass(slots=True)
class Engine:
    """Runs scenarios on a platform. Threads share it.

    `start` starts the platform. A run during which the platform died is repeated once on a new platform; if
    that dies too, its error is raised.
    """

    start: Callable[[], Platform]
    platform: Platform
    lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def started(start: Callable[[], Platform]) -> Engine:
        """Starts the platform and returns the engine."""
        return Engine(start, start())

    @staticmethod
    def of(adapter: Open, time_limit_s: float = TIME_LIMIT_S) -> Engine:
        """Returns the engine of an adapter."""
        return Engine.started(lambda: AdapterPlatform(adapter, time_limit_s))

    def run(
        self, scenario: Scenario, fresh_wanted: FreshWanted = never_fresh, so_far: SoFar | None = None
    ) -> Trace:
        """Runs a well-formed scenario in a database of its own and returns the trace.

        `so_far`: as in `drive`.
        Raises HungQuery when the time limit is over, and whatever the engine raises that the interface of
        adapters does not name.
        """
        return self._surviving(
            lambda platform: run_on(
                platform, lambda: platform.open_for(scenario), scenario, fresh_wanted, so_far
            ),
            _is_in_doubt,
        )

    def recompute(self, wanted: Recomputation) -> Sequence[Row]:
        """Returns the engine's own full computation of a table, the third vote. Raises as `run` does."""
        return self._surviving(lambda platform: recomputed(platform, wanted))

    def columns_of(self, query: Callable[[Dialect], str]) -> Sequence[Column] | None:
        """Returns the columns that the engine gives a query that reads no tables; None where it cannot tell.

        Raises EngineError: the engine refuses the query.
        """

        def asked(platform: Platform) -> Sequence[Column] | None:
            with opened(platform.open_for_vote) as adapter:
                return adapter.columns_of(query(adapter.capabilities.dialect))

        return self._surviving(asked)

    def own_error(self, wanted: Recomputation) -> str:
        """Returns the error with which the engine's own SQL evaluates the query; "" without an error.

        "" also where the adapter has no `evaluate`: then nothing but the engine's refresh has an answer.
        """
        return self._surviving(lambda platform: own_error(platform, wanted), bool)

    def _surviving(
        self, work: Callable[[Platform], Result], in_doubt: Callable[[Result], bool] = lambda result: False
    ) -> Result:
        """Returns the result of `work`, which is repeated once on a new platform if its platform has died.

        `in_doubt`: tells whether a result may be that of a dead platform.
        """
        platform = self.platform
        try:
            result = work(platform)
            if not in_doubt(result) or platform.alive():
                return result
        except Exception:
            if platform.alive():
                raise
        return work(self._replacement_of(platform))

    def _replacement_of(self, dead: Platform) -> Platform:
        with self.lock:
            # Several threads may find it dead: the first one starts the new platform.
            if self.platform is dead:
                self.platform = self.start()
            return self.platform


def run_on(
    platform: Platform,
    database: Open,
    scenario: Scenario,
    fresh_wanted: FreshWanted,
    so_far: SoFar | None = None,
) -> Trace:
    """Runs a scenario in one database of a platform. Raises HungQuery when the time limit is over."""
    done = so_far or SoFar()
    with opened(database) as adapter:

        def interrupt() -> None:
            done.cut()
            adapter.interrupt()

        with cut_after(platform.time_limit_s, interrupt):
            return drive(adapter, scenario, fresh_wanted, done)


def recomputed(platform: Platform, wanted: Recomputation) -> Sequence[Row]:
    """Returns the engine's answer to a query, or the first contents of the table in an empty database.

    Raises EngineError: the engine gives neither.
    """
    with opened(platform.open_for_vote) as adapter, cut_after(platform.time_limit_s, adapter.interrupt):
        text = wanted.text(adapter.capabilities.dialect)
        with ENGINE_WORKS:
            rows = adapter.evaluate(text, wanted.columns)
            if rows is not None:
                return [tuple(row) for row in rows]
        trace = drive(adapter, wanted.alone())
    if not trace.refreshes:
        raise EngineError(
            f"no third vote on {wanted.table}: the engine refuses its full recomputation; "
            "give the adapter an `evaluate`"
        )
    return [stored.row for stored in trace.refreshes[-1].contents]


def own_error(platform: Platform, wanted: Recomputation) -> str:
    """Returns the error of `evaluate` on the query of a recomputation; "" where there is no error."""
    with opened(platform.open_for_vote) as adapter, cut_after(platform.time_limit_s, adapter.interrupt):
        text = wanted.text(adapter.capabilities.dialect)
        try:
            with ENGINE_WORKS:
                adapter.evaluate(text, wanted.columns)
        except BaseException as error:  # noqa: BLE001  # an engine raises what its platform does
            return shown(error)
    return ""


def _is_in_doubt(trace: Trace) -> bool:
    """Tells whether the platform may have died in the run, which engines report as a failed refresh."""
    return any(isinstance(event, RefreshRefused) for event in trace.events)
