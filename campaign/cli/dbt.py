"""`dvs dbt`: compares dbt models with their full refresh, after random changes of their sources."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from campaign.cli import options
from campaign.cli.progress import steps_of
from campaign.cli.terminal import print_json, print_table
from campaign.dbt.kinds import ChangeKind
from campaign.exit_codes import EXIT_CODES, ExitCode
from campaign.files import write_text
from reports.documents import DbtDocument
from workload.outcomes.decision import Decision

MODELS_BESIDE = 6
"""The most columns, one for each model, of a table in the terminal."""


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option(
    "--dbt-python",
    "python",
    default=sys.executable,
    show_default="that of dvs",
    help="The Python that has your dbt.",
)
@click.option("--schema", type=click.Path(), help="A script with CREATE TABLE for the sources.")
@click.option("--database", type=click.Path(), help="A DuckDB file that has the sources' tables; only read.")
@click.option("--select", multiple=True, help="Models to judge, as dbt selects them; may be repeated.")
@click.option("--profiles-dir", help="The folder of profiles.yml, if it is neither the project nor ~/.dbt.")
@click.option("--profile", help="A profile other than the project's.")
@click.option("--target", help="A target other than the profile's.")
@click.option("--vars", "vars_", help="Passed on to dbt; {now} in it is the time of each run.")
@click.option("--promises", type=click.Path(path_type=Path), help="A TOML file, instead of `meta: dvs`.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([kind.value for kind in ChangeKind]),
    multiple=True,
    help="Only this kind of change; may be repeated.",
)
@click.option(
    "--trials", type=click.IntRange(1), default=20, show_default=True, help="Of each kind of change."
)
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, help="The most runs of a trial."
)
@click.option("--show-values", is_flag=True, help="Show values of models that read more than sources.")
@options.budget
@options.seed
@options.workers
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write pages and reproductions into this folder."
)
@options.as_json
def command(
    project: Path,
    python: str,
    schema: str | None,
    database: str | None,
    promises: Path | None,
    kinds: tuple[str, ...],
    trials: int,
    rounds: int,
    budget: float | None,
    seed: int,
    workers: int,
    out: Path | None,
    as_json: bool,
    **passed_on: Any,
) -> ExitCode:
    """Compare the models of a dbt PROJECT with their full refresh.

    Random rows are written into the sources, changed in many ways (`--kind`), and dbt runs after each
    change, on a database of its own. Exit status 0: no model differs within its promises; 1: one does; 3:
    something was not judged; 2: the project cannot be used. Without promises, a difference is information.
    """
    from campaign.dbt.process import Target
    from campaign.dbt.project import read_settings
    from campaign.dbt.search import Limits, search
    from campaign.dbt.shown import decision_of, document

    profiles = passed_on["profiles_dir"]
    target = Target(
        project=project,
        python=python,
        select=passed_on["select"],
        # The driver works in the project's folder.
        profiles_dir=None if profiles is None else str(Path(profiles).resolve()),
        profile=passed_on["profile"],
        target=passed_on["target"],
        vars=passed_on["vars_"],
    )
    limits = Limits(seed, trials, rounds, budget or 600.0, workers)
    with options.interruptible(), steps_of("dbt", quiet=as_json) as progress:
        found = search(
            target,
            limits,
            schema=schema,
            database=database,
            settings=read_settings(promises),
            kinds=[kind for kind in ChangeKind if not kinds or kind.value in kinds],
            progress=progress,
        )
    result = document(found, str(project), seed, show_values=passed_on["show_values"])
    folders = {} if out is None else _write(out, result, found.profile)
    if as_json:
        print_json(result)
    else:
        _print(result, folders, stopped=found.stopped)
    return EXIT_CODES[decision_of(found)]


def _write(out: Path, result: DbtDocument, profile: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Writes pages and scripts; returns the folder of each reproduction, by model and kind of change."""
    import json

    from reports.dbt import dbt_junit, dbt_markdown, dbt_page, reproduce_sh

    folders: dict[tuple[str, str], str] = {}
    for name, model in result["models"].items():
        for kind, cell in model["changes"].items():
            reproduction = cell["reproduction"]
            # A script cannot stop a run in its middle to let another one run beside it.
            if (
                reproduction is None
                or not profile["scripts"]
                or any(run["beside"] is not None for run in reproduction["runs"])
            ):
                continue
            folder = f"differences/{name}-{kind}"
            script = reproduce_sh(name, kind, reproduction, str(Path(result["project"]).resolve()), profile)
            write_text(out / folder / "reproduce.sh", script)
            folders[name, kind] = folder
    write_text(out / "dbt.json", json.dumps(result, indent=1) + "\n")
    write_text(out / "report.html", dbt_page(result, folders))
    write_text(out / "report.md", dbt_markdown(result))
    write_text(out / "junit.xml", dbt_junit(result))
    return {key: str(out / folder) for key, folder in folders.items()}


def _print(result: DbtDocument, folders: Mapping[tuple[str, str], str], *, stopped: bool) -> None:
    """Prints tables of models by kinds of change, then what each model needs and what is wrong with it.

    `stopped`: the search was interrupted.
    """
    from reports.dbt import cell_text, heading, headline, wrong_lines
    from reports.figures import plural

    models = [*result["models"].items()]
    # A terminal has no room for a column for each kind, as the pages have.
    for first in range(0, len(models), MODELS_BESIDE):
        block = models[first : first + MODELS_BESIDE]
        rows = [
            [heading(kind), *(cell_text(model["changes"][kind]) for _, model in block)]
            for kind in result["kinds"]
        ]
        print_table("", ["change of the sources", *(name for name, _ in block)], rows)
    for name, model in result["models"].items():
        click.echo(model["needs"])
        for note in model["notes"]:
            click.echo(f"  {note}")
        for kind, lines in wrong_lines(model):
            click.echo(f"  WRONG, {heading(kind)}:")
            for line in lines:
                click.echo(f"    {line}")
            if (name, kind) in folders:
                click.echo(f"    bash {folders[name, kind]}/reproduce.sh")
    for problem in result["problems"]:
        click.echo(f"a trial broke: {problem}")
    compared = plural(result["comparisons"], "comparison")
    click.echo(f"{headline(result)}; {compared} in {result['seconds']:.0f} s")
    if stopped:
        click.echo("the run was interrupted: this is what its trials showed until then")
    elif result["decision"] == Decision.UNDECIDED.value and not result["finished"]:
        click.echo(
            "the budget was spent before all trials had run; give more by --budget, or fewer by --trials"
        )
