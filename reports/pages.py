"""The HTML pages of gates, audits and interleavings: each one file that loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reports.figures import plural
from reports.run_page import environment

SENTENCES = {
    "open": "Every stage passed.",
    "shut": "At least one stage failed: do not merge or release.",
    "undecided": "No stage failed, but something was not done: this is no pass.",
}


def gate_page(gate: Mapping[str, Any]) -> str:
    """Returns the page of a gate, given as the JSON data of `gate.json`. Every text is escaped."""
    stages: Sequence[Mapping[str, Any]] = gate["stages"]
    counts = [
        plural(sum(stage["verdict"] == verdict for stage in stages), "stage") + f" {verdict}"
        for verdict in ("failed", "undecided", "passed")
        if any(stage["verdict"] == verdict for stage in stages)
    ]
    return (
        environment()
        .get_template("gate.html.j2")
        .render(
            gate=gate,
            good=gate["verdict"] == "open",
            sentence=SENTENCES[gate["verdict"]],
            counts=", ".join(counts) or "no stage ran",
        )
    )


def audit_page(audit: Mapping[str, object]) -> str:
    """Returns the page of an audit, given as `dvs audit --json` prints it. Every text is escaped."""
    return environment().get_template("audit.html.j2").render(audit=audit)


def protocol_page(interleaving: str, law: str, lanes: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns the page of an interleaving that breaks a law: a column for each process, time goes down."""
    template = environment().get_template("protocol.html.j2")
    return template.render(interleaving=interleaving, law=law, lanes=lanes, rows=[*rows])
