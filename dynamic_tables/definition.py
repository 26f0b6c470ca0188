"""Definitions: what the account knows of a table besides its rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum

from dynamic_tables.plan.types import Type

Columns = tuple[tuple[str, Type], ...]


class RefreshMode(Enum):
    """AUTO is INCREMENTAL where every operator has a rule, else FULL (DVS paper, section 3.3.2)."""

    AUTO = "AUTO"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"


@dataclass(frozen=True, slots=True)
class BaseTable:
    """A table that users write."""

    name: str
    columns: Columns


@dataclass(frozen=True, slots=True)
class View:
    """A named query."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicTable:
    """A table that is its defining query, delayed.

    `incremental`: what AUTO resolved to, or what was asked for; `reason` says why it is not.
    `target_lag` in microseconds, None for DOWNSTREAM. `sources`: the stored relations it reads, views
    expanded. `expanded`: the texts of the query and of every view in it, so that a change shows.
    """

    name: str
    text: str
    mode: RefreshMode
    incremental: bool
    reason: str
    target_lag: int | None
    columns: Columns
    sources: tuple[str, ...]
    expanded: str


Definition = BaseTable | View | DynamicTable


def fingerprint(texts: tuple[str, ...]) -> str:
    """A digest of a query and the views below it."""
    return hashlib.sha256("\x00".join(texts).encode()).hexdigest()[:16]
