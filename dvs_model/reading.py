"""The readings of what the definitions leave open; every report names the one it used."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Derivations(Enum):
    """Whether derivations are seen through (delayed view) or count as reads and writes (persisted table)."""

    HONOUR = "honour"
    IGNORE = "ignore"


class Predicates(Enum):
    """Adya et al. 2000 (changes of the matches) or Adya 1999 (membership in the version set)."""

    ICDE = "icde"
    THESIS = "thesis"


class DerivedWrites(Enum):
    """Write dependencies through derived objects: only what changed behind them, or to the paper's letter."""

    CHANGED = "changed"
    LETTER = "letter"


@dataclass(frozen=True, slots=True)
class Reading:
    """One choice of each."""

    derivations: Derivations = Derivations.HONOUR
    predicates: Predicates = Predicates.ICDE
    derived_writes: DerivedWrites = DerivedWrites.CHANGED

    def __str__(self) -> str:
        return (
            f"derivations: {self.derivations.value}, predicates: {self.predicates.value}, "
            f"derived writes: {self.derived_writes.value}"
        )


DEFAULT = Reading()
