"""Every phenomenon and level: documented, with an example that is executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dvs_model.analysis.verdict import Present
from dvs_model.checking.check import Holds, Undecided, Violated, check
from dvs_model.checking.minimise import reductions
from dvs_model.graph.graph import Kind
from dvs_model.notation import parse, render
from dvs_model.phenomena.registry import DETECTORS
from dvs_model.theory.definitions import CYCLES, DEFINITIONS, READS
from dvs_model.theory.levels import BY_NAME, LEVELS
from dvs_model.theory.names import Level, Phenomenon

BOUNDARIES = """
PL-1         none          w1(x1) w2(x2) w2(y2) w1(y1) c1 c2 [x1 << x2, y2 << y1]
PL-2         PL-1          w1(x1) r2(x1) a1 c2
PL-CS        PL-2          r1(x0) w2(x2) c2 w1(x1) c1 [x0 << x2 << x1]
PL-2L        PL-2          w1(x1) w1(y1) c1 r2(x1) r2(y0) c2
PL-MSR       PL-2L         s1 w1(x1) c1 s2 w2(x2) c2 s3 r3(x1) c3 [x1 << x2]
PL-2+        PL-2L         r1(x0) w2(x2) w2(y2) c2 r1(y2) c1
PL-2+        PL-CS         r1(x0) w2(x2) w2(y2) c2 r1(y2) c1
PL-FCV       PL-2+         w1(x1) c1 r2(x0) c2 [c1 < s2]
PL-SI        PL-FCV        w1(z1) w2(z2) r1(x0) r2(x0) c1 c2 [c0 < s1]
PL-2.99      PL-CS         r1(x0) r2(y0) w1(y1) w2(x2) c1 c2
PL-3U        PL-2+         r1(x0) r2(y0) w1(y1) w2(x2) c1 c2
PL-3         PL-3U         w1(x1) c1 w2(y2) c2 r3(x1) r3(y0) c3 r4(x0) r4(y2) c4
PL-3         PL-2.99       r1(P: x_init;) w2(x2) w2(y2) c2 r1(y2) c1 [P matches x2]
PL-SS        PL-3          s1 w1(x1) c1 s2 r2(x0) c2
PL-SS        PL-2+-realtime  s1 s2 r1(x0) r2(y0) w1(y1) w2(x2) c1 c2
PL-2+-session  PL-2+       w1(x1) c1 r2(x0) c2 [session a: 1, 2]
PL-3-session   PL-3        w1(x1) c1 r2(x0) c2 [session a: 1, 2]
PL-3-session   PL-2+-session  r1(x0) r2(y0) w1(y1) w2(x2) c1 c2 [session a: 1, 3] r3(z0) c3
PL-2+-realtime PL-2+       s1 w1(x1) c1 s2 r2(x0) c2
"""
"""Stronger level, the one below it, a history between the two."""


def boundaries() -> list[tuple[Level, Level | None, str]]:
    rows = [line.split(maxsplit=2) for line in BOUNDARIES.strip().splitlines()]
    return [(Level(strong), None if weak == "none" else Level(weak), text) for strong, weak, text in rows]


@pytest.mark.parametrize(("strong", "weak", "text"), boundaries())
def test_a_history_between_two_levels(strong: Level, weak: Level | None, text: str) -> None:
    levels = check(parse(text)).levels
    assert isinstance(levels[strong], Violated)
    assert weak is None or isinstance(levels[weak], Holds)


def test_every_pair_of_neighbours_has_a_boundary() -> None:
    assert {(s, w) for s, w, _ in boundaries() if w} == {(s, w) for s in Level for w in LEVELS[s].below}


@pytest.mark.parametrize("phenomenon", Phenomenon, ids=lambda phenomenon: phenomenon.value)
def test_an_example_shows_its_phenomenon(phenomenon: Phenomenon) -> None:
    history = parse(DEFINITIONS[phenomenon].example)
    assert isinstance(check(history).phenomena[phenomenon], Present)
    assert parse(render(history)) == history
    parts = list(reductions(history))
    assert len(parts) > 1
    for part in parts:
        assert not isinstance(check(part, only=[phenomenon]).phenomena[phenomenon], Present), render(part)


@pytest.mark.parametrize("phenomenon", Phenomenon, ids=lambda phenomenon: phenomenon.value)
def test_no_part_of_an_example_shows_its_phenomenon(phenomenon: Phenomenon) -> None:
    for smaller in reductions(parse(DEFINITIONS[phenomenon].example)):
        assert not isinstance(check(smaller).phenomena[phenomenon], Present), render(smaller)


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
def test_an_example_violates_its_level_and_keeps_one_below(level: Level) -> None:
    spec = LEVELS[level]
    levels = check(parse(spec.example)).levels
    assert isinstance(levels[level], Violated)
    assert not spec.below or any(isinstance(levels[below], Holds) for below in spec.below)


def test_both_tables_are_closed_over_their_enums() -> None:
    assert set(LEVELS) == set(Level)
    assert set(CYCLES) | set(READS) == set(DEFINITIONS) == set(DETECTORS) == set(Phenomenon)
    assert not set(CYCLES) & set(READS)
    assert len(BY_NAME) == sum(1 + len(spec.aliases) for spec in LEVELS.values())
    for spec in CYCLES.values():
        assert (spec.rw_min > 0) == (Kind.RW in spec.edges)
        assert (spec.order is None) == (spec.without_order is None)
        assert spec.without_order is None or CYCLES[spec.without_order].order is None


def test_the_page_of_phenomena_says_what_the_code_says() -> None:
    page = Path("docs/histories.md").read_text(encoding="utf-8")
    for phenomenon, definition in DEFINITIONS.items():
        cells = definition.text, definition.source, f"`{definition.example}`".replace("|", "\\|")
        assert f"| {phenomenon.value} | {' | '.join(cells)} |" in page
    for level, spec in LEVELS.items():
        forbidden = ", ".join(p.value for p in spec.forbids)
        row = spec.meaning, forbidden, spec.source, f"`{spec.example}`"
        assert f"| {level.value} | {' | '.join(row)} |" in page
        for alias in spec.aliases:
            assert f"`{alias}` ({level.value})" in page


def test_a_level_is_undecided_where_a_phenomenon_was_not_searched_for() -> None:
    checked = check(parse("w1(x1) c1"), only=[Phenomenon.G0])
    assert isinstance(checked.levels[Level.PL_1], Holds)
    assert isinstance(checked.levels[Level.PL_3], Undecided)


def test_a_spent_budget_is_unknown_and_never_holds() -> None:
    text = "r1(x0) w2(x2) w2(y2) c2 r1(y2) c1"
    levels = check(parse(text), steps=1).levels
    assert not any(isinstance(levels[level], Holds) for level in (Level.PL_2_PLUS, Level.PL_3, Level.PL_3U))
    clean = check(parse("w1(x1) c1 r2(x1) c2"), steps=1).levels
    assert isinstance(clean[Level.PL_3], Holds), "a graph without knots costs no steps"
