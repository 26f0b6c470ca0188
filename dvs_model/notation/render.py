"""From a history to its text; `parse(render(h)) == h`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from dvs_model.history import (
    Abort,
    Commit,
    Derive,
    Event,
    History,
    PredicateRead,
    Read,
    Start,
    Version,
    Write,
)


class Names:
    """How a history's versions are written."""

    def __init__(self, history: History) -> None:
        self.last: dict[tuple[str, int], int] = {}
        self.dead: set[Version] = set()
        for event in history.events:
            if isinstance(event, Write | Derive):
                version = event.version
                self.last[version.obj, version.txn] = version.number
                if isinstance(event, Write) and event.dead:
                    self.dead.add(version)

    def version(self, version: Version) -> str:
        """A version's name: x1, x1.2 where T1 makes several, my_table_1, x_init."""
        if version.unborn:
            return f"{version.obj}_init"
        between = "" if version.obj.isalpha() else "_"
        number = "" if self.last.get((version.obj, version.txn), 1) == 1 else f".{version.number}"
        return f"{version.obj}{between}{version.txn}{number}"

    def versions(self, versions: Iterable[Version]) -> str:
        """A version set."""
        return ", ".join(map(self.version, versions))

    def event(self, event: Event) -> str:
        """An event."""
        match event:
            case Start(txn):
                return f"s{txn}"
            case Commit(txn):
                return f"c{txn}"
            case Abort(txn):
                return f"a{txn}"
            case Write(txn, version, _, True):
                return f"w{txn}({version.obj}_dead)"
            case Write(txn, version, value, _):
                return f"w{txn}({self.version(version)}{_value(value)})"
            case Read(txn, version, value):
                return f"r{txn}({self.version(version)}{_value(value)})"
            case Derive(txn, version, sources):
                return f"d{txn}({self.version(version)} | {self.versions(sources)})"
            case PredicateRead(txn, predicate, versions, matched, writes):
                members = "" if matched is None else f"; {self.versions(matched)}".rstrip()
                return f"{'w' if writes else 'r'}{txn}({predicate}: {self.versions(versions)}{members})"
            case _:
                assert_never(event)


def _value(value: str | None) -> str:
    return "" if value is None else f", {value}"


def render(history: History) -> str:
    """The history in the text notation: its events in one line, then its clauses."""
    names = Names(history)
    lines = [" ".join(names.event(event) for event in history.shown_events())]
    lines.extend(f"[{clause}]" for clause in clauses(history, names))
    return "\n".join(lines)


def clauses(history: History, names: Names) -> Iterator[str]:
    """What stands between square brackets: version orders with time-precedes, matches, sessions."""
    named = {version for event in history.shown_events() for version in _named(event)}
    chains = [
        " << ".join(map(names.version, versions))
        for versions in history.orders.values()
        if len(versions) > 1 or any(version.txn == 0 and version not in named for version in versions)
    ]
    times = [f"c{before} < s{after}" for before, after in history.precedes]
    if chains or times:
        yield "; ".join(part for part in (", ".join(chains), ", ".join(times)) if part)
    for predicate, matching in history.matches.items():
        yield f"{predicate} matches {names.versions(sorted(matching))}".rstrip()
    for session, txns in history.sessions.items():
        yield f"session {session}: {', '.join(map(str, txns))}"


def _named(event: Event) -> Iterator[Version]:
    match event:
        case Read(version=version):
            yield version
        case Derive(sources=sources):
            yield from sources
        case PredicateRead(versions=versions):
            yield from versions
        case _:
            pass
