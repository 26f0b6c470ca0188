"""The anomalies of the literature beside what their sources say of them; the table in docs/clients.md.

`DVS_WRITE_DOCS=1 python -m pytest tests/truth/test_known_anomalies.py` writes the table anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dvs_model.checking.check import Checked
from dvs_model.clients.judge import judge
from dvs_model.observed.client import Client
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction

PAGE = Path(__file__).parents[2] / "docs/clients.md"
BEGIN, END = "<!-- anomalies -->\n", "<!-- /anomalies -->"

RC, RA, CC, PSI, PC, SI, SER = Client
MODELS = (RA, CC, PSI, PC, SI, SER)
"""The consistency models of Cerone and others."""


SHORT = dict(zip(Client, ("RC", "RA", "causal", "PSI", "prefix", "SI", "serializable"), strict=True))


def short(levels: Sequence[Client]) -> str:
    if len(levels) > 2 and list(levels) == list(Client)[-len(levels) :]:
        return f"{SHORT[levels[0]]} and all after it"
    return ", ".join(SHORT[level] for level in levels)


@dataclass(frozen=True)
class Claim:
    """What a source says: which levels forbid a history, and which of them allow it."""

    source: str
    forbidden: Sequence[Client] = ()
    allowed: Sequence[Client] = ()

    def text(self) -> str:
        parts = [
            f"{word} {short(levels)}"
            for word, levels in (("no", self.forbidden), ("yes", self.allowed))
            if levels
        ]
        return f"{self.source}: {'; '.join(parts)}"


def cerone(*forbidden: Client) -> Claim:
    """Cerone, Bernardi and Gotsman, A Framework for Transactional Consistency Models, figure 2."""
    return Claim("Cerone 2015", forbidden, [level for level in MODELS if level not in forbidden])


@dataclass(frozen=True)
class Known:
    """A history. `lines`: one session each: `T1 w x1 r y0; T2 ...`; x0 was there before, ! means aborted."""

    name: str
    lines: Sequence[str]
    adya: str
    claims: Sequence[Claim]

    def observed(self) -> Observed:
        transactions = [
            transaction(text, str(session))
            for session, line in enumerate(self.lines)
            for text in line.split("; ")
        ]
        transactions.sort(key=lambda each: each.number)
        return Observed(self.name, transactions, Records(aborts=True))


def transaction(text: str, session: str) -> Transaction:
    number, *words = text.removesuffix(" !").split()
    ops = [
        Op(Kind(kind), what[0], None if what[1:] == "0" else int(what[1:]))
        for kind, what in zip(words[::2], words[1::2], strict=True)
    ]
    status = Status.ABORTED if text.endswith(" !") else Status.COMMITTED
    return Transaction(int(number[1:]), session, status, ops, number)


KNOWN = (
    Known(
        "aborted read",
        ("T1 w x1 !", "T2 r x1"),
        "G1a",
        (
            Claim("Elle (G1a)", (RC, RA, CC, PSI, PC, SI, SER)),
            Claim("Plume (aborted reads)", (RC, RA, CC)),
        ),
    ),
    Known(
        "intermediate read",
        ("T1 w x1 w x2", "T2 r x1"),
        "G1b",
        (
            Claim("Elle (G1b)", (RC, RA, CC, PSI, PC, SI, SER)),
            Claim("Plume (intermediate reads)", (RC, RA, CC)),
        ),
    ),
    Known(
        "circular information flow",
        ("T1 w x1 r y2", "T2 w y2 r x1"),
        "G1c",
        (Claim("Elle (G1c)", (RC, RA, CC, PSI, PC, SI, SER)),),
    ),
    Known(
        "non-monotonic read",
        ("T1 w x1; T2 w x2", "T3 r x2 r x1"),
        "",
        (Claim("Plume (non-monotonic reads)", (RC, RA, CC)),),
    ),
    Known(
        "non-repeatable read",
        ("T1 w x1", "T2 w x2", "T3 r x1 r x2"),
        "",
        (Claim("Plume (non-repeatable reads)", (RA, CC), (RC,)),),
    ),
    Known(
        "fractured read",
        ("T1 w x1 w y2", "T2 r y0 r x1"),
        "G-single",
        (
            cerone(*MODELS),
            Claim("Plume (fractured reads)", (RA, CC), (RC,)),
            Claim("Bailis 2014", (RA,)),
            Claim("Elle (G-single)", (SI, SER)),
        ),
    ),
    Known(
        "session guarantee violation",
        ("T1 w x1; T2 r x0",),
        "G-single-session",
        (cerone(*MODELS),),
    ),
    Known(
        "causality violation",
        ("T1 w x1", "T2 r x1 w y2", "T3 r y2 r x0"),
        "G-single",
        (cerone(CC, PSI, PC, SI, SER),),
    ),
    Known(
        "lost update",
        ("T1 r x0 w x1", "T2 r x0 w x2"),
        "",
        (
            cerone(PSI, SI, SER),
            Claim("Berenson 1995 (P4)", (SI, SER), (RC,)),
            Claim("Elle (lost update)", (SI, SER)),
        ),
    ),
    Known(
        "long fork",
        ("T1 w x1", "T2 w y2", "T3 r x1 r y0", "T4 r x0 r y2"),
        "G2-item",
        (cerone(PC, SI, SER),),
    ),
    Known(
        "write skew",
        ("T1 r x0 r y0 w x1", "T2 r x0 r y0 w y2"),
        "G2-item",
        (
            cerone(SER),
            Claim("Berenson 1995 (A5B)", (SER,), (SI,)),
            Claim("Elle (G2-item)", (SER,), (SI,)),
        ),
    ),
    Known(
        "read-only anomaly",
        ("T1 r y0 w y1", "T2 r x0 r y0 w x2", "T3 r x0 r y1"),
        "G2-item",
        (Claim("Fekete 2004", (SER,), (SI,)),),
    ),
)


def violated(checked: Checked) -> Mapping[Client, bool]:
    assert checked.seen is not None
    return {level: checked.seen.client[level.value][0] == "violated" for level in Client}


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_a_verdict_is_the_one_of_the_source(known: Known) -> None:
    checked = judge(known.observed())
    assert checked.seen is not None
    assert "unknown" not in {verdict for verdict, _ in checked.seen.client.values()}
    verdicts = violated(checked)
    for claim in known.claims:
        assert all(verdicts[level] for level in claim.forbidden), claim.source
        assert not any(verdicts[level] for level in claim.allowed), claim.source
    if known.adya:
        assert known.adya in {p.value for p, v in checked.phenomena.items() if type(v).__name__ == "Present"}


def table() -> str:
    rows = ["| anomaly | sessions | violated for clients | the sources |", "|---|---|---|---|"]
    for known in KNOWN:
        verdicts = violated(judge(known.observed()))
        levels = short([level for level in Client if verdicts[level]])
        sessions = "<br>".join(f"`{line}`" for line in known.lines)
        sources = "<br>".join(claim.text() for claim in known.claims)
        rows.append(f"| {known.name} | {sessions} | {levels} | {sources} |")
    return "\n".join(rows) + "\n"


def test_the_table_in_the_documentation_is_what_is_judged() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    shown, after = rest.split(END)
    if os.environ.get("DVS_WRITE_DOCS"):
        PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}", encoding="utf-8")
    else:
        assert shown == table(), "write it anew with DVS_WRITE_DOCS=1"
    assert len(re.findall(r"^\| ", table(), re.MULTILINE)) == len(KNOWN) + 1
