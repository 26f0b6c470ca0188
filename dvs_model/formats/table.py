"""Histories as tables of operations, one row each, in Parquet: written and read again, nothing is lost.

What belongs to no operation is in the metadata of the file: what a format records, notes, version orders.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from dvs_model.analysis.verdict import Unselected
from dvs_model.columns.table import Rows
from dvs_model.errors import HistoryError
from dvs_model.formats import spilled
from dvs_model.formats.operations import cell, value_of
from dvs_model.formats.parquet_columns import observed_in, suits
from dvs_model.formats.parquet_written import tables, whole
from dvs_model.formats.reader import Form, Item, Parsed, Refused, Viewed
from dvs_model.histories.redraft import redraft
from dvs_model.notation import parse
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction, Window

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
            if isinstance(item, Viewed) and isinstance(item.observed.transactions, Rows):
                rows = item.observed.transactions
                if whole(rows):
                    writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
                    batch = []
                    for each in tables(rows, SCHEMA, label):
                        writer.write_table(each)
                    continue
            for row in _observed(item.observed) if isinstance(item, Viewed) else _history(item):
                batch.append({**row, "history": label})
                if len(batch) == BATCH:
                    writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
                    batch = []
        writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
        writer.add_key_value_metadata({ABOUT: json.dumps(about)})


def _about(item: Parsed | Viewed) -> Mapping[str, object]:
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


def _observed(observed: Observed) -> Iterator[Mapping[str, object]]:
    number = 0
    for each in observed.transactions:
        about = {
            "transaction": each.number,
            "session": each.session,
            "status": each.status.value,
            "place": each.place,
            "began": each.window.begin if each.window else None,
            "ended": each.window.end if each.window else None,
            "began_by_clock": each.timed.begin if each.timed else None,
            "ended_by_clock": each.timed.end if each.timed else None,
            "start_stamp": each.start,
            "commit_stamp": each.commit,
        }
        if not each.ops:
            yield about
        for op in each.ops:
            number += 1
            shown = isinstance(op.value, tuple)
            yield {
                **about,
                "number": number,
                "kind": op.kind.value,
                "key": op.key,
                "value": None if shown else cell(op.value),
                "list": list(map(cell, op.value)) if isinstance(op.value, tuple) else None,
                "writer": op.writer,
            }


def _history(item: Parsed) -> Iterator[Mapping[str, object]]:
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
        about = None if found is None else json.loads(found)
        if suits(table, about):
            label = None if about is None else next(iter(about.values()))
            called = name if label is None else label["name"]
            if folder is not None and memory is not None and spilled.need(table) > memory:
                yield Viewed(spilled.observed_in(table, called, label, folder, memory), 1, Form.PARQUET)
            else:
                yield Viewed(observed_in(table, called, label), 1, Form.PARQUET)
            return
        assert about is not None
        rows = (row for batch in table.iter_batches(BATCH, columns=SCHEMA.names) for row in batch.to_pylist())
        for label, of_history in groupby(rows, key=lambda row: row["history"]):
            yield _item(about[label], of_history)
    except HistoryError as error:
        yield Refused(name, error)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        yield Refused(name, HistoryError(f"no Parquet that can be read: {error}"))


def _item(about: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Item:
    if "clauses" in about:
        text = " ".join(row["event"] for row in rows)
        try:
            return Parsed(
                parse(f"{text}\n{about['clauses']}", about["name"]),
                1,
                unread=about["unread"],
                unselected=Unselected(**about["unselected"]) if about.get("unselected") else None,
                places=dict(map(tuple, about.get("places", ()))),
                windows=about.get("windows", False),
                unexplained=about.get("unexplained", ""),
            )
        except HistoryError as error:
            return Refused(about["name"], error)
    known = about["records"]
    records = {
        **known,
        "initial": frozenset(known["initial"]),
        "assumed": tuple(known.get("assumed", ())),
    }
    transactions = [
        _transaction(list(ops))
        for _, ops in groupby(rows, key=lambda row: (row["transaction"], row["place"]))
    ]
    follows = [(before, after) for before, after in about["follows"]]
    return Viewed(
        Observed(about["name"], transactions, Records(**records), about["notes"], follows), 1, Form.PARQUET
    )


def _transaction(rows: list[Mapping[str, Any]]) -> Transaction:
    first = rows[0]
    return Transaction(
        first["transaction"],
        first["session"],
        Status(first["status"]),
        [_op(row) for row in rows if row["kind"] is not None],
        first["place"],
        _window(first["began"], first["ended"]),
        _window(first["began_by_clock"], first["ended_by_clock"]),
        _pair(first["start_stamp"]),
        _pair(first["commit_stamp"]),
    )


def _op(row: Mapping[str, Any]) -> Op:
    value = value_of(row["value"]) if row["list"] is None else tuple(map(value_of, row["list"]))
    return Op(Kind(row["kind"]), row["key"], value, _pair(row["writer"]))


def _window(begin: float | None, end: float | None) -> Window | None:
    return None if begin is None or end is None else Window(begin, end)


def _pair(values: list[int] | None) -> tuple[int, int] | None:
    return None if values is None else (values[0], values[1])
