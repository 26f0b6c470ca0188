"""Histories of clients by definition, read by read and pair by pair, to judge the arrays of `dvs_model`.

Who wrote what was read follows from the values; version orders from lists, timestamps, and what the file or
the user says; dependencies from both. A level up to causal consistency demands that a version which was read
is newer than each version of its key that its reader had seen (Biswas and Enea 2019). All of it is executed
as it is written, so that it is right and slow.

How the reads of one transaction are matched that shows what no write explains is `Explained`, of `dvs_model`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise, permutations

import networkx as nx

from dvs_model.observed.client import Client
from dvs_model.observed.history import (
    BY_FILE,
    BY_LISTS,
    BY_NOTHING,
    BY_ONE,
    BY_STAMPS,
    UNRECORDED,
    Orders,
    Pair,
)  # fmt: skip
from dvs_model.observed.recover import (
    INITIAL,
    Explained,
    Finding,
    Recovered,
    apart,
    incompatible,
    interrupted,
    sorts_of,
    twice,
)
from dvs_model.observed.seen import READS, Assumption, Kind, Observed, Op, Status


@dataclass(slots=True)
class Matched(Recovered):
    """A history with its reads matched to writes. `lists`: by key the longest list that was read."""

    lists: dict[str, tuple[object, ...]] = field(default_factory=dict)


def _operations(observed: Observed) -> Iterator[tuple[int, int, Op]]:
    """Yields the operations, each with its transaction and its place in that."""
    for index, transaction in enumerate(observed.transactions):
        for place, op in enumerate(transaction.ops):
            yield index, place, op


def recover(observed: Observed) -> Matched:
    """Returns the history with its reads matched to writes, one read after the other.

    Raises HistoryError: a value belongs to a workload that is not judged.
    """
    writes = [each for each in _operations(observed) if each[2].kind not in READS]
    writers = {(op.key, op.value): (index, place) for index, place, op in writes}
    # The last value of each key and transaction.
    final: dict[str, dict[int, object]] = {}
    for index, _, op in writes:
        final.setdefault(op.key, {})[index] = op.value
    history = Matched(observed)
    _find_lists(history, observed)
    appends = _appends(observed)
    for key, whole in history.lists.items():
        if key not in history.broken and (txn := apart(observed, whole, appends.get(key, {}))) is not None:
            interrupted(history, key, whole, txn)
    _count_as_committed(history, observed, writers)
    sorts = cache(lambda: sorts_of(writers))

    def wrote(key: str, value: object) -> tuple[int, int] | None:
        return writers.get((key, value))

    for index in sorted(history.taken):
        if observed.transactions[index].status is Status.COMMITTED:
            history.reads += Explained(history, index, wrote, final, sorts).read()
    for key, of_key in final.items():
        history.installed[key] = {index: value for index, value in of_key.items() if index in history.taken}
        history.placed[key] = {
            index: writers[key, value][1] for index, value in history.installed[key].items()
        }
    return history


def _appends(observed: Observed) -> dict[str, dict[int, list[object]]]:
    """Returns by key and transaction the elements that it appended, in the order of its appends."""
    appends: dict[str, dict[int, list[object]]] = {}
    for index, _, op in _operations(observed):
        if op.kind is Kind.APPEND:
            appends.setdefault(op.key, {}).setdefault(index, []).append(op.value)
    return appends


def _committed_reads(observed: Observed) -> Iterator[tuple[int, Op]]:
    """Yields the reads of committed transactions."""
    for index, _, op in _operations(observed):
        if op.kind in READS and observed.transactions[index].status is Status.COMMITTED:
            yield index, op


def _find_lists(history: Matched, observed: Observed) -> None:
    """Finds by key the longest list that was read. Each other list of the key must be a prefix of it."""
    lists = [(index, op, op.value) for index, op in _committed_reads(observed) if isinstance(op.value, tuple)]
    longest: dict[str, tuple[tuple[object, ...], int]] = {}
    for index, op, value in lists:
        if op.key not in longest or len(value) > len(longest[op.key][0]):
            longest[op.key] = value, index
    history.lists = {key: value for key, (value, _) in longest.items()}
    for key, (value, index) in longest.items():
        if len(set(value)) < len(value):
            twice(history, key, value, index)
    for index, op, value in lists:
        whole, other = longest[op.key]
        if op.key not in history.broken and value != whole[: len(value)]:
            incompatible(history, op, whole, index, other)


def _count_as_committed(
    history: Matched, observed: Observed, writers: Mapping[tuple[str, object], tuple[int, int]]
) -> None:
    """Finds the transactions that count as committed, and the list elements that nobody committed.

    A client without an answer does not know whether its transaction committed. If a committed transaction
    read what it wrote, it must have committed.
    """
    statuses = [transaction.status for transaction in observed.transactions]
    history.taken = {index for index, status in enumerate(statuses) if status is Status.COMMITTED}
    for key, whole in history.lists.items():
        for place, value in enumerate(whole):
            writer = writers.get((key, value))
            if writer is None or statuses[writer[0]] is Status.ABORTED:
                history.bad.setdefault(key, []).append((place, value))
    for _, op in _committed_reads(observed):
        for shown in op.value if isinstance(op.value, tuple) else (op.value,):
            by = writers.get((op.key, shown))
            history.taken |= {by[0]} if by is not None and statuses[by[0]] is Status.UNKNOWN else set()


def orders(history: Matched) -> Orders:
    """Returns the version orders, of each key by the first of these that applies.

    Lists that contradict each other: none. A single writer: its version alone. Commit timestamps. Lists, or
    appends that no list shows. Else none: a register with several writers.
    """
    version_orders = Orders()
    records, appended = history.observed.records, _appends(history.observed)
    for key, writers in history.installed.items():
        if not writers:
            continue
        shown = history.lists.get(key)
        version_orders.rules[key] = BY_NOTHING
        if key in history.broken:
            version_orders.unknown[key] = history.broken[key]
        elif len(writers) <= 1 and shown is None:
            version_orders.known[key], version_orders.rules[key] = list(writers), BY_ONE
        elif records.stamps:
            version_orders.rules[key] = BY_STAMPS
            _add_by_stamps(history, key, writers, version_orders)
        elif shown is not None or key in appended:
            version_orders.rules[key] = BY_LISTS
            place = {value: at for at, value in enumerate(shown or ())}
            read = sorted((place[v], index) for index, v in writers.items() if v in place)
            version_orders.known[key] = [index for _, index in read]
            hidden = [index for index, value in writers.items() if value not in place]
            if len(hidden) > 1:
                version_orders.tails[key] = hidden
            # A single append that no list shows can only be the last one.
            version_orders.known[key] += hidden if len(hidden) == 1 else []
        else:
            version_orders.unknown[key] = UNRECORDED
    if history.observed.follows:
        _add_stated(history, version_orders)
    if records.assumed:
        _add_assumed(history, version_orders)
    return version_orders


def _add_by_stamps(history: Matched, key: str, writers: Mapping[int, object], version_orders: Orders) -> None:
    """Adds the order of a key by the commit timestamps of its writers."""
    stamps = {index: history.observed.transactions[index].commit for index in writers}
    if len(set(stamps.values())) < len(stamps):
        version_orders.unknown[key] = "two of its writers have the same commit timestamp"
        return
    version_orders.known[key] = sorted(writers, key=lambda index: stamps[index] or (0, 0))
    # A list that was read shows the order a second time. If the two differ, neither is believed.
    place = {value: at for at, value in enumerate(history.lists.get(key, ()))}
    shown = [index for index in version_orders.known[key] if writers[index] in place]
    swapped = next(((a, b) for a, b in pairwise(shown) if place[writers[a]] > place[writers[b]]), None)
    if swapped is not None:
        b, a = (history.observed.transactions[index] for index in swapped)
        text = f"key {key}: lists show what T{a.number} ({a.place}) appended before what T{b.number} appended"
        text += f" ({b.place}), and T{b.number} committed first"
        history.findings.append(Finding("reordered commits", (a.number, b.number), text))
        del version_orders.known[key]
        version_orders.unknown[key] = "its lists show another order than the commit timestamps"


def _add_stated(history: Matched, version_orders: Orders) -> None:
    """Adds the neighbours in version orders that a file states without naming the key.

    If both transactions wrote one key of unknown order in common, that key is meant. If several, it is only
    certain that there is a ww edge.
    """
    index = {each.number: at for at, each in enumerate(history.observed.transactions) if at in history.taken}
    for a, b in history.observed.follows:
        before, after = index.get(a, INITIAL), index.get(b, INITIAL)
        # Keys whose order is known already need no statement.
        common = sorted(
            key for key in version_orders.unknown if {before, after} <= history.installed[key].keys()
        )
        if before == after or not common:
            continue
        version_orders.rules[common[0]] = BY_FILE
        if len(common) == 1:
            version_orders.pairs.setdefault(common[0], []).append((before, after))
        else:
            version_orders.some[before, after] = common[0]


def _add_assumed(history: Matched, version_orders: Orders) -> None:
    """Adds what the user assumes of the versions of keys whose order is not recorded.

    Each assumption gives pairs of versions of which one is earlier, not neighbours. Pairs in a circle are no
    order: the finding "cyclic versions".
    """
    records = history.observed.records
    stated: dict[str, dict[Pair, str]] = {}
    if records.assumes(Assumption.WRITES_FOLLOW_READS):
        # Who read a version and then wrote the key has written a later version.
        for read in history.reads:
            there = read.key in version_orders.unknown and read.reader in history.installed[read.key]
            if there and read.writer in history.installed[read.key]:
                stated.setdefault(read.key, {})[read.writer, read.reader] = "writes follow reads"
    for key in version_orders.unknown:
        pairs = stated.setdefault(key, {})
        for a, b in permutations(sorted(history.installed[key]), 2):
            one, other = (history.observed.transactions[index] for index in (a, b))
            if records.assumes(Assumption.SESSIONS) and records.sessions and one.session == other.session:
                pairs |= {(a, b): "the order of sessions"} if a < b else {}
            if records.assumes(Assumption.REAL_TIME) and records.real_time and one.window and other.window:
                pairs |= {(a, b): "real time"} if one.window.end < other.window.begin else {}
    for key, pairs in stated.items():
        if pairs:
            version_orders.later[key] = list(pairs)
            rules = ", ".join(sorted(set(pairs.values())))
            version_orders.rules[key] = f"as assumed: {rules}"
            if not nx.is_directed_acyclic_graph(nx.DiGraph(list(pairs))):
                history.findings.append(Finding("cyclic versions", (), key))


@dataclass(slots=True)
class Edges:
    """The dependencies of Adya's DSG that are certain, and the neighbours in sessions; pairs of indexes."""

    ww: list[Pair] = field(default_factory=list)
    wr: list[Pair] = field(default_factory=list)
    rw: list[Pair] = field(default_factory=list)
    session: list[Pair] = field(default_factory=list)


def edges(history: Matched, version_orders: Orders) -> Edges:
    """Returns the dependencies that exist whatever the file leaves open."""
    # By key and version the writers that come next: one if the order is known, several if one of them does.
    result = Edges()
    following: dict[tuple[str, int], list[int]] = {}
    for key, order in version_orders.known.items():
        tail = version_orders.tails.get(key, [])
        first = order[:1] or tail
        following[key, INITIAL] = first
        for before, after in pairwise(order):
            result.ww.append((before, after))
            following[key, before] = [after]
        if order and tail:
            # Each append of the tail is later than the last version in order, whichever of them is next. So
            # each pair is an edge, or a path of edges.
            result.ww += [(order[-1], after) for after in tail]
            following[key, order[-1]] = tail
    for key in version_orders.unknown:
        # Only this is known: every version comes after what was there before the run.
        following[key, INITIAL] = list(history.installed[key])
        for before, after in version_orders.stated(key):
            result.ww.append((before, after))
            following.setdefault((key, before), []).append(after)
    result.ww += version_orders.some
    for read in history.reads:
        if read.writer != INITIAL and read.writer in history.taken:
            result.wr.append((read.writer, read.reader))
        for after in following.get((read.key, read.writer), ()):
            if after != read.reader:
                result.rw.append((read.reader, after))
    if history.observed.records.sessions:
        result.session = sessions(history)
    return result


def sessions(history: Matched) -> list[Pair]:
    """Returns the pairs of consecutive committed transactions of one session.

    Without an answer a transaction counts as committed if a committed one read from it (`Recovered.taken`).
    """
    last: dict[str, int] = {}
    pairs = []
    for index, transaction in enumerate(history.observed.transactions):
        if index in history.taken:
            if transaction.session in last:
                pairs.append((last[transaction.session], index))
            last[transaction.session] = index
    return pairs


def seen(history: Matched, level: Client, order: Collection[Pair]) -> dict[tuple[int, int], set[int]]:
    """Returns by transaction and place of a read the transactions that count as seen by then.

    `order`: the pairs of transactions whose order is kept: those of sessions, and maybe of real time.

    Read committed: those from which it has read so far. Read atomic: all from which it reads, and those
    before it in the order. Causal: all that happened before it, by the order and reads.
    """
    sources: dict[int, list[tuple[int, int]]] = {}
    for read in history.reads:
        if read.writer in history.taken:
            sources.setdefault(read.reader, []).append((read.place, read.writer))
    graph = nx.DiGraph((writer, reader) for reader, of in sources.items() for _, writer in of)
    graph.add_edges_from(order)
    kept = nx.DiGraph(order)
    for each in (graph, kept):
        each.add_nodes_from(history.taken)
    seen_by_read: dict[tuple[int, int], set[int]] = {}
    for read in history.reads:
        of = sources.get(read.reader, [])
        match level:
            case Client.READ_COMMITTED:
                before = {writer for place, writer in of if place <= read.place}
            case Client.READ_ATOMIC:
                before = {writer for _, writer in of} | nx.ancestors(kept, read.reader)
            case _:
                before = nx.ancestors(graph, read.reader)
        seen_by_read[read.reader, read.place] = before - {read.reader}
    return seen_by_read


def forced(history: Matched, level: Client, order: Collection[Pair]) -> set[Pair]:
    """Returns pairs (older, newer) of writers of a key: a reader of the newer version had seen the older."""
    seen_by_read = seen(history, level, order)
    return {
        (older, read.writer)
        for read in history.reads
        if read.writer == INITIAL or read.writer in history.taken
        for older in seen_by_read[read.reader, read.place]
        if older != read.writer and older in history.installed.get(read.key, ())
    }


def holds(
    history: Matched,
    version_orders: Orders,
    level: Client,
    *,
    in_sessions: bool = True,
    time: Collection[Pair] = (),
) -> bool:
    """Tells whether a level up to causal consistency holds: forced edges close no cycle with dependencies.

    `time`: pairs of which the first ended before the second began, where a level keeps real time, too.
    What the user assumes of versions does not count, for the levels are defined without version orders.
    """
    order = [*(sessions(history) if in_sessions else []), *time]
    due, more = edges(history, replace(version_orders, later={})), forced(history, level, order)
    # Nothing comes before what was there before the run.
    early = any(newer == INITIAL for _, newer in more)
    return not early and nx.is_directed_acyclic_graph(nx.DiGraph([*due.ww, *due.wr, *order, *more]))


def lost_updates(history: Matched, version_orders: Orders) -> set[tuple[int, int]]:
    """Returns pairs of transactions that read one version of a key and both overwrote it, in any order.

    Only where the order of their versions is not known. An append that no list shows comes after each version
    that was read, so that of these the version does not matter.
    """
    readers: dict[tuple[str, int | None], set[int]] = {}
    for read in history.reads:
        if read.key in version_orders.unknown and read.reader in history.installed[read.key]:
            readers.setdefault((read.key, read.writer), set()).add(read.reader)
        elif read.reader in version_orders.tails.get(read.key, ()):
            readers.setdefault((read.key, None), set()).add(read.reader)
    return {pair for each in readers.values() for pair in permutations(map(history.number, each), 2)}
