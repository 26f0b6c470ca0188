"""The names of phenomena and isolation levels (Adya 1999, chapters 3 and 4)."""

from __future__ import annotations

from enum import Enum


class Phenomenon(Enum):
    """What a level may forbid. `dvs_model.theory.definitions` defines each, `phenomena` detects each."""

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
    """Isolation levels, where they are ordered the weaker first. `dvs_model.theory.levels` defines them."""

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
