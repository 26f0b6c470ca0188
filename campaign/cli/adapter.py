"""`dvs adapter`: writes the beginning of an adapter, and tells how well an adapter works."""

from __future__ import annotations

import keyword
import re
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from campaign.cli.terminal import print_table
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.files import write_text
from engines.registry import ADAPTER, find_adapter
from generators.profiles import SMOKE
from reports.figures import plural
from reports.findings import fuzz_command

SKELETON = '''\
"""An adapter for NAME. See docs/adapters.md; `dvs adapter check MODULE:NAME` tells how well it works."""

from __future__ import annotations

import LIBRARY

from dvs import Capabilities, Dialect, Limits, SqlAdapter


class NAME(SqlAdapter):
    """One empty database. It runs as it is, on LIBRARY; put your engine in its place, line by line."""

    capabilities = Capabilities(
        dialect=Dialect.DIALECT,
        # What your engine maintains, and nothing else: the more words, the more is tested.
        limits=Limits.only("filter", "inner join", "group by", "union all"),
    )
    # In your engine one statement, such as "CREATE MATERIALIZED VIEW {name} AS {query}".
    creates = ("CREATE TABLE {name} AS SELECT * FROM ({query}) AS q LIMIT 0",)
    # () where a commit maintains the tables: then the limits get timestamps=Timestamps.COMMIT.
    refreshes = ("BEGIN", "DELETE FROM {name}", "INSERT INTO {name} {query}", "COMMIT")
    # What it raises where it refuses a statement. Any other exception means that it broke.
    errors = (LIBRARY.Error,)

    def __init__(self):
        self.db = LIBRARY.connect(":memory:"OPTIONS)

    def run(self, text):
        return self.db.execute(text).fetchall()

    def close(self):
        self.db.close()
'''

TESTS = '''\
"""Run them with pytest. A failure is shrunk and explained."""

import pytest
from MODULE import NAME

from dvs import AdapterConformance, assert_delayed_view_semantics


class TestNAME(AdapterConformance):
    """The contract of an adapter, method by method."""

    adapter = NAME


@pytest.mark.dvs(engine=NAME)
def test_random_dynamic_tables(dvs_scenarios):
    for scenario in dvs_scenarios:
        assert_delayed_view_semantics(NAME, scenario)
'''

LIKE = {
    "sqlite-like": {"LIBRARY": "sqlite3", "DIALECT": "SQLITE", "OPTIONS": ", isolation_level=None"},
    "duckdb-like": {"LIBRARY": "duckdb", "DIALECT": "DUCKDB", "OPTIONS": ""},
}
"""The kinds of engines, with what stands in the skeleton for each."""

KINDS = re.compile("|".join(("MODULE", "LIBRARY", "DIALECT", "OPTIONS", r"\bNAME\b", "(?<=Test)NAME")))
"""The words of the two texts that are replaced."""


@click.group()
def command() -> None:
    """Write an adapter for your own engine, and check it."""


@command.command()
@click.argument("name")
@click.option(
    "--engine", type=click.Choice(list(LIKE)), default="sqlite-like", help="What it resembles most."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder for the two files.",
)
def new(name: str, engine: str, out: Path) -> ExitCode:
    """Write the beginning of an adapter, which runs, and its tests.

    NAME is the name of the class, such as MyEngine. No file is overwritten.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CampaignError(f"{name!r} is no name of a class in Python; write one such as MyEngine")
    module = module_of(name, out)
    words = {"MODULE": module, "NAME": name, **LIKE[engine]}
    files = {out / f"{module}.py": SKELETON, out / f"test_{module}.py": TESTS}
    for path in files:
        if path.exists():
            raise CampaignError(f"{path} is there already; choose another name or --out")
    for path, text in files.items():
        write_text(path, KINDS.sub(lambda found: words[found[0]], text))
        click.echo(f"wrote {path}")
    called = called_as(Path(sys.argv[0]))
    click.echo(f"next: cd {shlex.quote(str(out))} && PYTHONPATH=. {called} adapter check {module}:{name}")
    return ExitCode.OK


def module_of(name: str, out: Path) -> str:
    """Returns the module for a class: its name in small letters, unless that hides another module.

    `turso.py` would hide the engine's own package `turso` from the adapter.
    """
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    if (out / f"{module}.py").exists():
        return module
    return f"{module}_adapter" if keyword.iskeyword(module) or find_spec(module) is not None else module


def called_as(program: Path) -> str:
    """Returns how a shell calls this program from any folder: `dvs`, or the path of the one that runs."""
    if program.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m dvs"
    on_path = shutil.which(program.name)
    if on_path is not None and Path(on_path).resolve() == program.resolve():
        return program.name
    return shlex.quote(str(program.absolute()))


@command.command()
@click.argument("name")
@click.option(
    "--scenarios",
    type=click.IntRange(1),
    default=60,
    help="Random scenarios that show which operators the engine refuses.",
)
def check(name: str, scenarios: int) -> ExitCode:
    """Run the conformance kit on an adapter, and suggest limits.

    NAME is `module:Class`, with its folder in PYTHONPATH, or an adapter that comes with the harness.

    Exit status 0: all tests passed; 1: some failed; 2: there is no such adapter, or it cannot run here.
    """
    # Imported here: pytest and the generators take a second.
    from campaign.pytest_plugin.kit import SEED, count_operators, run_kit

    adapter = find_adapter(name)
    adapter.ready()
    results = run_kit(name, lambda test: click.echo(f"{spoken(test)} ...", err=True))
    rows = [(spoken(test), result.text) for test, result in results.items()]
    print_table(f"conformance of {name}", ("test", "result"), rows)
    for test, result in results.items():
        for problem in result.problems:
            click.echo(f"failed: {spoken(test)}: {problem}")
    counts = count_operators(adapter, scenarios)
    operators = sorted(counts.taken.keys() | counts.refused.keys())
    cells = [
        (each, str(counts.taken[each]), str(counts.refused[each]), str(counts.wrong[each]))
        for each in operators
    ]
    print_table(
        f"operators in {scenarios} random scenarios",
        ("operator", "taken", "refused", "wrong or broken"),
        cells,
    )
    if counts.failed:
        tier = f"{ADAPTER}{name}"
        click.echo(f"{plural(counts.failed, 'scenario')} wrong or broken; their pages are written by")
        click.echo(f"  {fuzz_command(tier, SMOKE.name, SEED, 0, scenarios)}")
    for refusal in counts.refusals:
        click.echo(f"refused {len(refusal.indices)} times: {refusal.message}")
        click.echo(f"  suggested: {refusal.limit}")
    if counts.never_taken:
        listed = ", ".join(map(repr, counts.never_taken))
        click.echo(f"suggested: operators without {listed}, which the engine always refused")
    failed = not results or any(result.problems for result in results.values())
    return ExitCode.FAILED if failed else ExitCode.OK


def spoken(test: str) -> str:
    """Returns the name of a test in words."""
    return test.removeprefix("test_").replace("_", " ")
