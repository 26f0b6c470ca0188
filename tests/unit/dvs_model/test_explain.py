"""The sentences are true: of what was read, through what, and when."""

from __future__ import annotations

import pytest

from dvs_model.analysis.verdict import Present
from dvs_model.checking.check import check
from dvs_model.checking.minimise import minimise
from dvs_model.checking.sentences import Sentences
from dvs_model.notation import parse, render
from dvs_model.theory.names import Phenomenon as Ph
from generators.histories import SMALL, history_at
from tests.depth import examples


def sentences(text: str, phenomenon: Ph) -> tuple[str, ...]:
    checked = check(parse(text))
    finding = checked.phenomena[phenomenon]
    assert isinstance(finding, Present)
    return Sentences(checked.analysis).evidence(finding.evidence[0])


@pytest.mark.parametrize(
    ("phenomenon", "text", "parts"),
    [
        (
            Ph.G_SINGLE,
            "r1(x0) w2(x2) w2(y2) c2 r1(y2) c1",
            (
                "T1 read x at version 0, which T2's write replaced",
                "T1 read y at version 2, which T2 wrote",
            ),
        ),
        (
            Ph.G_SINGLE,
            "w1(x1) c1 d2(y2 | x1) d3(z3 | y2) c2 c3 w4(x4) w4(n4) c4 r5(z3) r5(n4) c5",
            (
                "T5 read z at version 3; z was derived in T3 from y version 2 and "
                "y was derived in T2 from x version 1, which T4's write replaced",
                "T5 read n at version 4, which T4 wrote",
            ),
        ),
        (
            Ph.G_SINGLE,
            "w1(x1) c1 d2(y2 | x1) c2 w3(x3) w3(n3) c3 r4(P: x3, y2; y2) r4(n3) c4",
            (
                "T4 read y at version 2; y was derived in T2 from x version 1, which T3's write replaced",
                "T4 read n at version 3, which T3 wrote",
            ),
        ),
        (
            Ph.G_SINGLE,
            "w3(x3) w3(n3) c3 d2(y2 | x_init) c2 r4(y2) r4(n3) c4",
            (
                "T4 read y at version 2; y was derived in T2 from x version init, "
                "and T3 made its first version",
                "T4 read n at version 3, which T3 wrote",
            ),
        ),
        (
            Ph.G_SINGLE,
            "w2(x2) w2(n2) c2 r1(P: x_init) r1(n2) c1 [P matches x2]",
            (
                "T1 read the objects that match P, and saw x unborn; T2's write of x at version 2, "
                "which is later in the version order, changes which versions match",
                "T1 read n at version 2, which T2 wrote",
            ),
        ),
        (
            Ph.G_SINGLE,
            "w1(x1) w1(n1) c1 r2(P: x1; x1) r2(n0) c2",
            (
                "T2 read the objects that match P, and saw x at version 1; T1's write of x at version 1, "
                "which is that version or an earlier one in the version order, changed which versions match",
                "T2 read n at version 0, which T1's write replaced",
            ),
        ),
        (
            Ph.G_SIA,
            "s2 s1 w1(x1) c1 r2(x1) c2",
            ("T2 read x at version 1, which T1 wrote; but T1 had not committed when T2 started",),
        ),
        (
            Ph.G_MSRA,
            "s2 s1 w1(x1) r2(x1) c1 c2",
            ("T2 read x at version 1, which T1 wrote; but T1 had not committed when T2 read",),
        ),
        (
            Ph.G_MSRB,
            "s1 s2 w2(x2) c2 s3 w3(y3) c3 r1(y3) r1(x0) c1",
            ("T1 read x at version 0, which T2's write replaced", "T2 committed before T1 read y"),
        ),
        (
            Ph.G0,
            "w1(x1) w2(x2) w1(y1) w2(y2) c1 c2 d3(z3 | y2) c3 d4(z4 | x1) c4 [x1 << x2, y1 << y2, z3 << z4]",
            (
                "T1 wrote x at version 1, which T2's write replaced",
                "z went from version 3 to version 4: z was derived in T3 from y version 2, which T2 wrote; "
                "z was derived in T4 from x version 1, which T1 wrote",
            ),
        ),
        (
            Ph.G1A,
            "w1(x1) d3(y3 | x1) c3 r4(y3) a1 c4",
            (
                "T4 read y at version 3; y was derived in T3 from x version 1, "
                "which T1 made before it aborted",
            ),
        ),
        (
            Ph.G1B,
            "w1(x1.1) r2(x1.1) w1(x1.2) c1 c2",
            ("T2 read x at version 1.1, an intermediate version: T1 later made version 1.2",),
        ),
        (
            Ph.G2_SESSION,
            "w1(x1) c1 r2(x0) c2 [session a: 1, 2]",
            (
                "T2 read x at version 0, which T1's write replaced",
                "T1 comes before T2 in their session",
            ),
        ),
    ],
)
def test_a_reason_per_edge(phenomenon: Ph, text: str, parts: tuple[str, ...]) -> None:
    explanation = sentences(text, phenomenon)
    assert sorted(explanation) == sorted(parts)


def test_every_minimised_history_shows_what_it_should() -> None:
    for index in range(examples(120)):
        checked = check(history_at(21, SMALL, index))
        for phenomenon, finding in checked.phenomena.items():
            if isinstance(finding, Present):
                small = minimise(checked, phenomenon, finding.evidence[0])
                assert isinstance(check(parse(render(small))).phenomena[phenomenon], Present)
                assert len(small.events) <= len(checked.original.events)
