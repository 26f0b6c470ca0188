"""Histories as tables of operations, one row each, in Parquet: written and read again, nothing is lost.

What belongs to no operation is in the metadata of the file: what a format records, notes, version orders.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dvs_model.analysis.verdict import Unselected
from dvs_model.columns.table import rows_of
from dvs_model.errors import HistoryError
from dvs_model.formats import spilled
from dvs_model.formats.parquet_columns import observed_in, suits
from dvs_model.formats.parquet_written import tables
from dvs_model.formats.reader import Form, Item, Parsed, Refused, Viewed
from dvs_model.histories.redraft import redraft
from dvs_model.notation import parse

COLUMNS = (
    ("history", pa.string()),
    ("number", pa.int64()),
    ("transaction", pa.int64()),
    ("session", pa.string()),
    ("status", pa.string()),
    ("place", pa.string()),
    ("kind", pa.string()),
    ("key", pa.string()),
    ("value", pa.string()),
    ("list", pa.list_(pa.string())),
    ("writer", pa.list_(pa.int64())),
    ("began", pa.float64()),
    ("ended", pa.float64()),
    ("began_by_clock", pa.float64()),
    ("ended_by_clock", pa.float64()),
    ("start_stamp", pa.list_(pa.int64())),
    ("commit_stamp", pa.list_(pa.int64())),
    ("event", pa.string()),
)
"""`list`: of a read of a list. `writer`: the transaction and its number of the write that a read names.
`began`, `ended`: places in the order of the file. `event`: an event of the notation as text, where the
history is one of it. A transaction without operations has one row without a kind."""

SCHEMA = pa.schema(COLUMNS)
BATCH = 50_000
ABOUT = "dvs"
"""The key of the metadata with what belongs to whole histories."""


def write_parquet(path: Path | io.BytesIO, items: Iterable[Parsed | Viewed]) -> None:
    """Writes histories to a Parquet file, in batches. Raises OSError."""
    about: dict[str, Mapping[str, object]] = {}
    with pq.ParquetWriter(path, SCHEMA) as writer:
        batch: list[Mapping[str, object]] = []
        for place, item in enumerate(items):
            # Two histories of one name stay two.
            name = item.observed.name if isinstance(item, Viewed) else item.history.name
            label = f"{name}#{place}" if name in about else name
            about[label] = {"name": name, **_about(item)}
            if isinstance(item, Viewed):
                writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
                batch = []
                for each in tables(rows_of(item.observed.transactions), SCHEMA, label):
                    writer.write_table(each)
                continue
            for row in _history(item):
                batch.append({**row, "history": label})
                if len(batch) == BATCH:
                    writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
                    batch = []
        writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
        writer.add_key_value_metadata({ABOUT: json.dumps(about)})


def _about(item: Parsed | Viewed) -> Mapping[str, object]:
    """Returns what belongs to a whole history, for the metadata."""
    if isinstance(item, Parsed):
        clauses = str(replace(redraft(item.history), events=[])).strip()
        unselected = None if item.unselected is None else asdict(item.unselected)
        return {
            "clauses": clauses,
            "unread": item.unread,
            "unselected": unselected,
            "places": [[txn, place] for txn, place in item.places.items()],
            "windows": item.windows,
            "unexplained": item.unexplained,
        }
    observed = item.observed
    records = {**asdict(observed.records), "initial": sorted(observed.records.initial, key=str)}
    # What a user says of a file is said again of its table.
    del records["loaded"]
    return {"records": records, "notes": observed.notes, "follows": observed.follows}


def _history(item: Parsed) -> Iterator[Mapping[str, object]]:
    """Yields the rows of a history in the notation, one for each event."""
    draft = redraft(item.history)
    for number, event in enumerate(draft.events, 1):
        yield {
            "number": number,
            "transaction": event.txn,
            "kind": event.kind,
            "key": event.names[0].obj if event.names else None,
            "value": event.value,
            "event": str(event),
        }


def read(
    file: BinaryIO,
    name: str,
    workload: str | None = None,
    *,
    folder: Path | None = None,
    memory: int | None = None,
) -> Iterator[Item]:
    """Yields the histories of a Parquet file: of `dvs convert`, or a table of operations of somebody else.

    `folder`: where operations are put if they need more than `memory` bytes.
    """
    try:
        table = pq.ParquetFile(file)
        found = (table.metadata.metadata or {}).get(ABOUT.encode())
        about = None if found is None else _parsed(found)
        first_about: Mapping[str, Any] = {} if about is None else next(iter(about.values()), {})
        if about is None or (len(about) == 1 and "records" in first_about):
            of = first_about.get("name", name), first_about or None
            apart = suits(table, about)
            if folder is not None and memory is not None and apart and spilled.need(table) > memory:
                observed = spilled.observed_in(table, *of, folder, memory)
            else:
                observed = observed_in(table.schema_arrow.names, table.read, *of)
            yield Viewed(observed, 1, Form.PARQUET)
            return
        for label, rows in _histories(table):
            yield _item(about[label], rows)
    except HistoryError as error:
        yield Refused(name, error)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        yield Refused(name, HistoryError(f"no Parquet that can be read: {error}"))


def _parsed(found: bytes) -> Mapping[str, Any]:
    """Returns what the metadata says of each history. Raises HistoryError: it is no object of objects."""
    about = json.loads(found)
    if not isinstance(about, dict) or not all(isinstance(each, dict) for each in about.values()):
        raise HistoryError(f"the metadata under {ABOUT!r} is no JSON object with one for each history")
    return about


def _histories(table: pq.ParquetFile) -> Iterator[tuple[str, pa.Table]]:
    """Yields the label and the rows of each history; those of one stand together."""
    rows = table.read(SCHEMA.names)
    runs = pc.run_end_encode(rows["history"].combine_chunks())
    begin = 0
    for label, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield label, rows.slice(begin, end - begin)
        begin = end


def _item(about: Mapping[str, Any], rows: pa.Table) -> Item:
    """Returns the history of some rows, or what is wrong with them."""
    name = about["name"]
    try:
        if "records" in about:
            return Viewed(observed_in(SCHEMA.names, rows.select, name, about), 1, Form.PARQUET)
        text = " ".join(rows["event"].to_pylist())
        return Parsed(
            parse(f"{text}\n{about['clauses']}", name),
            1,
            unread=about["unread"],
            unselected=Unselected(**about["unselected"]) if about.get("unselected") else None,
            places=dict(map(tuple, about.get("places", ()))),
            windows=about.get("windows", False),
            unexplained=about.get("unexplained", ""),
        )
    except HistoryError as error:
        return Refused(name, error)
