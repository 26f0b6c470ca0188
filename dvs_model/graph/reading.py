"""Choices among readings of the definitions, where the literature leaves something open or disagrees.

Every report names the choices that it used; docs/notation.md explains them under "Reading rules".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Derivations(Enum):
    """Whether dependencies pass through a derivation, or it is reads and a write (persisted table)."""

    HONOUR = "honour"
    IGNORE = "ignore"


class Predicates(Enum):
    """Which predicate dependencies count.

    ICDE (Adya and others 2000): those on transactions that changed what matches. THESIS (Adya 1999): those on
    the installers of the versions selected, and of later versions whose match differs.
    """

    ICDE = "icde"
    THESIS = "thesis"


class DerivedWrites(Enum):
    """Which write dependencies pass through derived objects.

    CHANGED: those between writers of what changed from one derived version to the next. LETTER: all pairs of
    writers behind the two, as the DVS paper words it.
    """

    CHANGED = "changed"
    LETTER = "letter"


@dataclass(frozen=True, slots=True)
class Reading:
    """One choice of each; see docs/notation.md, "Reading rules"."""

    derivations: Derivations = Derivations.HONOUR
    predicates: Predicates = Predicates.ICDE
    derived_writes: DerivedWrites = DerivedWrites.CHANGED

    def __str__(self) -> str:
        return (
            f"derivations: {self.derivations.value}, predicates: {self.predicates.value}, "
            f"derived writes: {self.derived_writes.value}"
        )


DEFAULT = Reading()
