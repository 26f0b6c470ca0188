"""A checked history as a JSON object."""

from __future__ import annotations

from dvs_model.analysis.verdict import Absent, Evidence, PhenomenonVerdict, Present, Unknown
from dvs_model.checking.anomalies import named
from dvs_model.checking.check import Checked, Executing
from dvs_model.checking.explain import because, executing_name, lines, status
from dvs_model.checking.mixing import Mixed
from dvs_model.theory.names import Phenomenon
from reports.documents import EvidenceDocument, HistoryDocument, PhenomenonDocument


def as_object(checked: Checked) -> HistoryDocument:
    """Returns the reading, the phenomena with their evidence, the levels and the size of a history."""
    reading = checked.reading
    document: HistoryDocument = {
        "history": checked.original.name,
        "reading": {
            "derivations": reading.derivations.value,
            "predicates": reading.predicates.value,
            "derived_writes": reading.derived_writes.value,
        },
        "anomalies": [
            {"name": name, "transactions": list(txns), "text": text} for name, txns, text in named(checked)
        ],
        "phenomena": {phenomenon.value: _verdict(checked, phenomenon) for phenomenon in checked.phenomena},
        "levels": {
            level.value: {"verdict": status(verdict).value, "because": because(verdict)}
            for level, verdict in checked.levels.items()
        },
        "strongest": [level.value for level in checked.strongest],
        "stats": checked.stats,
    }
    if checked.part is not None:
        document["part"] = checked.part
    if checked.executing:
        document["executing"] = list(map(_executing, checked.executing))
    if checked.mixed is not None:
        document["mixed"] = _mixed(checked.mixed)
    if (seen := checked.seen) is not None:
        document["client_levels"] = {
            level: {"verdict": verdict, "because": reason} for level, (verdict, reason) in seen.client.items()
        }
        document["notes"] = list(seen.notes)
        document["keys"] = dict(seen.names)
        document["version_orders"] = dict(seen.rules)
    if checked.in_file or seen is not None:
        document["places"] = {f"T{txn}": place for txn, place in checked.in_file.items()}
    return document


def _executing(each: Executing) -> dict[str, object]:
    """Returns the verdicts on the reads of an aborted transaction."""
    return {
        "transaction": f"T{each.txn}",
        "levels": {
            executing_name(level): {
                "verdict": status(verdict).value,
                "because": "; ".join(each.words.get(level, ())) or because(verdict),
            }
            for level, verdict in each.levels.items()
        },
    }


def _mixed(mixed: Mixed) -> dict[str, object]:
    """Returns whether each transaction keeps its own level."""
    words = {Present: "violated", Absent: "holds", Unknown: "unknown"}
    return {
        "verdict": words[type(mixed.verdict)],
        "because": list(mixed.words),
        "levels": {f"T{txn}": level.value for txn, level in mixed.levels.items()},
        "others": mixed.others.value,
    }


def verdict_word(verdict: PhenomenonVerdict) -> str:
    """Returns `present`, `absent` or `unknown`."""
    return type(verdict).__name__.lower()


def _verdict(checked: Checked, phenomenon: Phenomenon) -> PhenomenonDocument:
    verdict = checked.phenomena[phenomenon]
    return {
        "verdict": verdict_word(verdict),
        "reason": verdict.reason if isinstance(verdict, Unknown) else "",
        "evidence": [
            _evidence(checked, evidence)
            for evidence in (verdict.evidence if isinstance(verdict, Present | Unknown) else ())
        ],
    }


def _evidence(checked: Checked, evidence: Evidence) -> EvidenceDocument:
    sentences = lines(checked, evidence)
    return {
        "subject": evidence.subject,
        "edges": [
            {
                "kind": line.edge.kind.value,
                "from": line.edge.source,
                "to": line.edge.target,
                "object": line.edge.obj,
                "predicate": line.edge.predicate,
                "because": line.text,
            }
            for line in sentences
            if line.edge is not None
        ],
        "because": [line.text for line in sentences],
    }
