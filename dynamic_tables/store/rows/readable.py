"""Tells whether an old version can still be read, or VACUUM or log cleanup has removed parts of it.

A refresh reads its sources at the old data timestamp, too. Where that version is gone, the contents are
written anew (REINITIALIZE).
"""

from __future__ import annotations

from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.places import absolute
from dynamic_tables.store.rows.vectors import vector_place


def is_readable(log: TableLog, files: Files, version: int) -> bool:
    """Tells whether Delta can rebuild the version and all its files exist.

    VACUUM deletes no file of the newest version, so only files that later commits removed can be missing.
    No file is opened: a damaged file is not noticed.
    """
    if not log.reaches(version):
        return False
    for commit in log.commits:
        if commit.version > version:
            for path, vector in commit.removed:
                if not files.exists(absolute(log.folder, path)):
                    return False
                if vector is not None and not files.exists(vector_place(log.folder, *vector)):
                    return False
    return True
