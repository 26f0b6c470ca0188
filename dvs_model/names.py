"""The names of phenomena and levels, and which level forbids what (Adya 1999, chapters 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Phenomenon(Enum):
    """Each has a detector of its own; definitions in docs/phenomena.md."""

    G0 = "G0"
    G1A = "G1a"
    G1B = "G1b"
    G1C = "G1c"
    G_SINGLE = "G-single"
    G2_ITEM = "G2-item"
    G2 = "G2"
    G_CURSOR = "G-cursor"
    G_MONOTONIC = "G-monotonic"
    G_UPDATE = "G-update"
    G_SIA = "G-SIa"
    G_SIB = "G-SIb"
    G_MSRA = "G-MSRa"
    G_MSRB = "G-MSRb"
    G1_PREDA = "G1-predA"
    G1_PREDB = "G1-predB"
    G1C_REALTIME = "G1c-realtime"
    G2_REALTIME = "G2-realtime"
    G_SINGLE_REALTIME = "G-single-realtime"
    G1C_SESSION = "G1c-session"
    G2_SESSION = "G2-session"
    G_SINGLE_SESSION = "G-single-session"


class Level(Enum):
    """Isolation levels, weak ones first as far as they can be ordered."""

    PL_1 = "PL-1"
    PL_2 = "PL-2"
    PL_CS = "PL-CS"
    PL_2L = "PL-2L"
    PL_MSR = "PL-MSR"
    PL_2_PLUS = "PL-2+"
    PL_FCV = "PL-FCV"
    PL_SI = "PL-SI"
    PL_2_99 = "PL-2.99"
    PL_3U = "PL-3U"
    PL_3 = "PL-3"
    PL_SS = "PL-SS"
    SESSION_2_PLUS = "PL-2+-session"
    SESSION_3 = "PL-3-session"
    STRICT_2_PLUS = "PL-2+-realtime"


P = Phenomenon
G1 = (P.G1A, P.G1B, P.G1C)

FORBIDS: Mapping[Level, tuple[Phenomenon, ...]] = {
    Level.PL_1: (P.G0,),
    Level.PL_2: G1,
    Level.PL_CS: (*G1, P.G_CURSOR),
    Level.PL_2L: (*G1, P.G_MONOTONIC),
    Level.PL_MSR: (*G1, P.G_MSRA, P.G_MSRB),
    Level.PL_2_PLUS: (*G1, P.G_SINGLE),
    Level.PL_FCV: (*G1, P.G_SIB),
    Level.PL_SI: (*G1, P.G_SIA, P.G_SIB),
    Level.PL_2_99: (*G1, P.G2_ITEM),
    Level.PL_3U: (*G1, P.G_UPDATE),
    Level.PL_3: (*G1, P.G2),
    Level.PL_SS: (*G1, P.G2, P.G1C_REALTIME, P.G2_REALTIME),
    Level.SESSION_2_PLUS: (*G1, P.G1C_SESSION, P.G_SINGLE_SESSION),
    Level.SESSION_3: (*G1, P.G1C_SESSION, P.G2_SESSION),
    Level.STRICT_2_PLUS: (*G1, P.G1C_REALTIME, P.G_SINGLE_REALTIME),
}
"""What each level forbids. A level holds only when every one of these was looked for and is absent."""

STRONGER: Mapping[Level, tuple[Level, ...]] = {
    Level.PL_1: (),
    Level.PL_2: (Level.PL_1,),
    Level.PL_CS: (Level.PL_2,),
    Level.PL_2L: (Level.PL_2,),
    Level.PL_MSR: (Level.PL_2L,),
    Level.PL_2_PLUS: (Level.PL_2L, Level.PL_CS),
    Level.PL_FCV: (Level.PL_2_PLUS,),
    Level.PL_SI: (Level.PL_FCV,),
    Level.PL_2_99: (Level.PL_CS,),
    Level.PL_3U: (Level.PL_2_PLUS,),
    Level.PL_3: (Level.PL_3U, Level.PL_2_99),
    Level.PL_SS: (Level.PL_3, Level.STRICT_2_PLUS),
    Level.SESSION_2_PLUS: (Level.PL_2_PLUS,),
    Level.SESSION_3: (Level.PL_3, Level.SESSION_2_PLUS),
    Level.STRICT_2_PLUS: (Level.PL_2_PLUS,),
}
"""The lattice as the literature draws it, for display and for naming the strongest that hold; no verdict
follows from it."""
