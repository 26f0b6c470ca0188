"""The protocols of refresh and of groups: no interleaving breaks a law, and each planted mistake does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.cli.verification.protocol import FAULT_NAMES
from campaign.verify.protocol import (
    ANOTHER,
    DIES,
    LOOKS,
    Broken,
    Disturbance,
    Interleaving,
    changes_at,
    interleavings,
    verified,
)
from campaign.verify.protocol_world import COMMANDS, PAIR_FAULTS, PROTOCOL_FAULTS, SCHEDULE, Planted
from tests.depth import examples
from tests.schemas import unlike

pytestmark = pytest.mark.nightly

UNDISTURBED = Interleaving((), SCHEDULE)

INTERLEAVINGS, CHANGES = examples(30), examples(12)
"""How many are run here, and how many of what colleagues do; `dvs verify protocol` runs all."""


def some(cases: Iterable[Interleaving], count: int) -> Sequence[Interleaving]:
    """Returns about some number of the cases, in steps of one size.

    For the numbers above, that size and the number of things that may happen at one step have no common
    divisor, so that each thing comes at some step.
    """
    every = list(cases)
    return every[:: max(1, round(len(every) / count))]


def broken_by(planted: Planted, kinds: Sequence[str]) -> list[Broken]:
    """Returns the laws broken by the interleavings of some kinds in which the second process does not die."""
    steps = verified(UNDISTURBED, planted).count
    found: list[Broken] = []
    for each in (*interleavings(steps, 0), *changes_at(steps)):
        # Once a law is broken, the rest would only take time.
        if each.disturbances[0].what in kinds and not found:
            found += verified(each, planted).broken
    return found


def test_undisturbed_the_process_takes_many_steps_and_keeps_the_laws() -> None:
    ran = verified(UNDISTURBED)
    assert ran.laws == ()
    assert ran.count > 20


def test_no_interleaving_breaks_a_law() -> None:
    steps = verified(UNDISTURBED).count
    for each in some(interleavings(steps, 2), INTERLEAVINGS):
        assert verified(each).laws == (), str(each)


def test_whatever_a_colleague_does_to_a_group_or_a_member_breaks_no_law() -> None:
    steps = verified(UNDISTURBED).count
    for each in some(changes_at(steps), CHANGES):
        assert verified(each).laws == (), str(each)


@pytest.mark.parametrize("command", COMMANDS)
def test_nor_does_it_while_a_command_runs(command: str) -> None:
    ran = verified(Interleaving((), command))
    assert ran.laws == ()
    for each in some(changes_at(ran.count, command), CHANGES):
        assert verified(each).laws == (), str(each)


def test_the_command_names_every_planted_mistake() -> None:
    known = {**PROTOCOL_FAULTS, **PAIR_FAULTS}
    assert tuple(known) == FAULT_NAMES
    assert [fault.model for fault in known.values()] == [Planted(**{f.name: True}) for f in fields(Planted)]


@pytest.mark.parametrize(
    ("planted", "kind", "law"),
    [
        (
            Planted(unfenced=True),
            ANOTHER,
            "do not grow|holds|not up to date",
        ),
        (
            Planted(unfenced=True),
            "x is replaced by another query",
            "x was refreshed by a query that had been replaced before",
        ),
        (Planted(claims_ignored=True), LOOKS, "two processes refreshed . at once"),
        (Planted(published_one_by_one=True), DIES, "a reader saw x at"),
        (
            Planted(published_blindly=True),
            "the group is replaced by one of x and d",
            "a reader saw x at",
        ),
        (
            Planted(memberships_outlived=True),
            "the group is replaced by one of x and d",
            "a reader of y, in no group, saw",
        ),
    ],
)
def test_a_mistake_is_noticed(planted: Planted, kind: str, law: str) -> None:
    found = broken_by(planted, [kind])
    assert any(re.search(law, each.law) for each in found)


def test_the_command_shows_the_shortest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [Interleaving((Disturbance(DIES, at),)) for at in range(16, 24)]
    monkeypatch.setattr("campaign.verify.protocol.interleavings", lambda steps, inner: few)
    monkeypatch.setattr("campaign.verify.protocol.changes_at", lambda steps, during="": ())
    result = CliRunner().invoke(main, ["verify", "protocol", "--fault", "published-one-by-one"])
    assert result.exit_code == 1
    assert "FALSE in" in result.output
    assert "a reader saw x at" in result.output
    as_json = CliRunner().invoke(main, ["verify", "protocol", "--fault", "published-one-by-one", "--json"])
    assert unlike("verify-protocol", as_json.stdout) == ""
    sound = CliRunner().invoke(main, ["verify", "protocol"])
    assert sound.exit_code == 0
    assert sound.output.startswith("13 interleavings of 26 steps: every law holds")
