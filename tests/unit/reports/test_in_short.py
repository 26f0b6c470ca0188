"""What a page says first, and how long cycles are folded."""

from __future__ import annotations

from dvs_model.checking.check import check
from dvs_model.checking.explain import explanations
from dvs_model.notation import parse
from dvs_model.theory.names import Level
from reports.history.drawing import MOST_NODES, draw
from reports.history.page import in_short


def ring(count: int) -> str:
    """Transactions that each read what the one before overwrites: one cycle through all of them."""
    names = ["o" + "".join(chr(97 + int(digit)) for digit in str(number)) for number in range(count)]
    reads = [f"r{n + 1}({names[n]}0)" for n in range(count)]
    writes = [f"w{n + 1}({names[(n + 1) % count]}{n + 1})" for n in range(count)]
    return " ".join([*reads, *writes, *(f"c{n + 1}" for n in range(count))])


def test_two_sentences_without_theory() -> None:
    lost = check(parse("r1(x0) r2(x0) w1(x1) c1 w2(x2) c2"))
    first, second = in_short(lost, [Level.PL_3])
    expected = "T2 overwrote what T1 had written since T2 read it (lost update)."
    assert first == f"It does not keep PL-3 (serializability): {expected}"
    assert second == "The strongest levels that it keeps: PL-2L."
    kept, _ = in_short(check(parse("w1(x1) c1")), [Level.PL_3])
    assert kept.startswith("It keeps PL-3 (serializability)")
    unknown, _ = in_short(check(parse("w1(x1) c1")), [Level.PL_SS])
    assert unknown.startswith("Whether it keeps PL-SS")


def test_a_long_cycle_is_folded_and_never_blank() -> None:
    for count in (25, 273):
        checked = check(parse(ring(count)))
        drawing = draw(checked)
        assert drawing.folded
        drawn = 2 * (MOST_NODES // 2 - 1) + 1
        assert drawing.svg.count("<circle") == drawn
        assert f"... {count - drawn} more ..." in drawing.svg
    assert not draw(check(parse(ring(5)))).folded


def test_sentences_of_a_long_cycle_are_folded() -> None:
    [explanation] = explanations(check(parse(ring(100))), minimised=False)
    assert [line.text for line in explanation.lines if line.edge is None] == ["... 80 more ..."]
    assert len(explanation.lines) == 21
