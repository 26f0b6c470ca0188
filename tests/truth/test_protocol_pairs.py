"""Two disturbances of the refresh protocol: what is not run is as what is run, and pairs show a mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.verify.protocol import (
    ANOTHER,
    DIES,
    DISTURBANCES,
    LOOKS,
    SUSPENDED,
    WRITES,
    Disturbance,
    Interleaving,
    Running,
    verified,
)
from campaign.verify.protocol_pairs import MEMBERS, Chosen, Extent, explore, places
from campaign.verify.protocol_steps import Used
from campaign.verify.protocol_world import FIRST, HEIR, PAIR_FAULTS, SOUND, Step, World
from engines.memory.database import own_database
from tests.depth import examples
from tests.schemas import unlike

pytestmark = pytest.mark.slow

DRAWN = re.compile(r"\b([1-9]\d{11,}|[0-9a-f]{32})\b")
"""Names that are drawn: the address of a table's object, and the id of a command in the journal."""

NOTED = re.compile(r'"(at|until|started)": (\d+)\d{3}\b')
"""The times in a journal, of which a commit of another writer moves those that follow by a microsecond."""

HEIR_UNFENCED = PAIR_FAULTS["heir-unfenced"].model

STEPS = (
    Step(FIRST, 0, "claim", Used.STATE),
    Step(FIRST, 1, "compute", Used.NOTHING),
    Step(FIRST, 2, "compute", Used.CONTENTS),
    Step(FIRST, 3, "compute", Used.ANYTHING),
    Step(FIRST, 4, "commit x", Used.STATE),
)


@pytest.mark.parametrize(
    ("what", "run"),
    [(LOOKS, [0, 2, 3, 4]), (WRITES, [3, 4]), (SUSPENDED, [0, 3, 4]), (DIES, [0, 4])],
)
def test_of_places_that_cannot_differ_the_last_is_run(what: str, run: list[int]) -> None:
    found = places(STEPS, [what])
    assert [each.at for each in found.run] == run
    assert found.cut == len(STEPS) - len(run)


def end_of(interleaving: Interleaving) -> tuple[object, ...]:
    """What an account holds after an interleaving: its files, the refreshes and rows of its tables."""
    with own_database() as connection:
        running = Running(World(connection, SOUND, MEMBERS), interleaving)
        running.work(FIRST)
        store = running.world.store
        tables = {
            name: (
                [(record.action, record.frontier, record.changed) for record in table.records],
                [sorted(map(repr, version.rows())) for version in table.rows],
            )
            for name, table in store.tables.items()
        }
        files = store.base_logs.files.texts.items()
        texts = {path: NOTED.sub(r"\1 \2", DRAWN.sub("", text)) for path, text in files}
        return texts, tables, running.world.clock.time, running.world.found


@pytest.mark.nightly
def test_what_is_not_run_ends_as_what_is_run() -> None:
    steps = verified(Interleaving(()), SOUND, MEMBERS).steps
    found = places(steps)
    cut = [
        Disturbance(what, step.number)
        for what in DISTURBANCES
        for step in steps
        if Disturbance(what, step.number) not in found.run
    ]
    assert len(cut) == found.cut
    for each in cut[:: max(1, len(cut) // examples(14))]:
        as_it = next(run for run in found.run if run.what == each.what and run.at > each.at)
        assert end_of(Interleaving((each,))) == end_of(Interleaving((as_it,))), (each, as_it)


def test_a_mistake_that_no_disturbance_shows_alone() -> None:
    one, two = Disturbance(ANOTHER, 6), Disturbance(ANOTHER, 6, HEIR)
    assert verified(Interleaving((one,)), HEIR_UNFENCED, MEMBERS).laws == ()
    both = Interleaving((one, two))
    assert verified(both, SOUND, MEMBERS).laws == ()
    ran = verified(both, HEIR_UNFENCED, MEMBERS)
    assert "the data timestamps of x do not grow" in ran.laws[0]
    assert {line.of for line in ran.lines} == {"", "first", "second", "third", "last"}


def test_a_first_disturbance_is_run_with_second_ones() -> None:
    found = explore(Disturbance(ANOTHER, 22), Chosen(every=40))
    assert found.broken == ()
    assert found.interleavings > 1
    assert found.processes == 3
    assert found.as_others > 0


def test_the_core_has_the_end_of_a_process_and_no_command() -> None:
    pairs = {(a, b) for a in DISTURBANCES for b in DISTURBANCES if Extent.CORE.has(a, b)}
    assert (DIES, ANOTHER) in pairs
    assert (WRITES, ANOTHER) in pairs
    assert not {(WRITES, WRITES), (ANOTHER, "x is dropped"), (LOOKS, DIES)} & pairs
    assert all(Extent.ALL.has(a, b) for a in DISTURBANCES for b in DISTURBANCES)


def test_the_command_draws_the_shortest_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        "campaign.verify.protocol_pairs.places",
        lambda steps, kinds=DISTURBANCES: places(
            [step for step in steps if step.number == 6 and step.of != "third"], [ANOTHER]
        ),
    )
    command = ["verify", "protocol", "--pairs", "core", "--workers", "1"]
    sound = CliRunner().invoke(main, [*command, "--json"])
    assert sound.exit_code == 0
    assert unlike("verify-protocol", sound.stdout) == ""
    page = tmp_path / "page.html"
    result = CliRunner().invoke(main, [*command, "--fault", "heir-unfenced", "--html", str(page)])
    assert result.exit_code == 1, result.output
    assert "the data timestamps of x do not grow" in result.output
    assert "┃ first" in result.output
    assert "┃ third" in result.output
    assert '<th scope="col">second</th>' in page.read_text(encoding="utf-8")
