"""Copies the files of a Delta table to another one by hard links, without a copy of their bytes.

Data files never change, so a hard link (a second name of a file on the same disk) is as good as a copy: each
of the two tables may remove its own name of a file at any time. Delta's shallow clone would point into the
other table's folder instead, and break when that table is dropped or vacuumed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from dynamic_tables.store.log.own_commit import Actions
from dynamic_tables.store.log.touched import AddAction
from dynamic_tables.store.rows.vectors import vector_file


def linked(files: Sequence[AddAction], folder: str, other: str) -> Actions | None:
    """Links files of the table in `folder` into the table in `other`, a local folder; returns their `add`s.

    None if a file is not in the table's own folder (a clone's), or if the disk has no hard links.
    """
    paths = [path for file in files for path in _paths(file)]
    if any(path.startswith(("/", "..")) or ":" in path.split("/")[0] for path in paths):
        return None
    try:
        for path in dict.fromkeys(paths):
            target = Path(other, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(Path(folder, path), target)
    except OSError:
        return None
    return [{"add": {**file, "dataChange": True}} for file in files]


def _paths(file: AddAction) -> Iterator[str]:
    """Yields the path of a data file, and of its deletion vector if that is a file."""
    yield unquote(str(file["path"]))
    vector = file.get("deletionVector") or {"storageType": "i"}
    match vector["storageType"]:
        case "u":
            yield vector_file(str(vector["pathOrInlineDv"]))
        case "p":
            yield unquote(str(vector["pathOrInlineDv"]))
        case _:
            pass
