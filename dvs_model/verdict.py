"""Verdicts are values with evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dvs_model.edges import Edge
from dvs_model.history import Version


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle of dependencies. `subject`: the transaction or object it was found for, where one is asked."""

    edges: tuple[Edge, ...]
    subject: str = ""


@dataclass(frozen=True, slots=True)
class DirtyRead:
    """`path`: from the version read, through derivations, to one that should not have been seen."""

    reader: int
    event: int
    path: tuple[Version, ...]

    @property
    def subject(self) -> str:
        """The reader."""
        return f"T{self.reader}"


@dataclass(frozen=True, slots=True)
class Overlap:
    """A dependency on a transaction that had not committed when the other "started" or "read"."""

    edge: Edge
    subject: str = ""
    moment: str = "started"


@dataclass(frozen=True, slots=True)
class MixedVersions:
    """One version set with a version that `writer` installed beside one older than the writer's."""

    reader: int
    event: int
    writer: int
    new: Version
    old: Version

    @property
    def subject(self) -> str:
        """The reader."""
        return f"T{self.reader}"


Evidence: TypeAlias = Cycle | DirtyRead | Overlap | MixedVersions


@dataclass(frozen=True, slots=True)
class Present:
    """The phenomenon occurs. One piece of evidence per subject; the first is the smallest found."""

    evidence: tuple[Evidence, ...]

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it was found for; empty: for all."""
        return tuple(dict.fromkeys(item.subject for item in self.evidence if item.subject))


@dataclass(frozen=True, slots=True)
class Absent:
    """The phenomenon does not occur."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The history does not say enough. `evidence`: what would be one if it said so."""

    reason: str
    evidence: tuple[Evidence, ...] = ()


Finding: TypeAlias = Present | Absent | Unknown
ABSENT = Absent()
