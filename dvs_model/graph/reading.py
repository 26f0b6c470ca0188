"""The choices where the definitions leave something open; every report names the ones it used."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Derivations(Enum):
    """Whether dependencies pass through derivations, or these count as reads and writes (persisted table)."""

    HONOUR = "honour"
    IGNORE = "ignore"


class Predicates(Enum):
    """Predicate dependencies by Adya et al. 2000 (changes of the matches) or by Adya 1999 (the versions)."""

    ICDE = "icde"
    THESIS = "thesis"


class DerivedWrites(Enum):
    """Write dependencies through derived objects: from what changed behind them, or as the paper words it."""

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
