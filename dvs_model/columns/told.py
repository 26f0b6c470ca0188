"""Version orders from other sources than lists: commit timestamps, the file, and assumptions of the user.

Only files of TimeKiller have timestamps, only those of IsoVista say which write replaced which, and
assumptions are for registers. All of them are small beside the reads, so that keys are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dvs_model.columns.match import Matched
from dvs_model.columns.table import Bools, Ints, windows_of
from dvs_model.graph.cycles import short_cycle
from dvs_model.observed.history import BY_FILE, BY_STAMPS, Pair
from dvs_model.observed.recover import INITIAL, Finding
from dvs_model.observed.seen import Assumption
from dvs_model.observed.time import time_pairs

TRIES = 10
"""Pairs of versions from which a shortest circle is searched. It is only shown: any short one will do."""


@dataclass(slots=True)
class Told:
    """The knowledge of version orders beside lists; keys by their numbers, versions by their writers.

    `stamped`: one bool per key, whether commit timestamps order it. `pairs`: neighbours in orders that are
    not known in full, which the file states. `later`: pairs of which the second version is later, as the user
    assumes. `some`: neighbours that the file states without their key, each with one of the keys that can be
    meant. `reasons`: by key why its order is not known. `rules`: by key the source of what is known of it.
    """

    stamped: Bools
    pairs: dict[int, list[Pair]] = field(default_factory=dict)
    later: dict[int, list[Pair]] = field(default_factory=dict)
    some: dict[Pair, int] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    rules: dict[int, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def unstamp(self, code: int, reason: str) -> None:
        """Notes why the timestamps of a key do not order it after all."""
        self.stamped[code] = False
        self.reasons[code], self.rules[code] = reason, BY_STAMPS

    def stated(self, *, assumed: bool) -> Ints:
        """Returns rows (key, earlier, later), each once. `assumed`: also what the user assumes."""
        found = dict[tuple[int, int, int], None]()
        for pairs in (self.pairs, self.later) if assumed else (self.pairs,):
            found |= dict.fromkeys((key, *pair) for key, of in pairs.items() for pair in of)
        return np.array(list(found), np.int64).reshape(-1, 3)


def commit_ranks(matched: Matched) -> Ints:
    """Returns one int64 per transaction, the rank of its commit timestamp; equal ones have one rank."""
    commits = [matched.observed.bare(at).commit or (0, 0) for at in range(matched.columns.count)]
    place = {commit: rank for rank, commit in enumerate(sorted(set(commits)))}
    return np.fromiter((place[commit] for commit in commits), np.int64, len(commits))


def by_stamps(matched: Matched, told: Told, rank: Ints, place: Ints) -> None:
    """Removes the keys from `told.stamped` whose order timestamps do not tell, and notes why.

    `rank`: by transaction. `place`: by installed version its place in the longest list, or -1. If a list
    shows another order than the timestamps, neither is believed.
    """
    installed, columns = matched.installed, matched.columns
    order = np.lexsort((rank[installed.txn], installed.key))
    key, txn = installed.key[order], installed.txn[order]
    same = (key[1:] == key[:-1]) & told.stamped[key[1:]]
    for code in np.unique(key[1:][same & (rank[txn][1:] == rank[txn][:-1])]).tolist():
        told.unstamp(code, "two of its writers have the same commit timestamp")
    shown = place[order] >= 0
    key, txn, place = key[shown], txn[shown], place[order][shown]
    swapped = np.flatnonzero((key[1:] == key[:-1]) & (place[1:] < place[:-1]))
    for at in swapped.tolist():
        code = int(key[at])
        if told.stamped[code]:
            b, a = (matched.observed.transactions[index] for index in txn[at : at + 2].tolist())
            text = f"key {columns.keys[code]}: lists show what T{a.number} ({a.place}) appended before what "
            text += f"T{b.number} appended ({b.place}), and T{b.number} committed first"
            told.findings.append(Finding("reordered commits", (a.number, b.number), text))
            told.unstamp(code, "its lists show another order than the commit timestamps")


def by_file(matched: Matched, told: Told, unknown: Bools) -> None:
    """Adds the neighbours in version orders that a file states without naming the key.

    If both transactions wrote one key of unknown order in common, that key is meant. If several, it is only
    certain that there is a ww edge. `unknown`: one bool per key.
    """
    numbers, names, installed = matched.columns.number.tolist(), matched.columns.keys, matched.installed
    index = {numbers[at]: at for at in np.flatnonzero(matched.taken).tolist()}
    written: dict[int, set[int]] = {}
    # Keys whose order is known already need no statement.
    open_ = unknown[installed.key]
    for at, code in zip(installed.txn[open_].tolist(), installed.key[open_].tolist(), strict=True):
        written.setdefault(at, set()).add(code)
    for a, b in matched.observed.follows:
        before, after = index.get(a, INITIAL), index.get(b, INITIAL)
        common = sorted(written.get(before, set()) & written.get(after, set()), key=names.__getitem__)
        if before == after or not common:
            continue
        told.rules[common[0]] = BY_FILE
        if len(common) == 1:
            told.pairs.setdefault(common[0], []).append((before, after))
        else:
            told.some[before, after] = common[0]


def by_assumption(matched: Matched, told: Told, unknown: Bools) -> None:
    """Adds what the user assumes of the versions of keys whose order is not recorded.

    Each assumption gives pairs of versions of which one is earlier, not neighbours. Pairs in a circle are no
    order: the finding "cyclic versions". `unknown`: one bool per key.
    """
    records, reads, installed = matched.observed.records, matched.reads, matched.installed
    writers = {
        code: installed.txn[installed.starts[code] : installed.starts[code + 1]].tolist()
        for code in np.flatnonzero(unknown).tolist()
    }
    stated: dict[int, dict[Pair, str]] = {}
    if records.assumes(Assumption.WRITES_FOLLOW_READS):
        # Who read a version and then wrote the key has written a later version.
        both = {code: set(each) for code, each in writers.items()}
        some = unknown[reads.key] & (reads.writer != INITIAL)
        of = (reads.key[some].tolist(), reads.writer[some].tolist(), reads.reader[some].tolist())
        for code, writer, reader in zip(*of, strict=True):
            if {writer, reader} <= both[code]:
                stated.setdefault(code, {})[writer, reader] = "writes follow reads"
    for code, each in writers.items():
        pairs = stated.setdefault(code, {})
        if records.assumes(Assumption.SESSIONS) and records.sessions:
            for pair in _in_sessions(matched, each):
                pairs.setdefault(pair, "the order of sessions")
        if records.assumes(Assumption.REAL_TIME) and records.real_time:
            for pair in _in_time(matched, each):
                pairs.setdefault(pair, "real time")
    for code, pairs in stated.items():
        if pairs:
            told.later[code] = list(pairs)
            told.rules[code] = f"as assumed: {', '.join(sorted(set(pairs.values())))}"
            _refuse_circles(matched, code, pairs, told)


def _in_sessions(matched: Matched, writers: list[int]) -> Iterator[Pair]:
    """Yields consecutive writers of a key in one session. `writers`: in the order of the file."""
    by_session: dict[int, list[int]] = {}
    for index in writers:
        by_session.setdefault(int(matched.columns.session[index]), []).append(index)
    for each in by_session.values():
        yield from pairwise(each)


def _in_time(matched: Matched, writers: list[int]) -> Iterator[Pair]:
    """Yields writers of a key of which the first one ended before the second one began."""
    times = windows_of([matched.observed.bare(index).window for index in writers])
    for before, after in time_pairs(times):
        yield writers[before], writers[after]


def _refuse_circles(matched: Matched, code: int, pairs: Mapping[Pair, str], told: Told) -> None:
    """Adds the finding "cyclic versions" if assumptions form a circle. `pairs`: each with its rule."""
    circle = short_cycle(np.array([*pairs], np.int64).reshape(-1, 2), TRIES)
    if circle:
        number = matched.observed.number
        steps = (
            f"T{number(a)}'s version before T{number(b)}'s ({pairs[a, b]})"
            for a, b in zip(circle, [*circle[1:], circle[0]], strict=True)
        )
        text = f"key {matched.columns.keys[code]}: {'; '.join(steps)}"
        told.findings.append(Finding("cyclic versions", tuple(map(number, circle)), text))
