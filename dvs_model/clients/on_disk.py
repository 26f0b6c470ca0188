"""Judge histories larger than memory: passes over shares of the keys, one share in memory at a time.

A share holds all operations on some keys (`columns.shares`). Each pass is a task that is run on every share,
possibly in other processes or on a cluster: it matches the share anew and returns little, such as
dependencies. Within a share transactions and operations have their own numbers; results are translated to
those of the whole history by `share.txns` and `share.ops`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dvs_model.clients.basis import Basis, KeptOrder, Size, Unordered, unordered_of, verdict
from dvs_model.clients.lost import lost_updates
from dvs_model.columns.cycles import windows
from dvs_model.columns.forced import Forced, forced, joined
from dvs_model.columns.match import Installed, Matched, Reads, match
from dvs_model.columns.part import part
from dvs_model.columns.serial import explained_in_order
from dvs_model.columns.shares import Listed, Share
from dvs_model.columns.table import COMMITTED, UNKNOWN, Bools, Ints
from dvs_model.columns.versions import NO_ARCS, Arcs, Edges, Versions, edges, neighbours, versions
from dvs_model.columns.world import ReadFrom, World
from dvs_model.observed.client import TOO_MANY, Answer, Client
from dvs_model.observed.history import Orders
from dvs_model.observed.recover import INITIAL, Finding, Recovered
from dvs_model.observed.seen import Observed
from dvs_model.observed.time import Windows


@dataclass(frozen=True, slots=True)
class PassResult:
    """What FindDependencies finds in one share of the keys, with the whole history's numbers.

    `arcs`: the dependencies ww, wr and rw. `ww_key`: the key of each ww. `reads`: readers, writers, and the
    numbers of the operations, of reads that show a version of another transaction. `tails`: the number of
    keys that end in several appends that no read shows. `in_order`: whether the order of the file explains
    the reads of these keys. `lost`: lost updates. `doing`: the transactions with an operation on these keys.
    """

    arcs: tuple[Arcs, Arcs, Arcs]
    ww_key: list[str]
    reads: tuple[Ints, Ints, Ints]
    findings: list[Finding]
    missing: int
    unordered: Unordered | None
    tails: int
    in_order: bool
    lost: list[Finding]
    operations: int
    read_count: int
    doing: Ints
    keys: int


@dataclass(frozen=True, slots=True)
class Pass:
    """A task for each share of the keys of one history. It is pickled if it runs in another process.

    `observed`: the history without its transactions. `taken`: one bool per transaction of the whole history,
    whether it counts as committed, as far as that is known.
    """

    observed: Observed
    taken: Bools

    def matched(self, share: Share) -> Matched:
        """Returns a share with its reads matched to writes.

        It is done anew in each pass: to keep the result of every share would need the memory that is lacking.
        """
        return match(replace(self.observed, transactions=share.rows), self.taken[share.txns])

    def versions(self, share: Share) -> tuple[Matched, Versions]:
        """Returns a share with its reads matched to writes, and the version orders of its keys."""
        matched = self.matched(share)
        return matched, versions(matched)


@dataclass(frozen=True, slots=True)
class FindCommitted(Pass):
    """Finds the transactions that count as committed because somebody read from them.

    It is a pass of its own because another share may show that a transaction without an answer committed, and
    then its versions count in this share, too.
    """

    def __call__(self, share: Share) -> Ints:
        return share.txns[self.matched(share).taken]


@dataclass(frozen=True, slots=True)
class FindDependencies(Pass):
    """Finds the dependencies between transactions by the keys of a share, and anomalies of single reads."""

    def __call__(self, share: Share) -> PassResult:
        matched, known = self.versions(share)
        found = edges(matched, known)
        names = matched.columns.keys
        unordered = unordered_of(matched, known, found)
        reads = matched.reads
        written = reads.writer != INITIAL
        return PassResult(
            tuple(_small(share.txns[each]) for each in (found.ww, found.wr, found.rw)),  # type: ignore[arg-type]
            [names[key] for key in found.ww_key.tolist()],
            (
                share.txns[reads.reader[written]].astype(np.int32),
                share.txns[reads.writer[written]].astype(np.int32),
                share.ops[reads.op[written]],
            ),
            matched.noted.findings,
            matched.noted.missing,
            unordered,
            known.tails,
            explained_in_order(matched, known),
            lost_updates(matched, known),
            len(matched.columns.txn),
            matched.read_count(),
            share.txns.astype(np.int32),
            len(np.unique(matched.columns.key)),
        )


@dataclass(frozen=True, slots=True)
class FindForcedOrders(Pass):
    """Finds the edges that a level forces by the keys of a share (`columns.forced`).

    Returns them with the names of their keys, which are numbered from 0 in this result; None: too many.
    """

    world: World
    level: Client

    def __call__(self, share: Share) -> tuple[Forced, list[str]] | None:
        matched = self.matched(share)
        found = forced(self.world, _reads(matched, share), _installed(matched, share), self.level)
        if found is None:
            return None
        # Number the keys that edges name, so that only these names are sent back.
        codes, key = np.unique(found.key, return_inverse=True)
        return replace(found, key=key), [matched.columns.keys[code] for code in codes.tolist()]


@dataclass(frozen=True, slots=True)
class SelectTransactions(Pass):
    """Selects what some transactions read, and all versions of the keys of a share that they read or wrote.

    `members`: one bool per transaction of the whole history.
    """

    members: Bools

    def __call__(self, share: Share) -> tuple[Recovered, Orders]:
        found, orders = part(*self.versions(share), self.members[share.txns])
        # Translate to numbers of the whole history. A place becomes the number of the operation among all, so
        # that the reads of a transaction can be ordered across shares.
        index = share.txns.tolist()
        first = share.rows.columns.first
        bare = Recovered(replace(self.observed, transactions=()))
        bare.reads = [
            replace(
                read,
                reader=index[read.reader],
                writer=read.writer if read.writer == INITIAL else index[read.writer],
                place=int(share.ops[first[read.reader] + read.place]),
            )
            for read in found.reads
        ]
        bare.taken = {index[at] for at in found.taken}
        bare.installed = {
            key: {index[at]: value for at, value in each.items()} for key, each in found.installed.items()
        }
        bare.placed = {
            key: {index[at]: int(share.ops[first[at] + place]) for at, place in each.items()}
            for key, each in found.placed.items()
        }
        orders.known = {key: [index[at] for at in each] for key, each in orders.known.items()}
        orders.tails = {key: [index[at] for at in each] for key, each in orders.tails.items()}
        return bare, orders


class Apart(Basis):
    """The basis of verdicts by arrays, computed from one share of the keys after the other.

    `explained`: whether the order of the file explains all reads. `lost_of`: the lost updates of all shares.
    `ww_names`: the key of each ww. `reads`: the reads of all shares; empty once `world` holds them.
    """

    def __init__(self, observed: Observed) -> None:
        assert isinstance(observed.transactions, Listed)
        self.observed, self.listed, columns = observed, observed.transactions, observed.transactions.columns
        self.bare = replace(observed, transactions=())
        self.taken = columns.status == COMMITTED
        # A pass is spared where every transaction got an answer.
        if (columns.status == UNKNOWN).any():
            for more in self.listed.shares.each(FindCommitted(self.bare, self.taken)):
                self.taken[more] = True
        results = list(self.listed.shares.each(FindDependencies(self.bare, self.taken)))
        self.findings = [finding for each in results for finding in each.findings]
        self.missing = sum(each.missing for each in results)
        self.tails = sum(each.tails for each in results)
        self.unordered = _first([each.unordered for each in results if each.unordered is not None])
        self.explained = all(each.in_order for each in results)
        self.lost_of = [finding for each in results for finding in each.lost]
        doing = np.zeros(len(self.taken), np.bool_)
        for each in results:
            doing[each.doing] = True
        self.size = Size(
            int((columns.status == COMMITTED).sum()),
            int(((columns.status == COMMITTED) & doing).sum()),
            int(((columns.status == UNKNOWN) & ~self.taken).sum()),
            sum(each.operations for each in results),
            sum(each.read_count for each in results),
            sum(each.keys for each in results),
        )
        ww, wr, rw = (np.concatenate([NO_SMALL, *(each.arcs[at] for each in results)]) for at in range(3))
        order = neighbours(columns.session, self.taken) if observed.records.sessions else NO_ARCS
        self.edges = Edges(ww, wr, rw, _small(order), np.empty(0, np.int64))
        self.certain = self.edges
        self.ww_names: Sequence[str] = [name for each in results for name in each.ww_key]
        self.reads = [each.reads for each in results]
        self.world: World | None = None

    def everything(self) -> World:
        """Returns what each share needs to know of all transactions; builds it on the first call."""
        if self.world is None:
            reader, writer, op = (
                np.concatenate([np.empty(0, np.int64), *(each[at] for each in self.reads)]) for at in range(3)
            )
            # The parts are freed now: they are as large as the whole.
            self.reads = []
            order = self.edges.session.astype(np.int64)
            self.world = World(self.listed.columns.session, self.taken, order, ReadFrom(reader, writer, op))
        return self.world

    def part(self, members: Bools) -> tuple[Recovered, Orders]:
        result, orders = Recovered(self.observed), Orders()
        if not members.any():
            return result, orders
        # Shares have no key in common, so that what they hold by key is joined without a clash.
        for found, known in self.listed.shares.each(SelectTransactions(self.bare, self.taken, members)):
            result.reads += found.reads
            result.taken |= found.taken
            result.installed |= found.installed
            result.placed |= found.placed
            for part_of in ("known", "tails", "unknown", "rules"):
                getattr(orders, part_of).update(getattr(known, part_of))
        result.reads.sort(key=lambda read: (read.reader, read.place))
        return result, orders

    def whole(self) -> tuple[Recovered, Orders]:
        found, orders = self.part(np.ones(len(self.taken), np.bool_))
        found.taken = set(np.flatnonzero(self.taken).tolist())
        return found, orders

    def lost(self) -> list[Finding]:
        return self.lost_of

    def decide(self, level: Client, order: KeptOrder = KeptOrder.SESSIONS, time: Arcs = NO_ARCS) -> Answer:
        # `seen` and `read_from` cache their results in `world`. They run before the world is pickled for
        # other processes, or each share would compute them again.
        world = self.everything().kept(sessions=order is not KeptOrder.NONE, time=time)
        _ = world.seen() if level is Client.CAUSAL else world.read_from()
        parts, names = list[Forced](), list[str]()
        for found in self.listed.shares.each(FindForcedOrders(self.bare, self.taken, world, level)):
            if found is None:
                return TOO_MANY
            # Each share numbers its keys from 0: shift them behind those of the shares before.
            parts.append(replace(found[0], key=found[0].key + len(names)))
            names += found[1]
        return verdict(self, world.order, joined(parts), names, time)

    def in_order(self) -> bool:
        return self.explained

    def windows(self, *, timed: bool) -> Windows:
        return windows(self.listed, self.taken, timed=timed)


def _first(unordered: Sequence[Unordered]) -> Unordered | None:
    """Returns how many keys have no order in all, with the reason of the first one."""
    if not unordered:
        return None
    # By name: shares come in any order, and the verdict must not depend on that.
    first = min(unordered, key=lambda each: each.key)
    return Unordered(sum(each.count for each in unordered), first.key, first.reason)


NO_SMALL = NO_ARCS.astype(np.int32)
"""No arcs, as 32-bit numbers: concatenated with others it keeps them small."""


def _small(arcs: Arcs) -> Arcs:
    """Returns arcs as 32-bit numbers, in half the space: dependencies are most of what is held in memory."""
    return arcs.astype(np.int32)


def _reads(matched: Matched, share: Share) -> Reads:
    """Returns the reads of a share, with the numbers of transactions and operations in the whole history."""
    reads = matched.reads
    # INITIAL is -1, which would pick the last transaction of the share.
    writer = np.where(reads.writer == INITIAL, INITIAL, share.txns[reads.writer])
    return Reads(share.txns[reads.reader], writer, reads.key, share.ops[reads.op], reads.value)


def _installed(matched: Matched, share: Share) -> Installed:
    """Returns the versions of a share, with the numbers of transactions in the whole history."""
    installed = matched.installed
    return Installed(installed.key, share.txns[installed.txn], installed.op, installed.starts)
