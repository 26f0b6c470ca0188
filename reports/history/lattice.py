"""The levels as a picture: a box for each with its verdict, the stronger ones higher."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from dvs_model.checking.check import LevelVerdict
from dvs_model.checking.explain import LevelStatus, because, status
from dvs_model.theory.levels import LEVELS
from dvs_model.theory.names import Level

COLUMNS: Mapping[Level, float] = {
    Level.PL_1: 2,
    Level.PL_2: 2,
    Level.PL_CS: 3,
    Level.PL_2L: 1.5,
    Level.PL_MSR: 0,
    Level.PL_2_PLUS: 2,
    Level.PL_FCV: 0.5,
    Level.PL_SI: 0.5,
    Level.PL_2_99: 3.7,
    Level.PL_3U: 3,
    Level.PL_3: 3,
    Level.PL_SS: 3,
    Level.SESSION_2_PLUS: 4.7,
    Level.SESSION_3: 4.7,
    Level.STRICT_2_PLUS: 1.8,
}
"""The place of a level from left to right, in boxes; its height follows from the lattice."""

MARKS = {LevelStatus.HOLDS: "✓", LevelStatus.VIOLATED: "✗", LevelStatus.UNKNOWN: "?"}
WIDTH, HEIGHT, ACROSS, UP = 126, 32, 150, 62


def rank(level: Level) -> int:
    """Returns the length of the longest way down to PL-1."""
    return 1 + max((rank(below) for below in LEVELS[level].below), default=-1)


def lattice(levels: Mapping[Level, LevelVerdict]) -> str:
    """Returns the picture as SVG."""
    ranks = {level: rank(level) for level in levels}
    top = max(ranks.values())
    at = {level: (COLUMNS[level] * ACROSS + 70, (top - ranks[level]) * UP + 24) for level in levels}
    lines = "".join(
        f'<line x1="{at[level][0]}" y1="{at[level][1] + HEIGHT / 2}" '
        f'x2="{at[below][0]}" y2="{at[below][1] - HEIGHT / 2}"/>'
        for level in levels
        for below in LEVELS[level].below
    )
    boxes = "".join(_box(level, verdict, *at[level]) for level, verdict in levels.items())
    width = max(x for x, _ in at.values()) + 70
    height = (top + 1) * UP
    return (
        f'<svg class="lattice" role="img" aria-label="isolation levels" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}">{lines}{boxes}</svg>'
    )


def _box(level: Level, verdict: LevelVerdict, x: float, y: float) -> str:
    kind = status(verdict)
    title = f"{level.value}, {LEVELS[level].meaning}. {kind.value}: {because(verdict)}"
    return (
        f'<g class="level {kind.value}"><title>{escape(title)}</title>'
        f'<rect x="{x - WIDTH / 2}" y="{y - HEIGHT / 2}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
        f'<text x="{x}" y="{y + 5}">{MARKS[kind]} {level.value}</text></g>'
    )
