"""What a detector finds: a phenomenon is present, absent or unknown, with evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dvs_model.graph.edges import Edge
from dvs_model.histories.history import Version


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle of dependencies. `subject`: the transaction or object for which it was searched, if any."""

    edges: tuple[Edge, ...]
    subject: str = ""


@dataclass(frozen=True, slots=True)
class DirtyRead:
    """An aborted or intermediate read. `event`: its number.

    `path`: the version that was read, then the versions from which it derives step by step, and last the
    aborted or intermediate one.
    """

    reader: int
    event: int
    path: tuple[Version, ...]

    @property
    def subject(self) -> str:
        """The transaction that read, as text, such as `T3`."""
        return f"T{self.reader}"


@dataclass(frozen=True, slots=True)
class Overlap:
    """A dependency on a transaction that had not committed when the other started or read (`moment`)."""

    edge: Edge
    subject: str = ""
    moment: str = "started"


@dataclass(frozen=True, slots=True)
class MixedVersions:
    """A version set with `new`, which `writer` installed, and `old`, from before the writer's own version."""

    reader: int
    event: int
    writer: int
    new: Version
    old: Version

    @property
    def subject(self) -> str:
        """The transaction that read, as text, such as `T3`."""
        return f"T{self.reader}"


@dataclass(frozen=True, slots=True)
class Observation:
    """Something that an observed history shows, in words. `subject`: the transaction that saw it."""

    text: str
    subject: str = ""


Evidence: TypeAlias = Cycle | DirtyRead | Overlap | MixedVersions | Observation


@dataclass(frozen=True, slots=True)
class Present:
    """The phenomenon occurs, with one piece of evidence for each subject, the smallest first."""

    evidence: tuple[Evidence, ...]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The objects or transactions that have it; empty: the phenomenon has no subjects."""
        return tuple(dict.fromkeys(item.subject for item in self.evidence if item.subject))


@dataclass(frozen=True, slots=True)
class Absent:
    """The phenomenon does not occur."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The history does not say enough, or the budget is spent. `evidence`: what it may contain."""

    reason: str
    evidence: tuple[Evidence, ...] = ()


PhenomenonVerdict: TypeAlias = Present | Absent | Unknown
ABSENT = Absent()


@dataclass(frozen=True, slots=True)
class Unselected:
    """A gap of a file: it does not tell which versions a read by a predicate selected.

    `reason`: where, and why. `changes`: whether the choice makes a difference for predicate dependencies, as
    `Predicates.ICDE` reads them.
    """

    reason: str
    changes: bool
