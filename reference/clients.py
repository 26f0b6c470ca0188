"""Histories of clients by definition, read by read and pair by pair, to judge the arrays of `dvs_model`.

Who wrote what was read follows from the values; version orders from lists, timestamps, and what the file or
the user says; dependencies from both. A level up to causal consistency demands that a version which was read
is newer than each version of its key that its reader had seen (Biswas and Enea 2019). All of it is executed
as it is written, so that it is right and slow.

How the reads of one transaction are matched that shows what no write explains is `Explained`, of `dvs_model`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def _every(observed: Observed) -> Iterator[tuple[int, int, Op]]:
    """Yields the operations, each with its transaction and its place in that."""
    for index, transaction in enumerate(observed.transactions):
        for place, op in enumerate(transaction.ops):
            yield index, place, op


def recover(observed: Observed) -> Matched:
    """Returns the history with its reads matched to writes, one read after the other.

    Raises HistoryError: a value belongs to a workload that is not judged.
    """
    writes = [each for each in _every(observed) if each[2].kind not in READS]
    writers = {(op.key, op.value): (index, place) for index, place, op in writes}
    # The last value of each key and transaction.
    final: dict[str, dict[int, object]] = {}
    for index, _, op in writes:
        final.setdefault(op.key, {})[index] = op.value
    found = Matched(observed)
    _longest(found, observed)
    appends = _appends(observed)
    for key, whole in found.lists.items():
        if key not in found.broken and (txn := apart(observed, whole, appends.get(key, {}))) is not None:
            interrupted(found, key, whole, txn)
    _take(found, observed, writers)
    sorts = cache(lambda: sorts_of(writers))

    def wrote(key: str, value: object) -> tuple[int, int] | None:
        return writers.get((key, value))

    for index in sorted(found.taken):
        if observed.transactions[index].status is Status.COMMITTED:
            found.reads += Explained(found, index, wrote, final, sorts).read()
    for key, of_key in final.items():
        found.installed[key] = {index: value for index, value in of_key.items() if index in found.taken}
        found.placed[key] = {index: writers[key, value][1] for index, value in found.installed[key].items()}
    return found


def _appends(observed: Observed) -> dict[str, dict[int, list[object]]]:
    """Returns by key and transaction the elements that it appended, in the order of its appends."""
    appends: dict[str, dict[int, list[object]]] = {}
    for index, _, op in _every(observed):
        if op.kind is Kind.APPEND:
            appends.setdefault(op.key, {}).setdefault(index, []).append(op.value)
    return appends


def _shown(observed: Observed) -> Iterator[tuple[int, Op]]:
    """Yields the reads of committed transactions."""
    for index, _, op in _every(observed):
        if op.kind in READS and observed.transactions[index].status is Status.COMMITTED:
            yield index, op


def _longest(found: Matched, observed: Observed) -> None:
    """Finds by key the longest list that was read. Each other list of the key must be a prefix of it."""
    lists = [(index, op, op.value) for index, op in _shown(observed) if isinstance(op.value, tuple)]
    longest: dict[str, tuple[tuple[object, ...], int]] = {}
    for index, op, value in lists:
        if op.key not in longest or len(value) > len(longest[op.key][0]):
            longest[op.key] = value, index
    found.lists = {key: value for key, (value, _) in longest.items()}
    for key, (value, index) in longest.items():
        if len(set(value)) < len(value):
            twice(found, key, value, index)
    for index, op, value in lists:
        whole, other = longest[op.key]
        if op.key not in found.broken and value != whole[: len(value)]:
            incompatible(found, op, whole, index, other)


def _take(found: Matched, observed: Observed, writers: Mapping[tuple[str, object], tuple[int, int]]) -> None:
    """Finds the transactions that count as committed, and the list elements that nobody committed.

    A client without an answer does not know whether its transaction committed. If a committed transaction
    read what it wrote, it must have committed.
    """
    statuses = [transaction.status for transaction in observed.transactions]
    found.taken = {index for index, status in enumerate(statuses) if status is Status.COMMITTED}
    for key, whole in found.lists.items():
        for place, value in enumerate(whole):
            writer = writers.get((key, value))
            if writer is None or statuses[writer[0]] is Status.ABORTED:
                found.bad.setdefault(key, []).append((place, value))
    for _, op in _shown(observed):
        for shown in op.value if isinstance(op.value, tuple) else (op.value,):
            by = writers.get((op.key, shown))
            found.taken |= {by[0]} if by is not None and statuses[by[0]] is Status.UNKNOWN else set()


def orders(found: Matched) -> Orders:
    """Returns the version orders, of each key by the first of these that applies.

    Lists that contradict each other: none. A single writer: its version alone. Commit timestamps. Lists, or
    appends that no list shows. Else none: a register with several writers.
    """
    made = Orders()
    records, appended = found.observed.records, _appends(found.observed)
    for key, writers in found.installed.items():
        if not writers:
            continue
        shown = found.lists.get(key)
        made.rules[key] = BY_NOTHING
        if key in found.broken:
            made.unknown[key] = found.broken[key]
        elif len(writers) <= 1 and shown is None:
            made.known[key], made.rules[key] = list(writers), BY_ONE
        elif records.stamps:
            made.rules[key] = BY_STAMPS
            _by_stamps(found, key, writers, made)
        elif shown is not None or key in appended:
            made.rules[key] = BY_LISTS
            place = {value: at for at, value in enumerate(shown or ())}
            read = sorted((place[v], index) for index, v in writers.items() if v in place)
            made.known[key] = [index for _, index in read]
            hidden = [index for index, value in writers.items() if value not in place]
            if len(hidden) > 1:
                made.tails[key] = hidden
            # A single append that no list shows can only be the last one.
            made.known[key] += hidden if len(hidden) == 1 else []
        else:
            made.unknown[key] = UNRECORDED
    if found.observed.follows:
        _stated(found, made)
    if records.assumed:
        _assume(found, made)
    return made


def _by_stamps(found: Matched, key: str, writers: Mapping[int, object], made: Orders) -> None:
    """Adds the order of a key by the commit timestamps of its writers."""
    stamps = {index: found.observed.transactions[index].commit for index in writers}
    if len(set(stamps.values())) < len(stamps):
        made.unknown[key] = "two of its writers have the same commit timestamp"
        return
    made.known[key] = sorted(writers, key=lambda index: stamps[index] or (0, 0))
    # A list that was read shows the order a second time. If the two differ, neither is believed.
    place = {value: at for at, value in enumerate(found.lists.get(key, ()))}
    shown = [index for index in made.known[key] if writers[index] in place]
    swapped = next(((a, b) for a, b in pairwise(shown) if place[writers[a]] > place[writers[b]]), None)
    if swapped is not None:
        b, a = (found.observed.transactions[index] for index in swapped)
        text = f"key {key}: lists show what T{a.number} ({a.place}) appended before what T{b.number} appended"
        text += f" ({b.place}), and T{b.number} committed first"
        found.findings.append(Finding("reordered commits", (a.number, b.number), text))
        del made.known[key]
        made.unknown[key] = "its lists show another order than the commit timestamps"


def _stated(found: Matched, made: Orders) -> None:
    """Adds the neighbours in version orders that a file states without naming the key.

    If both transactions wrote one key of unknown order in common, that key is meant. If several, it is only
    certain that there is a ww edge.
    """
    index = {each.number: at for at, each in enumerate(found.observed.transactions) if at in found.taken}
    for a, b in found.observed.follows:
        before, after = index.get(a, INITIAL), index.get(b, INITIAL)
        # Keys whose order is known already need no statement.
        common = sorted(key for key in made.unknown if {before, after} <= found.installed[key].keys())
        if before == after or not common:
            continue
        made.rules[common[0]] = BY_FILE
        if len(common) == 1:
            made.pairs.setdefault(common[0], []).append((before, after))
        else:
            made.some[before, after] = common[0]


def _assume(found: Matched, made: Orders) -> None:
    """Adds what the user assumes of the versions of keys whose order is not recorded.

    Each assumption gives pairs of versions of which one is earlier, not neighbours. Pairs in a circle are no
    order: the finding "cyclic versions".
    """
    records = found.observed.records
    stated: dict[str, dict[Pair, str]] = {}
    if records.assumes(Assumption.WRITES_FOLLOW_READS):
        # Who read a version and then wrote the key has written a later version.
        for read in found.reads:
            there = read.key in made.unknown and read.reader in found.installed[read.key]
            if there and read.writer in found.installed[read.key]:
                stated.setdefault(read.key, {})[read.writer, read.reader] = "writes follow reads"
    for key in made.unknown:
        pairs = stated.setdefault(key, {})
        for a, b in permutations(sorted(found.installed[key]), 2):
            one, other = (found.observed.transactions[index] for index in (a, b))
            if records.assumes(Assumption.SESSIONS) and records.sessions and one.session == other.session:
                pairs |= {(a, b): "the order of sessions"} if a < b else {}
            if records.assumes(Assumption.REAL_TIME) and records.real_time and one.window and other.window:
                pairs |= {(a, b): "real time"} if one.window.end < other.window.begin else {}
    for key, pairs in stated.items():
        if pairs:
            made.later[key] = list(pairs)
            rules = ", ".join(sorted(set(pairs.values())))
            made.rules[key] = f"as assumed: {rules}"
            if not nx.is_directed_acyclic_graph(nx.DiGraph(list(pairs))):
                found.findings.append(Finding("cyclic versions", (), key))


@dataclass(slots=True)
class Edges:
    """The dependencies of Adya's DSG that are certain, and the neighbours in sessions; pairs of indexes."""

    ww: list[Pair] = field(default_factory=list)
    wr: list[Pair] = field(default_factory=list)
    rw: list[Pair] = field(default_factory=list)
    session: list[Pair] = field(default_factory=list)


def edges(found: Matched, made: Orders) -> Edges:
    """Returns the dependencies that exist whatever the file leaves open."""
    # By key and version the writers that come next: one if the order is known, several if one of them does.
    result = Edges()
    following: dict[tuple[str, int], list[int]] = {}
    for key, order in made.known.items():
        tail = made.tails.get(key, [])
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
    for key in made.unknown:
        # Only this is known: every version comes after what was there before the run.
        following[key, INITIAL] = list(found.installed[key])
        for before, after in made.stated(key):
            result.ww.append((before, after))
            following.setdefault((key, before), []).append(after)
    result.ww += made.some
    for read in found.reads:
        if read.writer != INITIAL and read.writer in found.taken:
            result.wr.append((read.writer, read.reader))
        for after in following.get((read.key, read.writer), ()):
            if after != read.reader:
                result.rw.append((read.reader, after))
    if found.observed.records.sessions:
        result.session = sessions(found)
    return result


def sessions(found: Matched) -> list[Pair]:
    """Returns the pairs of consecutive transactions of one session, of those that count as committed."""
    last: dict[str, int] = {}
    pairs = []
    for index, transaction in enumerate(found.observed.transactions):
        if index in found.taken:
            if transaction.session in last:
                pairs.append((last[transaction.session], index))
            last[transaction.session] = index
    return pairs


def seen(found: Matched, level: Client, *, in_sessions: bool = True) -> dict[tuple[int, int], set[int]]:
    """Returns by transaction and place of a read the transactions that count as seen by then.

    Read committed: those from which it has read so far. Read atomic: all from which it reads, and those
    before it in its session. Causal: all that happened before it, by sessions and reads.
    """
    sources: dict[int, list[tuple[int, int]]] = {}
    for read in found.reads:
        if read.writer in found.taken:
            sources.setdefault(read.reader, []).append((read.place, read.writer))
    graph = nx.DiGraph((writer, reader) for reader, of in sources.items() for _, writer in of)
    order = nx.DiGraph(sessions(found)) if in_sessions else nx.DiGraph()
    graph.add_edges_from(order.edges)
    for each in (graph, order):
        each.add_nodes_from(found.taken)
    known: dict[tuple[int, int], set[int]] = {}
    for read in found.reads:
        of = sources.get(read.reader, [])
        match level:
            case Client.READ_COMMITTED:
                before = {writer for place, writer in of if place <= read.place}
            case Client.READ_ATOMIC:
                before = {writer for _, writer in of} | nx.ancestors(order, read.reader)
            case _:
                before = nx.ancestors(graph, read.reader)
        known[read.reader, read.place] = before - {read.reader}
    return known


def forced(found: Matched, level: Client, *, in_sessions: bool = True) -> set[Pair]:
    """Returns the pairs (older, newer): who read the newer version of a key had seen the older writer."""
    known = seen(found, level, in_sessions=in_sessions)
    return {
        (older, read.writer)
        for read in found.reads
        if read.writer == INITIAL or read.writer in found.taken
        for older in known[read.reader, read.place]
        if older != read.writer and older in found.installed.get(read.key, ())
    }


def holds(found: Matched, made: Orders, level: Client, *, in_sessions: bool = True) -> bool:
    """Tells whether a level up to causal consistency holds: forced edges close no cycle with dependencies.

    What the user assumes of versions does not count, for the levels are defined without version orders.
    """
    due, more = edges(found, replace(made, later={})), forced(found, level, in_sessions=in_sessions)
    order = sessions(found) if in_sessions else []
    # Nothing comes before what was there before the run.
    early = any(newer == INITIAL for _, newer in more)
    return not early and nx.is_directed_acyclic_graph(nx.DiGraph([*due.ww, *due.wr, *order, *more]))


def lost_updates(found: Matched, made: Orders) -> set[tuple[int, int]]:
    """Returns pairs of transactions that read one version of a key and both overwrote it, in any order.

    Only where the order of their versions is not known. An append that no list shows comes after each version
    that was read, so that of these the version does not matter.
    """
    readers: dict[tuple[str, int | None], set[int]] = {}
    for read in found.reads:
        if read.key in made.unknown and read.reader in found.installed[read.key]:
            readers.setdefault((read.key, read.writer), set()).add(read.reader)
        elif read.reader in made.tails.get(read.key, ()):
            readers.setdefault((read.key, None), set()).add(read.reader)
    return {pair for each in readers.values() for pair in permutations(map(found.number, each), 2)}
