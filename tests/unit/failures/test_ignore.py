"""Ignore rules: what they cover, until when, and what is said of them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.errors import CampaignError
from campaign.failures.ignore import IgnoreRules, read_ignore_file
from workload.outcomes.results import Check, DifferenceKind, Fingerprint, OutcomeClass

LEFT_JOIN = Fingerprint(
    outcome=OutcomeClass.PRODUCT_FAILURE,
    check=Check.EQUALITY,
    operators=("left join",),
    kind=DifferenceKind.WRONG_VALUE,
)
LAST_DAY = dt.date(2026, 12, 31)


ABOUT_LEFT_JOINS = 'check = "oracle equality"\noperator = "left join"'


def rules_of(text: str, tmp_path: Path, today: dt.date = LAST_DAY) -> IgnoreRules:
    file = tmp_path / "ignore.toml"
    file.write_text(text, encoding="utf-8")
    return IgnoreRules.on(read_ignore_file(file), today)


def rule(conditions: str) -> str:
    return f'[[ignore]]\nissue = "bugs/7"\nexpires = 2026-12-31\n{conditions}\n'


@pytest.mark.parametrize(
    ("conditions", "covered"),
    [
        ('operator = "full join"\ncheck = "oracle equality"', False),
        (f'fingerprint = "{LEFT_JOIN.code}"\ndifference = "wrong value"', True),
        (f'fingerprint = "{LEFT_JOIN.code}"\ndifference = "missing"', False),
        (f'fingerprint = "{LEFT_JOIN.code}"', True),
        ('fingerprint = "00000000"', False),
        ('operator = "left join"\ncheck = "oracle equality"', True),
        ('operator = "left join"\ncheck = "action invariant 1"', False),
    ],
)
def test_a_rule_covers_what_meets_every_condition(tmp_path: Path, conditions: str, covered: bool) -> None:
    assert (rules_of(rule(conditions), tmp_path).covering(LEFT_JOIN) is not None) is covered


def test_a_rule_applies_on_its_last_day_and_not_after(tmp_path: Path) -> None:
    text = rule(ABOUT_LEFT_JOINS)
    assert rules_of(text, tmp_path).covering(LEFT_JOIN) is not None
    late = rules_of(text, tmp_path, LAST_DAY + dt.timedelta(days=1))
    assert late.covering(LEFT_JOIN) is None
    assert late.notes([LEFT_JOIN]) == (
        "expired on 2026-12-31, does not apply: bugs/7: check oracle equality, operator left join",
    )


def test_a_rule_that_covered_nothing_is_reported(tmp_path: Path) -> None:
    rules = rules_of(rule(ABOUT_LEFT_JOINS) + rule('fingerprint = "00000000"'), tmp_path)
    assert rules.notes([LEFT_JOIN]) == ("covered nothing: bugs/7: fingerprint 00000000",)
    assert len(rules.notes([])) == 2


def test_a_rule_that_covered_several_kinds_of_failures_is_reported(tmp_path: Path) -> None:
    rules = rules_of(rule(ABOUT_LEFT_JOINS), tmp_path)
    other = replace(LEFT_JOIN, operators=("filter", "left join"))
    (note,) = rules.notes([LEFT_JOIN, other, LEFT_JOIN])
    assert note.startswith("covered failures of 2 different kinds: bugs/7: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ignore = 3", "write each rule as an [[ignore]] table"),
        ("[[ignored]]", "found 'ignored'"),
        ("ignore = [3]", "rule 1: no table"),
        ('[[ignore]]\nissue = "x"\nexpires = 2026-12-31', "it names nothing to ignore"),
        ('[[ignore]]\nexpires = 2026-12-31\nfingerprint = "00000000"', "it names no issue"),
        ('[[ignore]]\nissue = "x"\nfingerprint = "00000000"', "the expiry date is missing"),
        (
            '[[ignore]]\nissue = "x"\nexpires = "soon"\nfingerprint = "00000000"',
            "the expiry date is 'soon'",
        ),
        (
            rule('operator = "filter"'),
            "it would hide too much; give a fingerprint, or a check and an operator",
        ),
        (rule('check = "oracle equality"'), "it would hide too much"),
        (rule('check = "oracle equality"\noperator = "outer join"'), "operator 'outer join' is unknown"),
        (rule('fingerprint = "abc"'), "fingerprint 'abc' is none"),
        (
            rule('check = "equality"\noperator = "filter"'),
            "check 'equality' is unknown; there are: validation",
        ),
        (rule('operator = ""'), "operator is ''"),
        (rule('reason = "x"'), "unknown key 'reason'"),
        ("[[ignore", "no valid TOML"),
    ],
)
def test_a_bad_file_is_refused_by_name_and_rule(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CampaignError) as error:
        rules_of(text, tmp_path)
    assert message in str(error.value)
    assert "ignore.toml" in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="no ignore file at"):
        read_ignore_file(tmp_path / "nowhere.toml")
