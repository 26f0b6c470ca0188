"""Concurrent clients: each runs its transactions one after the other, and notes what it saw."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from random import Random

from protocols.recording.database import Aborted, Connection, Database, NoAnswer, RecordingError
from protocols.recording.workloads import STAMP, Request, Word, Workload, drawn

REST_S = 0.05
"""Seconds between two looks of the thread that waits for the clients, or for a lost server."""

PAUSE_S = 1.0
"""Seconds for which a client that is paused does nothing, in the middle of a transaction."""

PATIENCE_S = 20.0
"""Seconds for which a client tries to connect again."""


class Outcome(Enum):
    """How a transaction ended, in Jepsen's words. INVOKE: it begins. INFO: nobody knows."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Op:
    """One operation and what it gave. `f`: Jepsen's word. `argument`: the key, or (modulus, remainder)."""

    f: str
    argument: object
    value: object


@dataclass(frozen=True, slots=True)
class Moment:
    """The beginning or end of a transaction as its client saw it; moments are in the order of real time.

    `nanoseconds`: since the run began. `error`: the database's class of it. `places`: of each key written the
    place of its version among all, as the database has counted.
    """

    outcome: Outcome
    process: int
    ops: tuple[Op, ...]
    nanoseconds: int
    error: str = ""
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How many transactions of which kind run, and how.

    `rate`: transactions a second of all clients; 0: as many as they can.
    `transactions`: at which number all clients together stop; 0: only the time ends it. Seconds between two
    faults, 0 for none: `kill`, a connection is broken; `crash`, the server is killed, and started again;
    `pause`, a client pauses inside a transaction. `refreshers`: clients that refresh views; `plain`: half of
    their refreshes are not CONCURRENTLY.
    """

    workload: Workload
    clients: int = 8
    seconds: float = 30.0
    rate: float = 0.0
    keys: int = 8
    seed: int = 1
    transactions: int = 0
    kill: float = 0.0
    crash: float = 0.0
    pause: float = 0.0
    refreshers: int = 1
    plain: bool = False


@dataclass(slots=True)
class Recording:
    """What clients saw. `interrupted`: Ctrl-C has ended it early. `crashes`: how often the server was killed.

    `left`: of each key how many versions it has had when all was over.
    """

    run: Load
    moments: list[Moment] = field(default_factory=list)
    interrupted: bool = False
    crashes: int = 0
    left: Mapping[int, int] = field(default_factory=dict)

    def acknowledged(self) -> list[tuple[Moment, int, int]]:
        """Returns the writes that were acknowledged, each with its key and the place of its version."""
        done = (each for each in self.moments if each.outcome is Outcome.OK)
        return [(each, key, place) for each in done for key, place in each.places]

    def lost(self) -> list[tuple[Moment, int, int]]:
        """Returns the writes that were acknowledged and are not there: durability is violated.

        The database counts the versions of a key. A version is lost if fewer were left, or if another
        transaction got its place.
        """
        writes = self.acknowledged()
        counts = Counter((key, place) for _, key, place in writes)
        failed = Outcome.FAIL
        deleted = {
            op.argument
            for each in self.moments
            for op in each.ops
            if op.f == "delete" and each.outcome is not failed
        }
        return [
            (moment, key, place)
            for moment, key, place in writes
            if counts[key, place] > 1
            or (place > self.left.get(key, 0) and not (key in deleted and key not in self.left))
        ]

    def totals(self) -> Iterator[tuple[Moment, int]]:
        """Yields the committed readers of all accounts of a bank, each with the total that it saw."""
        for moment in self.moments if self.run.workload.name == "bank" else ():
            keys = {op.argument for op in moment.ops if op.f == "r"}
            if moment.outcome is Outcome.OK and len(keys) == self.run.keys == len(moment.ops):
                yield moment, sum(int(str(op.value or 0)) % STAMP for op in moment.ops)


def recorded(database: Database, run: Load, clock: Callable[[], int] = time.perf_counter_ns) -> Recording:
    """Runs the clients on a database and returns what they saw.

    Raises RecordingError: the database cannot be used, or does what no database may do to a client.
    """
    if run.crash and database.crash is None:
        raise RecordingError(
            "only a server that is started for the run can be killed; name one without an address"
        )
    recording = Recording(run)
    with database.place(lists=run.workload.lists):
        whole = _Clients(database, run, recording, Crew(run, clock, clock()))
        whole.load()
        whole.go()
        whole.read_all()
        with closing(database.session()) as session:
            recording.left = session.versions()
    return recording


@dataclass(slots=True)
class Crew:
    """The threads of a run. `began`: when, by the clock. `stop`: each ends after its transaction."""

    run: Load
    clock: Callable[[], int]
    began: int
    stop: threading.Event = field(default_factory=threading.Event)
    failed: list[BaseException] = field(default_factory=list)

    def seconds(self) -> float:
        """Returns for how long the run has been going on."""
        return (self.clock() - self.began) / 1e9

    def numbers(self, client: int) -> Iterator[int]:
        """Yields the numbers of the transactions of a client, each when it is due."""
        run = self.run
        for number in count():
            at = number * run.clients + client
            if run.transactions and at >= run.transactions:
                return
            if run.rate:
                self.stop.wait(max(0.0, at / run.rate - self.seconds()))
            if self.stop.is_set() or self.seconds() > run.seconds:
                return
            yield number

    def work(self, client: Callable[[int], None], meanwhile: Callable[[], None]) -> bool:
        """Runs all clients; returns whether Ctrl-C has ended them early. Raises what one of them raises."""
        threads = [
            threading.Thread(target=self._guarded, args=(client, each)) for each in range(self.run.clients)
        ]
        interrupted = False
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                time.sleep(REST_S)
                meanwhile()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            self.stop.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        if self.failed:
            raise self.failed[0]
        return interrupted

    def _guarded(self, client: Callable[[int], None], number: int) -> None:
        try:
            client(number)
        except BaseException as error:  # noqa: BLE001  # it is raised again where the run ends
            self.failed.append(error)
            self.stop.set()


@dataclass(slots=True)
class _Clients:
    """The clients of a run. `sessions`: by client the open one. `pausing`: clients that pause soon."""

    database: Database
    run: Load
    recording: Recording
    crew: Crew
    sessions: dict[int, Connection] = field(default_factory=dict)
    pausing: set[int] = field(default_factory=set)

    def _note(self, outcome: Outcome, process: int, ops: tuple[Op, ...], error: str = "",
              places: tuple[tuple[int, int], ...] = ()) -> None:  # fmt: skip
        # The clock is read and the moment is added while no other client does either.
        with _ORDER:
            self.recording.moments.append(
                Moment(outcome, process, ops, self.crew.clock() - self.crew.began, error, places)
            )

    def load(self) -> None:
        """Writes what the keys hold at first, as a transaction of a process of its own."""
        first = self.run.workload.first(self.run.keys, self.run.clients)
        if not first:
            return
        session = self.database.session()
        ops = tuple(Op("w", key, value) for key, value in first.items())
        process = self.run.clients
        self._note(Outcome.INVOKE, process, ops)
        session.begin()
        places = tuple((key, session.write(key, value)) for key, value in first.items())
        session.commit()
        session.close()
        self._note(Outcome.OK, process, ops, places=places)

    def go(self) -> None:
        """Runs the clients to their end, with the faults of the run. Raises RecordingError."""
        random, run = Random(f"{self.run.seed} kill"), self.run
        faults = {self._sever: run.kill, self._pause: run.pause, self._crash: run.crash}
        due = dict(faults)

        def meanwhile() -> None:
            """Causes the faults that are due by now."""
            for fault, seconds in faults.items():
                if seconds and self.crew.seconds() > due[fault]:
                    due[fault] = self.crew.seconds() + seconds
                    fault(random.randrange(run.clients))

        try:
            for client in range(self.run.clients):
                self.sessions[client] = self.database.session()
            self.recording.interrupted = self.crew.work(self._client, meanwhile)
        finally:
            for session in self.sessions.values():
                session.close()

    def read_all(self) -> None:
        """Reads every key that was written, so that the order of its last versions is known.

        Without it that order is open, and with it whether what has replaced the value that a transaction
        read closes a cycle. A database that refuses a read leaves it open.
        """
        if not self.run.workload.clients:
            return
        wrote = {op.argument for each in self.recording.moments for op in each.ops if op.f in ("w", "append")}
        keys = sorted(key for key in wrote if isinstance(key, int))
        process = self.run.clients
        self.sessions[process] = self.database.session()
        try:
            for start in range(0, len(keys), self.run.keys):
                steps = tuple(Request(Word.READ, key) for key in keys[start : start + self.run.keys])
                if self._transaction(process, process, steps) is Outcome.INFO:
                    break
        finally:
            self.sessions[process].close()

    def _sever(self, client: int) -> None:
        self.sessions[client].sever()

    def _pause(self, client: int) -> None:
        self.pausing.add(client)

    def _crash(self, client: int) -> None:
        assert self.database.crash is not None
        self.database.crash()
        self.recording.crashes += 1

    def _client(self, client: int) -> None:
        """Runs the transactions of a client, of which each next one begins after the one before is over."""
        run, process = self.run, client
        for number in self.crew.numbers(client):
            steps = drawn(run.workload, run.seed, run.keys, client, run.clients, number)
            if self._transaction(client, process, steps) is Outcome.INFO:
                # As in Jepsen: a process without an answer does nothing any more.
                process += run.clients + 1

    def _transaction(self, client: int, process: int, steps: tuple[Request, ...]) -> Outcome:
        session, ops, places, committing = self.sessions[client], list[Op](), dict[int, int](), False
        self._note(Outcome.INVOKE, process, asked(steps))
        try:
            session.begin()
            for step in steps:
                if client in self.pausing:
                    self.pausing.discard(client)
                    self.crew.stop.wait(PAUSE_S)
                ops.extend(done(session, step, places))
            committing = True
            session.commit()
        except Aborted as error:
            self._note(Outcome.FAIL, process, asked(steps), str(error))
            try:
                session.rollback()
            except NoAnswer:
                self._again(client)
            return Outcome.FAIL
        except NoAnswer as error:
            # Without a COMMIT nothing can have been done.
            outcome = Outcome.INFO if committing else Outcome.FAIL
            self._note(outcome, process, tuple(ops) if committing else asked(steps), str(error))
            self._again(client)
            return outcome
        self._note(Outcome.OK, process, tuple(ops), places=tuple(places.items()))
        return Outcome.OK

    def _again(self, client: int) -> None:
        """Connects a client again. Raises RecordingError: the server does not come back."""
        self.sessions[client].close()
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.sessions[client] = self.database.session()
                return
            except (RecordingError, NoAnswer):
                if time.monotonic() > end or self.crew.stop.is_set():
                    raise
                time.sleep(REST_S)


_ORDER = threading.Lock()


def asked(steps: tuple[Request, ...]) -> tuple[Op, ...]:
    """Returns what a transaction asks for, before it has any answer."""
    words = {Word.APPEND: "append", Word.WRITE: "w", Word.UPDATE: "w", Word.DELETE: "delete"}
    ops: list[Op] = []
    for step in steps:
        match step.word:
            case Word.READ:
                ops.append(Op("r", step.key, None))
            case Word.SELECT:
                ops.append(Op("rp", (step.key, step.value), None))
            case Word.MOVE:
                ops += [Op("r", step.key, None), Op("r", step.value, None)]
            case _:
                ops.append(Op(words[step.word], step.key, step.value))
    return tuple(ops)


def done(session: Connection, step: Request, places: dict[int, int]) -> Iterator[Op]:
    """Runs a step and yields what it gave; `places` gets the place of each version written."""
    key, value = step.key, step.value
    place: int | None = None
    match step.word:
        case Word.READ:
            yield Op("r", key, session.read(key).value)
            return
        case Word.SELECT:
            yield Op("rp", (key, value), session.select(key, value))
            return
        case Word.MOVE:
            yield from _moved(session, step, places)
            return
        case Word.APPEND:
            place, op = session.append(key, value), Op("append", key, value)
        case Word.WRITE:
            place, op = session.write(key, value), Op("w", key, value)
        case Word.UPDATE:
            place, op = session.update(key, value), Op("w", key, value)
        case Word.DELETE:
            place, op = session.delete(key), Op("delete", key, None)
    if place is None:
        yield Op("r", key, None)
    else:
        places[key] = place
        yield op


def _moved(session: Connection, step: Request, places: dict[int, int]) -> Iterator[Op]:
    """Reads two balances and then writes both, as an application would."""
    balances: dict[int, int] = {}
    for key in (step.key, step.value):
        seen = session.read(key).value
        yield Op("r", key, seen)
        if not isinstance(seen, int):
            # The database has lost the account.
            return
        balances[key] = seen
    if balances[step.key] % STAMP < step.amount:
        return
    for key, change in ((step.key, -step.amount), (step.value, step.amount)):
        value = balances[key] % STAMP + change + step.stamp * STAMP
        places[key] = session.write(key, value)
        yield Op("w", key, value)
