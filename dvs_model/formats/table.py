"""Histories as tables of operations, one row each, for Parquet: a history of clients loses nothing in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dvs_model.formats.reader import Parsed, Viewed
from dvs_model.observed.seen import Observed, value_text
from dvs_model.redraft import redraft

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
    ("began", pa.float64()),
    ("ended", pa.float64()),
    ("start_stamp", pa.list_(pa.int64())),
    ("commit_stamp", pa.list_(pa.int64())),
    ("event", pa.string()),
)
"""`list`: of a read of a list. `event`: an event of the notation as text, where the history is one of it."""

SCHEMA = pa.schema(COLUMNS)
BATCH = 50_000


def write_parquet(path: Path, items: Iterable[Parsed | Viewed]) -> None:
    """Writes histories to a Parquet file, in batches. Raises OSError."""
    with pq.ParquetWriter(path, SCHEMA) as writer:
        batch: list[Mapping[str, object]] = []
        for item in items:
            for row in _observed(item.observed) if isinstance(item, Viewed) else _history(item):
                batch.append(row)
                if len(batch) == BATCH:
                    writer.write_table(pa.Table.from_pylist(batch, SCHEMA))
                    batch = []
        writer.write_table(pa.Table.from_pylist(batch, SCHEMA))


def _observed(observed: Observed) -> Iterator[Mapping[str, object]]:
    number = 0
    for each in observed.transactions:
        about = {
            "history": observed.name,
            "transaction": each.number,
            "session": each.session,
            "status": each.status.value,
            "place": each.place,
            "began": each.window.begin if each.window else None,
            "ended": each.window.end if each.window else None,
            "start_stamp": each.start,
            "commit_stamp": each.commit,
        }
        for op in each.ops:
            number += 1
            shown = isinstance(op.value, tuple)
            yield {
                **about,
                "number": number,
                "kind": op.kind.value,
                "key": op.key,
                "value": None if shown or op.value is None else value_text(op.value),
                "list": [value_text(item) for item in op.value] if isinstance(op.value, tuple) else None,
            }


def _history(item: Parsed) -> Iterator[Mapping[str, object]]:
    draft = redraft(item.history)
    for number, event in enumerate(draft.events, 1):
        yield {
            "history": item.history.name,
            "number": number,
            "transaction": event.txn,
            "kind": event.kind,
            "key": event.names[0].obj if event.names else None,
            "value": event.value,
            "event": str(event),
        }
