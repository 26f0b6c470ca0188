"""The writers of all formats, and which of them writes a file."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dvs_model.formats.reader import Form, Viewed
from dvs_model.formats.written.cobra import cobra
from dvs_model.formats.written.dbcop import bincode, dbcop_json
from dvs_model.formats.written.jepsen import edn, elle_json
from dvs_model.formats.written.texts import awdit, hist, plume
from dvs_model.formats.written.timekiller import timekiller
from dvs_model.observed.seen import Observed

Files = bytes | Mapping[str, bytes]
"""The bytes of a file, or those of the files of a folder by name."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A format that is written. `suffix`: that of its files; empty: it is a folder."""

    suffix: str
    write: Callable[[Observed], Files]


def parquet(observed: Observed) -> bytes:
    """Returns the table of operations that `dvs convert --to parquet` writes."""
    # Imported here, because every command would start later with it.
    from dvs_model.formats.table import write_parquet

    file = io.BytesIO()
    write_parquet(file, [Viewed(observed, 1)])
    return file.getvalue()


WRITERS: Mapping[Form, Writer] = {
    Form.EDN: Writer(".edn", edn),
    Form.PLUME: Writer(".txt", plume),
    Form.AWDIT: Writer(".txt", awdit),
    Form.HIST: Writer(".hist", hist),
    Form.BINCODE: Writer(".bincode", bincode),
    Form.ELLE_JSON: Writer(".json", elle_json),
    Form.TIMEKILLER: Writer(".json", timekiller),
    Form.DBCOP_JSON: Writer(".json", dbcop_json),
    Form.PARQUET: Writer(".parquet", parquet),
    Form.COBRA: Writer("", cobra),
}
"""The writers. Of those with one suffix the first one is taken where nothing tells more."""

SUFFIXES = tuple(dict.fromkeys(each.suffix for each in WRITERS.values() if each.suffix))
"""The suffixes that name a format; a folder, without a suffix, is written as Cobra's logs."""


def chosen(file: Path, observed: Observed, form: Form | None) -> Writer | None:
    """Returns the writer of a file; None: its suffix names no format.

    Of several formats with one suffix: that of the file the history was in, and for histories with
    timestamps of the database TimeKiller's.
    """
    found = {each: writer for each, writer in WRITERS.items() if writer.suffix == file.suffix}
    if form in found:
        return found[form]
    if Form.TIMEKILLER in found and observed.records.stamps:
        return found[Form.TIMEKILLER]
    return next(iter(found.values()), None)
