"""Ignore rules: known failures, each with an issue and a date after which the failure counts again."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.errors import CampaignError
from workload.operators import OPERATORS
from workload.outcomes.results import Check, DifferenceKind, Fingerprint
from workload.query import AggregateFunction

CONDITIONS = ("check", "difference", "operator", "fingerprint")
"""The conditions that a rule can have. All conditions of a rule must hold."""

OPERATOR_NAMES = frozenset(
    {
        *(operator.value for operator in OPERATORS),
        "MIN or MAX",
        *(f.value for f in AggregateFunction),
        *(f"{f.value} DISTINCT" for f in AggregateFunction),
    }
)
"""The names that fingerprints have for operators and aggregate functions."""

LISTED = ", ".join(CONDITIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreRule:
    """Covers failures whose fingerprint meets every condition given, up to and including a date."""

    issue: str
    expires: dt.date
    check: Check | None = None
    difference: DifferenceKind | None = None
    operator: str | None = None
    fingerprint: str | None = None

    def covers(self, fingerprint: Fingerprint) -> bool:
        """Tells whether the rule covers failures with a fingerprint."""
        return (
            self.check in (None, fingerprint.check)
            and self.difference in (None, fingerprint.kind)
            and (self.operator is None or self.operator in fingerprint.operators)
            and self.fingerprint in (None, fingerprint.code)
        )

    @property
    def text(self) -> str:
        """The rule in a line: `https://…/7: operator left join`."""
        given = {
            "check": self.check and self.check.value,
            "difference": self.difference and self.difference.value,
            "operator": self.operator,
            "fingerprint": self.fingerprint,
        }
        return f"{self.issue}: " + ", ".join(f"{name} {value}" for name, value in given.items() if value)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of a file on one day: those that apply, and those that have expired."""

    rules: tuple[IgnoreRule, ...] = ()
    expired: tuple[IgnoreRule, ...] = ()

    @classmethod
    def on(cls, rules: Sequence[IgnoreRule], today: dt.date) -> IgnoreRules:
        """Returns the rules of a day: those that still apply, and apart from them those that have expired."""
        return cls(
            tuple(rule for rule in rules if today <= rule.expires),
            tuple(rule for rule in rules if today > rule.expires),
        )

    def covering(self, fingerprint: Fingerprint) -> IgnoreRule | None:
        """Returns the first rule that covers failures of a fingerprint."""
        return next((rule for rule in self.rules if rule.covers(fingerprint)), None)

    def notes(self, fingerprints: Iterable[Fingerprint]) -> tuple[str, ...]:
        """Returns notes on the rules that have expired, covered no failure, or covered several kinds."""
        seen = list(fingerprints)
        used = [self.covering(fingerprint) for fingerprint in seen]
        expired = [f"expired on {rule.expires}, does not apply: {rule.text}" for rule in self.expired]
        idle = [f"covered nothing: {rule.text}" for rule in self.rules if rule not in used]
        broad = [
            f"covered failures of {count} different kinds: {rule.text}; write one rule for each fingerprint"
            for rule in self.rules
            if (count := len({each for each, by in zip(seen, used, strict=True) if by is rule})) > 1
        ]
        return (*expired, *idle, *broad)


def read_ignore_file(path: Path) -> tuple[IgnoreRule, ...]:
    """Reads the rules of a TOML file, one `[[ignore]]` table each. Raises CampaignError naming the rule."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CampaignError(f"no ignore file at {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CampaignError(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise CampaignError(f"{path}: no valid TOML: {error}") from error
    entries = document.get("ignore", [])
    unknown = sorted(set(document) - {"ignore"})
    if unknown or not isinstance(entries, list):
        problem = f"found {unknown[0]!r}" if unknown else "'ignore' is no list of tables"
        raise CampaignError(f"{path}: {problem}; write each rule as an [[ignore]] table")
    return tuple(_rule(entry, f"{path}: rule {number}") for number, entry in enumerate(entries, 1))


def known_failures(file: str | None) -> IgnoreRules:
    """Returns the rules of a TOML file as they apply today; none without a file. Raises CampaignError."""
    rules = () if file is None else read_ignore_file(Path(file))
    return IgnoreRules.on(rules, dt.datetime.now(dt.UTC).date())


def _rule(entry: Any, where: str) -> IgnoreRule:
    """Returns the rule of an `[[ignore]]` table. `where`: begins each error. Raises CampaignError."""
    if not isinstance(entry, Mapping):
        raise CampaignError(f"{where}: no table; write each rule as an [[ignore]] table")
    unknown = sorted(set(entry) - {"issue", "expires", *CONDITIONS})
    if unknown:
        raise CampaignError(f"{where}: unknown key {unknown[0]!r}; known: issue, expires, {LISTED}")
    if not any(name in entry for name in CONDITIONS):
        raise CampaignError(f"{where}: it names nothing to ignore; give one of {LISTED}")
    for name in (*CONDITIONS, "issue"):
        if name in entry and not (isinstance(entry[name], str) and entry[name].strip()):
            raise CampaignError(f"{where}: {name} is {entry[name]!r}; write a text in quotes")
    if "fingerprint" not in entry and not ("check" in entry and "operator" in entry):
        raise CampaignError(
            f"{where}: it would hide too much; give a fingerprint, or a check and an operator"
        )
    if "issue" not in entry:
        raise CampaignError(f"{where}: it names no issue; say where the failure is written down")
    expires = entry.get("expires")
    if type(expires) is not dt.date:
        given = "missing" if expires is None else f"{expires!r}"
        raise CampaignError(
            f"{where}: the expiry date is {given}; write expires = 2027-01-31, without quotes"
        )
    _ensure_known_names(entry, where)
    return IgnoreRule(
        issue=entry["issue"],
        expires=expires,
        check=_member(Check, entry.get("check"), f"{where}: check"),
        difference=_member(DifferenceKind, entry.get("difference"), f"{where}: difference"),
        operator=entry.get("operator"),
        fingerprint=entry.get("fingerprint"),
    )


def _ensure_known_names(entry: Mapping[str, Any], where: str) -> None:
    """Raises CampaignError for an operator or a fingerprint that no failure can have."""
    operator, fingerprint = entry.get("operator"), entry.get("fingerprint")
    if operator is not None and operator not in OPERATOR_NAMES:
        known = ", ".join(sorted(OPERATOR_NAMES))
        raise CampaignError(f"{where}: operator {operator!r} is unknown; there are: {known}")
    if fingerprint is not None and not re.fullmatch("[0-9a-f]{8}", fingerprint):
        raise CampaignError(
            f"{where}: fingerprint {fingerprint!r} is none; reports show fingerprints, of eight hex digits"
        )


def _member(kind: Any, value: str | None, where: str) -> Any:
    """Returns the member of an enum with a value; None without one. Raises CampaignError: no such value."""
    if value is None:
        return None
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise CampaignError(f"{where} {value!r} is unknown; there are: {known}") from None
