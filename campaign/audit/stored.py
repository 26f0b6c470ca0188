"""The stored tables of an account, and the record of each refresh, as delta-rs reads them for `dvs audit`.

None of the engine's own readers takes part: otherwise a mistake of theirs could hide itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError
from deltalake.schema import VariantType

from campaign.errors import CampaignError
from dynamic_tables.store.names.catalog import ATTACHED, DEFINITION
from oracle.documents import json_text
from workload.errors import first_line

CHANGES_ROWS = frozenset({"WRITE", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "RESTORE", "STREAMING UPDATE"})
"""Delta's names of operations that may change rows."""

DECLARED_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""The key in the metadata of a column for the type with which Spark declared it, if that has a length."""


class Unreadable(Exception):
    """A table, or a version of it, that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """A refresh as its commit records it.

    `sources`: the version of each source that it consumed. `identities`: Delta's id of each source at that
    time; a table that is created again under the same name has another id.
    """

    version: int
    timestamp: int
    action: str
    sources: Mapping[str, int]
    identities: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table or view of an account. `place`: its folder, which is elsewhere for an attached table.

    `kind`: what it is, by the words of `dynamic_tables.store.names.catalog`. `identity`: Delta's id. `text`:
    its query, if it has one. `columns`: the columns that a reader sees, in order; `hidden`: those that the
    engine keeps for itself. `newest`: the newest version. `key`: the columns of its primary key.
    `frozen_where`: the condition of the rows that no refresh changes.
    """

    name: str
    kind: str
    place: str
    identity: str = ""
    text: str = ""
    columns: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    newest: int = 0
    key: tuple[str, ...] = ()
    frozen_where: str = ""


def tables_of(folder: Path) -> Mapping[str, StoredTable]:
    """Returns the tables and views of an account. Raises CampaignError: the folder is no account."""
    if not folder.is_dir():
        raise CampaignError(f"{folder} is no folder; give the folder of an account")
    found: dict[str, StoredTable] = {}
    for inner in sorted(folder.iterdir()):
        if inner.name[0] not in "._" and (inner / "_delta_log").is_dir():
            table = _table(inner)
            if table is not None:
                found[table.name] = table
    if not found:
        raise CampaignError(f"{folder} holds no table of an account; give the folder that an account opens")
    return found


def _table(folder: Path) -> StoredTable | None:
    """Returns the table or view in a folder; None: it is a Delta table that the engine did not make."""
    try:
        delta = DeltaTable(folder)
        properties = delta.metadata().configuration
        data = json.loads(properties.get(DEFINITION, "{}"))
        kind, place = str(data.get("kind", "")), str(folder)
        if kind == ATTACHED:
            place = str(data["path"])
            delta = DeltaTable(place)
        fields = [field.name for field in delta.schema().fields]
    except (DeltaError, OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise CampaignError(f"{folder.name}: delta-rs cannot read it: {first_line(error)}") from error
    if not kind:
        return None
    hidden = tuple(name for name in fields if name.startswith("$"))
    return StoredTable(
        name=folder.name,
        kind=kind,
        place=place,
        identity=str(delta.metadata().id),
        text=str(data.get("text", "")),
        columns=tuple(name for name in fields if name not in hidden),
        hidden=hidden,
        newest=delta.version(),
        key=tuple(map(str, data.get("key", ()))),
        frozen_where=str(data.get("frozen_where", "")),
    )


def refreshes_of(table: StoredTable) -> tuple[Sequence[Refresh], str | None]:
    """Returns the refreshes, oldest first, and what another writer did after the newest one, None if nothing.

    Raises Unreadable: a commit's record cannot be decoded.
    """
    refreshes: list[Refresh] = []
    foreign: str | None = None
    for commit in reversed(_history(table)):
        metadata = _engine_metadata(commit.get("userMetadata"))
        refresh = metadata.get("refresh") if metadata else None
        version = int(commit["version"])
        # Delta's automatic compaction repeats the metadata of the refresh that it follows.
        if isinstance(refresh, Mapping) and commit.get("operation") != "OPTIMIZE":
            try:
                frontier = refresh["frontier"]
                # By source: version, timestamp, content and identity, as `Frontier.to_json` writes them.
                sources = {name: int(version) for name, (version, *_) in frontier["sources"].items()}
                identities = {name: str(source[3]) for name, source in frontier["sources"].items()}
                timestamp, action = int(frontier["timestamp"]), str(refresh["action"])
                refreshes.append(Refresh(version, timestamp, action, sources, identities))
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise Unreadable(f"the refresh in version {version} cannot be decoded: {error}") from error
            foreign = None
        elif commit.get("operation") in CHANGES_ROWS:
            foreign = f"version {version} ({commit['operation']}) was written by another writer"
    return refreshes, foreign


def _history(table: StoredTable) -> list[dict[str, Any]]:
    try:
        return DeltaTable(table.place).history()
    except (DeltaError, OSError, ValueError) as error:
        raise Unreadable(f"delta-rs cannot read its log: {first_line(error)}") from error


def _engine_metadata(text: object) -> Mapping[str, object] | None:
    """Returns what the engine noted in a commit's user metadata; None: another writer made the commit."""
    try:
        metadata = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return metadata if isinstance(metadata, dict) and metadata.get("dvs") == 1 else None


def rows_at(table: StoredTable, version: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Returns columns of a version; by default those that a reader saw then, as others may have come since.

    A VARIANT is a text of type JSON. Raises Unreadable: files or log are gone, or a column is CHAR(n).
    """
    try:
        delta = DeltaTable(table.place, version=version)
        documents = {field.name for field in delta.schema().fields if isinstance(field.type, VariantType)}
        declared = {field.name: str(field.metadata.get(DECLARED_TYPE, "")) for field in delta.schema().fields}
    except Exception as error:  # delta-rs raises Exception itself for files that are gone
        raise Unreadable(f"version {version} of {table.name}: {first_line(error)}") from error
    if columns is None:
        columns = [name for name in declared if not name.startswith("$")]
    for name in columns:
        if re.search(r"\bchar\(", declared.get(name, "")):
            reason = f"column {name} is of type {declared[name]}, which only Spark pads with blanks"
            raise Unreadable(f"version {version} of {table.name}: {reason}")
    try:
        items = ", ".join('"' + name.replace('"', '""') + '"' for name in columns) or "1"
        # Not `to_pyarrow_table`, which refuses deletion vectors.
        rows = pa.table(QueryBuilder().register("t", delta).execute(f"SELECT {items} FROM t").read_all())
        for place, name in enumerate(columns):
            if name in documents:
                texts = pa.array(map(_json, rows.column(place).to_pylist()), pa.string())
                rows = rows.set_column(place, name, texts.cast(pa.json_()))
        return rows
    except Exception as error:  # delta-rs raises Exception itself for files that are gone
        raise Unreadable(f"version {version} of {table.name}: {first_line(error)}") from error


def _json(document: Mapping[str, bytes] | None) -> str | None:
    """Returns the JSON of a document, of which Parquet has two blobs. Raises OracleError: they are none."""
    return None if document is None else json_text(document["metadata"], document["value"])
