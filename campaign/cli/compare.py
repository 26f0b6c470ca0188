"""`dvs compare`: compares two configurations on the same scenarios, without showing any value."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import click
from rich.text import Text

from campaign.cli import options
from campaign.cli.terminal import print_json, print_table
from campaign.compare.comparison import Compared, Disagreement, compare_runs
from campaign.compare.configuration import Configuration, configuration
from campaign.compare.masking import Mask
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.failures.folders import SCENARIO_FILE, read_scenario
from campaign.lanes.spec import within_limits
from campaign.runs.definitions import over_definitions, values_from
from campaign.runs.plan import scenario_count
from engines.registry import limits_of
from generators.fitting import fit
from generators.generate import scenario_at
from generators.profiles import Profile, load_profile
from workload.errors import WorkloadError
from workload.limits import NO_LIMITS, Limits
from workload.scenario import Scenario
from workload.wellformed import check_scenario

DEFAULT_SCENARIOS = 20

MAX_SHOWN = 10
"""Disagreements, and rows of each, that the terminal shows; `--json` has all."""


@click.command()
@click.argument("a")
@click.argument("b")
@options.seed
@click.option("--scenarios", type=click.IntRange(1), help=f"How many to run.  [{DEFAULT_SCENARIOS}]")
@options.budget
@options.first
@options.profile
@options.definitions
@options.values
@click.option(
    "--scenario",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A scenario file, or a folder of them, instead of random scenarios; may be repeated.",
)
@click.option(
    "--salt",
    envvar="DVS_SALT",
    help="Salt of the hashes, so that two runs can be compared; also as DVS_SALT.  [random, never shown]",
)
@options.as_json
def command(
    a: str,
    b: str,
    seed: int,
    scenarios: int | None,
    budget: float | None,
    first: int,
    profile: str,
    definitions: str | None,
    values: str,
    paths: tuple[Path, ...],
    salt: str | None,
    as_json: bool,
) -> ExitCode:
    """Run the same definitions and data on configurations A and B, and compare contents after every refresh.

    A configuration is TIER[+no-validations][+stock][+fault=NAME][+in=FOLDER], such as rules, delta+stock or
    adapter:NAME. in=FOLDER runs another version of this program, from a checkout or a virtual environment.
    Values are shown only as salted hashes, for data that nobody may see.

    Exit status 0: A and B have the same contents everywhere; 1: they differ; 2: the options or the set-up
    are wrong; 3: nothing differs, but something could not be compared, or nothing was, or the time was over.
    """
    number = scenario_count(scenarios, budget, DEFAULT_SCENARIOS)
    if paths and definitions is not None:
        raise CampaignError("--scenario and --definitions both say what is run; give one of them")
    if paths and not any(scenario_files(paths)):
        if as_json:
            print_json(Comparison(a, b))
        else:
            below = ", ".join(map(str, paths))
            click.echo(f"undecided: no scenario below {below}, so nothing was compared")
        return ExitCode.UNKNOWN
    sampled = values_from(values, definitions)
    left, right = configuration(a), configuration(b)
    tiers = (left.spec.tier, right.spec.tier)
    drawn = within_limits(load_profile(profile), *tiers)
    if definitions is not None:
        drawn = over_definitions(drawn, definitions, 0, left.spec, sampled)
    mask = Mask(secrets.token_bytes(32) if salt is None else salt.encode())
    chosen = (
        stored_scenarios(paths, limits_of(*tiers)) if paths else random_scenarios(drawn, seed, first, number)
    )
    comparison = Comparison(a, b, wanted=len(chosen) if isinstance(chosen, list) else number or 1)
    comparison.definitions_refused |= {} if drawn.given is None else drawn.given.refused
    comparison.run(chosen, left, right, mask, budget)
    if as_json:
        print_json(comparison)
    else:
        show(comparison)
    if comparison.disagreements:
        return ExitCode.FAILED
    undecided = comparison.undecided or comparison.definitions_refused or comparison.lacking
    return ExitCode.UNKNOWN if undecided else ExitCode.OK


@dataclass(slots=True)
class Comparison:
    """The comparison of all scenarios; the JSON output has these keys.

    `wanted`: the scenarios that were asked for. `refreshes`: how many were compared; `other_actions`: how
    many had different refresh actions. `undecided`: why a scenario could not be compared, by its name.
    `definitions_refused`: why a definition of the user is in no scenario.
    """

    a: str
    b: str
    wanted: int = 1
    scenarios: int = 0
    refreshes: int = 0
    other_actions: int = 0
    interrupted: bool = False
    undecided: dict[str, str] = field(default_factory=dict)
    definitions_refused: dict[str, str] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def lacking(self) -> str:
        """What keeps the comparison from a verdict, in a sentence; empty where nothing does."""
        if self.interrupted:
            return "interrupted: these are the scenarios compared by then"
        if self.scenarios < self.wanted:
            return f"undecided: {self.scenarios} of {self.wanted} scenarios, time over"
        if not self.refreshes:
            return "undecided: no refresh was compared"
        return ""

    def run(
        self,
        scenarios: Iterable[Scenario],
        left: Configuration,
        right: Configuration,
        mask: Mask,
        budget: float | None,
    ) -> None:
        """Compares scenarios, until the budget in seconds is spent or the user interrupts."""
        deadline = None if budget is None else time.monotonic() + budget
        try:
            with left.running() as run_a, right.running() as run_b, options.interruptible():
                for scenario in scenarios:
                    self.add(compare_runs(scenario, run_a, run_b, mask))
                    if deadline is not None and time.monotonic() >= deadline:
                        break
        except KeyboardInterrupt:
            self.interrupted = True

    def add(self, compared: Compared) -> None:
        """Adds the comparison of one scenario."""
        self.scenarios += 1
        self.refreshes += compared.refreshes
        self.other_actions += compared.other_actions
        self.disagreements += compared.disagreements
        if compared.undecided:
            self.undecided[compared.scenario] = compared.undecided


def random_scenarios(profile: Profile, seed: int, first: int, number: int | None) -> Iterator[Scenario]:
    """Yields random scenarios from index `first` on; without end where `number` is None."""
    for index in count(first) if number is None else range(first, first + number):
        yield scenario_at(seed, profile, index)


def stored_scenarios(paths: Sequence[Path], limits: Limits) -> list[Scenario]:
    """Returns the scenarios of files and folders, cut to the limits of the engines.

    Raises CampaignError naming a file that is no scenario, without any of its text.
    """
    return [stored_scenario(file, limits) for file in scenario_files(paths)]


def scenario_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yields the paths, but for a folder that is no failure folder all scenario files below it."""
    for path in paths:
        is_tree = path.is_dir() and not (path / SCENARIO_FILE).is_file()
        yield from sorted(path.glob("**/*.json")) if is_tree else [path]


def stored_scenario(file: Path, limits: Limits) -> Scenario:
    """Returns a file's scenario, cut to the limits. Raises CampaignError without any text of the file."""
    try:
        scenario = read_scenario(file)
        if limits != NO_LIMITS:
            check_scenario(scenario)
            scenario = fit(scenario, limits)
    except WorkloadError as error:
        raise CampaignError(f"{file} is no scenario; `dvs replay` shows what is wrong in it") from error
    return scenario


def show(comparison: Comparison) -> None:
    """Prints the figures, and the first disagreements and undecided scenarios."""
    disagreements, undecided = comparison.disagreements, comparison.undecided
    rows = (
        ("scenarios", str(comparison.scenarios)),
        ("refreshes compared", str(comparison.refreshes)),
        ("contents differ", Text(str(len(disagreements)), "bold red" if disagreements else "green")),
        ("other refresh action", str(comparison.other_actions)),
        ("not compared", str(len(undecided))),
    )
    print_table(f"A = {comparison.a}, B = {comparison.b}", (), rows)
    if comparison.lacking:
        click.echo(comparison.lacking)
    for disagreement in disagreements[:MAX_SHOWN]:
        click.echo("\n".join(lines_of(disagreement)))
    if len(disagreements) > MAX_SHOWN:
        click.echo(f"and {len(disagreements) - MAX_SHOWN} more; --json shows them all")
    for scenario, reason in list(undecided.items())[:MAX_SHOWN]:
        click.echo(f"not compared: {scenario}: {reason}")
    for name, reason in comparison.definitions_refused.items():
        click.echo(f"not compared: {name}: {reason}")


def lines_of(each: Disagreement) -> Iterator[str]:
    """Yields a disagreement as lines: the refresh, the kind, and the first rows as hashes."""
    yield f"\n{each.scenario}, step {each.step}: {each.table} at {each.timestamp}: {each.kind}"
    if each.columns:
        yield f"  {each.rows_a} rows on A, {each.rows_b} on B; columns: {', '.join(each.columns)}"
    for name, rows in (("A", each.only_a), ("B", each.only_b)):
        for row in rows[:MAX_SHOWN]:
            yield f"  only {name}: {' '.join(row.cells)}" + (f"  x {row.times}" if row.times > 1 else "")
