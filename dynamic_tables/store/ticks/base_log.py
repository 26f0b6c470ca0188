"""The versions of a base table, read from its Delta log and the ledger.

The log says which commits there are and to which transaction each belongs (its stamp, in the commit's user
metadata). The ledger says from which data timestamp on a version is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dynamic_tables.store.log.log import LoggedCommit, TableLog, decoding
from dynamic_tables.store.ticks.ledger import Tick
from dynamic_tables.versions import SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The part of a commit's metadata about its transaction: part number, number of parts, commit timestamp.

    A transaction is complete when its last part is committed. `before`: the version of each of its tables
    before the transaction. `closing`: the commit changes no row. `undone`: the commit takes earlier parts
    back. `owner`: the process that runs it, as `owner.this_process` names it. `account`: the id of its
    account, because an attached table may be a table of several.
    """

    transaction: str
    timestamp: int
    part: int
    parts: int
    before: Mapping[str, int]
    closing: bool = False
    undone: bool = False
    owner: str = ""
    account: str = ""

    def to_metadata(self) -> dict[str, object]:
        """Returns the metadata of the commit."""
        return {
            "dvs": 1,
            "transaction": self.transaction,
            "timestamp": self.timestamp,
            "part": self.part,
            "parts": self.parts,
            "tables": dict(self.before),
            "closing": self.closing,
            "undone": self.undone,
            "owner": self.owner,
            "account": self.account,
        }


def stamp_of(log: TableLog, commit: LoggedCommit) -> Stamp | None:
    """Returns the stamp of a commit; None for a commit of another writer, or of another account.

    Raises CorruptTable: for a stamp that cannot be read.
    """
    # A table that is attached may have commits of another account's refreshes.
    if commit.metadata is None or "transaction" not in commit.metadata:
        return None
    stamp = log.decoded.get(commit.version)
    if not isinstance(stamp, Stamp):
        stamp = log.decoded[commit.version] = _decoded(log, commit, commit.metadata)
    return None if log.account and stamp.account != log.account else stamp


def _decoded(log: TableLog, commit: LoggedCommit, data: Mapping[str, object]) -> Stamp:
    """Returns the stamp in a commit's metadata. Raises CorruptTable."""
    with decoding(f"{log.name}: the stamp of version {commit.version}"):
        tables = data["tables"]
        if not isinstance(tables, Mapping):
            raise TypeError("tables is no object")
        # `int` does not accept the type `object` of a decoded value, so it is made a text before.
        return Stamp(
            transaction=str(data["transaction"]),
            timestamp=int(str(data["timestamp"])),
            part=int(str(data["part"])),
            parts=int(str(data["parts"])),
            before={str(name): int(version) for name, version in tables.items()},
            closing=bool(data["closing"]),
            undone=bool(data.get("undone")),
            owner=str(data.get("owner", "")),
            account=str(data.get("account", "")),
        )


def versions(log: TableLog) -> tuple[SourceVersion, ...]:
    """Returns every version of a base table, oldest first, each with the time at which it was committed.

    That time, in microseconds, is what the writer's clock showed: it orders nothing.
    """
    result: list[SourceVersion] = []
    tracked = True
    for commit in log.commits:
        stamp = stamp_of(log, commit)
        changed = commit.changes_rows and not (stamp is not None and stamp.closing)
        # While row tracking is off, OPTIMIZE gives the same rows other ids, which count from when it is on.
        changed = changed or (commit.table.row_ids and not tracked)
        tracked = commit.table.row_ids
        same = result and result[-1].identity == commit.table.id
        # `content` stays the same over commits that change no row, so that a refresh sees NO_DATA.
        content = result[-1].content if same and not changed else commit.version
        result.append(SourceVersion(commit.version, commit.in_commit_ms * 1000, content, commit.table.id))
    return tuple(result)


def at_ticks(log: TableLog, ticks: Sequence[Tick]) -> tuple[SourceVersion, ...]:
    """Returns the versions of a base table that ticks name, as far as its log holds them.

    `timestamp` is the data timestamp of the tick from which on the version is read.
    """
    by_commit = versions(log)
    first = log.commits[0].version
    result: list[SourceVersion] = []
    for tick in ticks:
        named = tick.tables.get(log.name)
        # Log cleanup may have removed the commit, or the log was read before it was written.
        if named is None or not first <= named.version <= log.newest.version:
            continue
        version = by_commit[named.version - first]
        # A table that was dropped and created again under its name has another id.
        if version.identity == named.identity and (not result or result[-1].version < version.version):
            result.append(replace(version, timestamp=tick.timestamp))
    return tuple(result)
