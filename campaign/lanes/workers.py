"""The one pool of workers: for campaigns, the hunt for planted faults, shrinking, and `dvs verify`.

Workers are processes for an engine in memory, and threads where one JVM serves all. The processes are forked
by the server, a process of Python's `forkserver` that has imported the program once.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver, get_context, util
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event as ProcessEvent
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

from campaign.errors import CampaignError
from campaign.judging.lane import Lane
from campaign.lanes.lifted import LiftedLane, lifted_lane
from campaign.lanes.spec import LaneSpec
from campaign.machine import memory_of_machine
from engines.watchdog import LAST_RESORT, STOPPED

Task = TypeVar("Task")
Result = TypeVar("Result")

ALLOCATOR = "GLIBC_TUNABLES"
"""The environment variable with settings of the C library's memory allocator."""

SERVER_ENVIRONMENT = {
    # Otherwise the server looks for our packages in the current folder first.
    "PYTHONSAFEPATH": "1",
    # DuckDB plans and runs hundreds of small queries for each scenario, and frees what it allocated. Kept
    # for the next query instead of given back, that makes a campaign 10 to 20 % faster.
    ALLOCATOR: "glibc.malloc.tcache_count=2000:glibc.malloc.tcache_max=1032"
    ":glibc.malloc.trim_threshold=536870912:glibc.malloc.mmap_threshold=268435456",
}
"""The environment of the server, and so of the workers. An `ALLOCATOR` that the user has set stays."""

IMPORTED_ONCE = ("campaign.judging.lane", "engines.in_memory", "scipy.sparse.csgraph")
"""What the processes of all pools share: one server imports it, and each worker is a copy of the server.

The server is a new process, so a worker has no connection and no thread of the process that starts the pool.
"""

LOOK_EVERY_S = 0.2
"""Seconds after which an interrupt is noticed at the latest while all workers are busy."""

WorkerDied = BrokenExecutor
"""The error of every task under way when a worker process dies; no task can be started any more."""


@dataclass(slots=True)
class Worker:
    """What a worker offers its tasks: lanes that are built once, and whether the task shall stop.

    `lasting`, an argument of its methods: the engine will run for many minutes (`LaneSpec.build`).
    """

    stopped: Callable[[], bool] = lambda: False
    lanes: dict[tuple[LaneSpec, bool], Lane] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def lane(self, spec: LaneSpec, *, lasting: bool = False) -> Lane:
        """Returns the lane of a spec without its lifting, built once. Raises as `LaneSpec.build` does."""
        with self.lock:
            if (spec, lasting) not in self.lanes:
                self.lanes[spec, lasting] = spec.build(lasting=lasting)
            return self.lanes[spec, lasting]

    def lifted_lane(self, spec: LaneSpec, *, lasting: bool = False) -> Lane | LiftedLane:
        """Returns the lane of a spec with its lifting. Raises as `LaneSpec.build` does."""
        return lifted_lane(self.lane(spec, lasting=lasting), spec)


THIS_WORKER = Worker()
"""The worker of a worker process; other processes do not use it."""


def in_worker_process(work: Callable[..., Result], *args: object) -> Result:
    """Runs a task with the worker of this process: lanes cannot be pickled, so the process builds them."""
    return work(THIS_WORKER, *args)


@dataclass(frozen=True, slots=True)
class Pool:
    """Workers that run tasks. `worker`: the one that all threads share; None where workers are processes.

    `grew`: whether one of the processes has ended because it held more than `MOST_MEMORY`. `hung`: the stacks
    of the threads of a process that was ended in a call that nothing interrupts; "" where none was.
    """

    executor: Executor
    size: int
    worker: Worker | None
    grew: Callable[[], bool] = lambda: False
    hung: Callable[[], str] = str

    def submit(self, work: Callable[..., Result], *args: object) -> Future[Result]:
        """Returns the future of `work(worker, *args)`, which runs when a worker is free.

        Raises WorkerDied: a process has died. CampaignError: the task cannot be sent to a process; a pool
        that got it would hang when it ends.
        """
        if self.worker is None:
            try:
                pickle.dumps((work, args))
            except Exception as error:
                raise CampaignError(f"a task cannot be sent to a worker process: {error}") from error
            with uninterrupted():
                return self.executor.submit(in_worker_process, work, *args)
        return self.executor.submit(work, self.worker, *args)

    def prepare(self, spec: LaneSpec, *, lasting: bool = False) -> None:
        """Checks now that the engine of a lane can start, which otherwise shows only in the first task.

        Where workers are threads the lane itself is built. Raises as `LaneSpec.build` does.
        """
        if self.worker is not None:
            self.worker.lane(spec, lasting=lasting)
        else:
            spec.ensure_startable()


@contextmanager
def pool_for(spec: LaneSpec, size: int, *, dies_by_interrupt: bool = False) -> Iterator[Pool]:
    """Opens a pool of `size` workers for a lane; tasks not started by the end of the block are dropped.

    When an exception leaves the block, `Worker.stopped` tells the tasks under way to stop.
    `dies_by_interrupt`: Ctrl-C ends a worker process at once, for tasks that are worth nothing when cut.
    """
    executor: Executor
    log = NamedTemporaryFile(prefix="dvs-hung-", encoding="utf-8", mode="r")  # noqa: SIM115  # closed below
    if spec.engine_tier.processes:
        context = get_context("forkserver")
        _start_server(context)
        process_event, grown = context.Event(), context.Event()
        stop: Callable[[], None] = process_event.set
        executor = ProcessPoolExecutor(
            size,
            mp_context=context,
            initializer=_begin,
            initargs=(process_event, grown, log.name, dies_by_interrupt),
        )
        pool = Pool(executor, size, None, grown.is_set, log.read)
    else:
        thread_event = threading.Event()

        def stop() -> None:
            thread_event.set()
            # Cuts the scenarios under way, which take long on Spark; what is cut is not counted.
            STOPPED.set()

        executor = ThreadPoolExecutor(size)
        pool = Pool(executor, size, Worker(thread_event.is_set))
    try:
        yield pool
    except BaseException:
        stop()
        _end_processes(executor)
        raise
    finally:
        workers = _workers_of(executor)
        executor.shutdown(wait=True, cancel_futures=True)
        STOPPED.clear()
        log.close()
        for worker in workers:
            _kill_group_of(worker)


GRACE_S = 10.0
"""Seconds that workers have to end by themselves, after an interrupt or an error."""


def _end_processes(executor: Executor) -> None:
    """Ends the worker processes of a pool: an engine that hangs or blocks signals must not outlive it."""
    workers = _workers_of(executor)
    executor.shutdown(wait=False, cancel_futures=True)
    end = time.monotonic() + GRACE_S
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
        if worker.is_alive():
            _kill_group_of(worker)
            worker.kill()


def _workers_of(executor: Executor) -> Sequence[BaseProcess]:
    """Returns the worker processes of a pool, of which it knows nothing more after its shutdown."""
    if not isinstance(executor, ProcessPoolExecutor):
        return ()
    return tuple((executor._processes or {}).values())  # noqa: SLF001  # there is no other way to them


def _kill_group_of(worker: BaseProcess) -> None:
    """Ends what the engine of a worker has started; a worker that died could not end it."""
    for process in _group_of(worker.pid or 0):
        _kill(process)


def _group_of(leader: int) -> Iterator[int]:
    """Yields the ids of the other processes in the group of a worker: those that its engine started."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of a process, in parentheses, may have blanks.
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.parent.name)
        if int(fields[2]) == leader and pid != leader:
            yield pid


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _end_with_group(status: int) -> None:
    """Ends this worker process, and those that its engine has started.

    Python's own clean-up is left out: DuckDB's cached connection is still open, and its bindings would print
    fifty lines about leaks.
    """
    if os.getpgrp() == os.getpid():
        for process in _group_of(os.getpid()):
            _kill(process)
    os._exit(status)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C and SIGTERM to the end of the block.

    The first task starts the worker processes. Interrupted in the middle of that, the pool would not know of
    a process that is about to start, and would not wait for it. The signals are not blocked but noted: the
    system may give a blocked signal to another thread, and Python would handle it in this one all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda received, _frame: noted.append(received))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for received in noted:
            signal.raise_signal(received)


def _start_server(context: ForkServerContext) -> None:
    """Starts the process that worker processes are copies of, unless it runs."""
    context.set_forkserver_preload([*IMPORTED_ONCE])
    before = {name: os.environ.get(name) for name in SERVER_ENVIRONMENT}
    os.environ.update(SERVER_ENVIRONMENT)
    if (own := before[ALLOCATOR]) is not None:
        os.environ[ALLOCATOR] = own
    try:
        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(stop: ProcessEvent, grown: ProcessEvent, log: str, dies_by_interrupt: bool) -> None:
    """Prepares a worker process. `grown`: set before it ends because of its memory. `log`: as `Pool.hung`.

    Ctrl-C reaches the whole process group, but the parent alone decides what happens to the tasks under way.
    The worker watches its parent and ends after it, because a parent that was killed cannot end its workers.
    """
    THIS_WORKER.stopped = stop.is_set
    LAST_RESORT.log = Path(log).open("a", encoding="utf-8")  # noqa: SIM115  # open as long as the process lives
    # Below 0, so that it runs after all other finalizers of the process.
    util.Finalize(None, _end_with_group, args=(0,), exitpriority=-1)
    # What an engine prints is no part of the result, which may be JSON.
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_DFL if dies_by_interrupt else signal.SIG_IGN)
    if not dies_by_interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # A group of its own, so that what its engine starts can be ended with it.
        os.setpgid(0, 0)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is None:
            return
        while parent.is_alive():
            parent.join(LOOK_EVERY_S * 5)
            if (used := _memory()) > MOST_MEMORY:
                sys.stderr.write(f"a worker process holds {used >> 20:,} MiB, and is replaced\n")
                grown.set()
                break
        _end_with_group(1)

    threading.Thread(target=watch, daemon=True).start()


MOST_MEMORY = max(2 << 30, memory_of_machine() // 4)
"""Bytes that a worker process may hold: an engine that leaks gets a new one, and the scenario runs again.

At least 2 GiB, so that a small machine does not take many databases in one scenario for a leak.
"""


def _memory() -> int:
    """Returns the bytes of memory that this process holds."""
    # The second number counts the pages that are in memory.
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def completed(
    tasks: Iterator[Task], submit: Callable[[Task], Future[Result]], most: int
) -> Iterator[tuple[Task, Future[Result]]]:
    """Yields each task with its finished future, as tasks finish; at most `most` are under way at once.

    A task is taken from `tasks` when it can start. After a WorkerDied no further task is taken.
    """
    running: dict[Future[Result], Task] = {}
    alive = True
    while True:
        while alive and len(running) < most and (task := next(tasks, None)) is not None:
            try:
                running[submit(task)] = task
            except WorkerDied as error:
                alive = False
                failed: Future[Result] = Future()
                failed.set_exception(error)
                yield task, failed
        if not running:
            return
        for future in _first_done(running):
            alive = alive and not isinstance(future.exception(), WorkerDied)
            yield running.pop(future), future


def _first_done(running: Collection[Future[Result]]) -> Collection[Future[Result]]:
    """Waits until at least one future is done, and returns those that are.

    Signals are handled between two looks: an exception in the middle of `wait` could leave a lock of a future
    taken for ever, and the end of the pool would wait for it.
    """
    done: Collection[Future[Result]] = ()
    while not done:
        with uninterrupted():
            done, _ = wait(running, timeout=LOOK_EVERY_S, return_when=FIRST_COMPLETED)
    return done
