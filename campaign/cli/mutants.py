"""`dvs mutants`: plants faults in the engine, an analysis or a model, and shows which are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.text import Text

from campaign.cli import options
from campaign.cli.terminal import print_json, print_table
from campaign.errors import CampaignError
from campaign.exit_codes import EXIT_CODES, ExitCode
from campaign.failures.folders import SCENARIO_FILE
from campaign.faults import FAULTS, faults_on, known_faults
from campaign.faults.missing import MISSING
from campaign.files import make_folder, write_text
from campaign.lanes.spec import LaneSpec
from campaign.mutants.cases import CaseHunt, hunt_cases, known
from campaign.mutants.hunt import HuntResult, hunt_all
from campaign.mutants.kinds import ENGINE, KINDS, FaultKind
from campaign.mutants.verdict import MOST_SCENARIOS, HuntVerdict, hunt_text
from campaign.runs.definitions import over_definitions, over_random_documents, values_from
from engines.registry import TIERS
from generators.profiles import load_profile
from reports.documents import HuntsDocument
from reports.figures import plural, several
from workload.codec import scenario_to_json
from workload.outcomes.run_verdict import worst

STYLES = {
    HuntVerdict.KILLED: "",
    HuntVerdict.IDLE: "dim",
    HuntVerdict.SURVIVED: "bold red",
    HuntVerdict.UNDECIDED: "yellow",
}

MOST_OVER_DEFINITIONS = 40
"""The most scenarios for a fault over given definitions: these are few, and every scenario has them all."""

ENGINE_OPTIONS = ("tier", "profile", "definitions", "values", "workers", "validations")
"""Options that say how the engine's faults are hunted; the other kinds have no use for them."""

Score = dict[str, Any]
"""The result for one planted fault as JSON data; the tables print it too."""


def engine_score(result: HuntResult) -> Score:
    """Returns the result for a fault in the engine. `expected`: the checks that should find the fault."""
    kill, fault = result.kill, FAULTS[result.fault]
    return {
        "fault": result.fault,
        "area": fault.area,
        "verdict": result.verdict.value,
        "seconds": round(result.seconds, 2),
        "scenarios": result.scenarios,
        "most": result.most,
        "killer": None if kill is None else kill.killer.value,
        "expected": [check.value for check in fault.caught_by],
        "reproduction": None if kill is None else asdict(kill.size),
        "note": result.note,
    }


def case_score(kind: FaultKind, result: CaseHunt) -> Score:
    """Returns the result for a fault of another kind."""
    small = result.reproduction
    return {
        "fault": result.fault,
        "area": kind.area,
        "verdict": result.verdict.value,
        "seconds": round(result.seconds, 2),
        several(kind.unit): result.cases,
        "most": result.most,
        "killer": result.killer or None,
        "reproduction": None if small is None else dict(small.size),
        "note": "",
    }


def scenario_files(results: Sequence[HuntResult]) -> dict[str, str]:
    """Returns the shrunk scenarios of the killed faults as JSON, by the path of the file."""
    kills = {result.fault: result.kill for result in results if result.kill is not None}
    return {f"{f}/{SCENARIO_FILE}": scenario_to_json(kill.reproduction) for f, kill in kills.items()}


def case_files(results: Sequence[CaseHunt]) -> dict[str, str]:
    """Returns the smallest cases of the killed faults as text, by the path of the file."""
    small = {result.fault: result.reproduction for result in results}
    return {f"{name}{each.suffix}": each.text for name, each in small.items() if each and each.text}


@click.command()
@options.hunted_fault
@click.option(
    "--kind",
    type=click.Choice([ENGINE, *KINDS]),
    default=ENGINE,
    help="Where the faults are planted: in the engine, the analysis of histories, the scheduler, the "
    "protocol of refreshes, or a model of transactions.",
)
@click.option("--tier", type=click.Choice([*TIERS]), default="rules", help="Where the engine runs.")
@click.option(
    "--budget",
    type=options.Duration(),
    default="10m",
    help="Most time for all faults together; a fault for which it was too short is undecided.",
)
@options.seed
@options.workers
@options.profile
@options.definitions
@options.values
@click.option(
    "--scenarios",
    type=click.IntRange(1),
    help="Scenarios (or histories, accounts, ...) for each fault: one that lives longer has survived.  "
    f"[{MOST_SCENARIOS}; other kinds: their own]",
)
@click.option(
    "--attempts", type=click.IntRange(0), default=300, help="How many runs shrinking one kill may take."
)
@click.option(
    "--validations/--no-validations",
    default=False,
    help="Whether the engine validates its own change sets; without, only our checks can find a fault.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the shrunk scenarios or histories.")
@click.option("--list", "listing", is_flag=True, help="List the planted faults and stop.")
@options.as_json
def command(
    faults: tuple[str, ...],
    kind: str,
    budget: float,
    seed: int,
    scenarios: int | None,
    attempts: int,
    out: Path | None,
    listing: bool,
    as_json: bool,
    **of_the_engine: Any,
) -> ExitCode:
    """Plant one fault at a time, in the engine or elsewhere, and run random cases until a check finds it.

    With --definitions, only faults that change what the engine does with these definitions count.
    Exit status 0: every fault was killed (found); 1: one survived all its scenarios; 2: the options or the
    set-up are wrong; 3: none survived, but the time was over before each had its scenarios.
    """
    of_kind = KINDS.get(kind)
    if listing:
        list_faults(of_kind, as_json)
        return ExitCode.OK
    if of_kind is not None and (foreign := [each for each in ENGINE_OPTIONS if options.given(each)]):
        raise CampaignError(f"--{foreign[0]} is about the engine; leave it out with --kind {kind}")
    if out is not None:
        # Before the hunt, whose results would be lost.
        make_folder(out)
    if of_kind is None:
        unit = "scenario"
        results = hunt_in_engine(faults, scenarios, seed, budget, attempts, **of_the_engine)
        scores, files = [engine_score(result) for result in results], scenario_files(results)
    else:
        unit = of_kind.unit
        hunted = hunt_cases(
            of_kind,
            known(of_kind, faults),
            seed=seed,
            budget=budget,
            attempts=attempts,
            most=scenarios,
            progress=lambda result: print_line(case_score(of_kind, result), unit),
        )
        scores, files = [case_score(of_kind, result) for result in hunted], case_files(hunted)
    if out is not None:
        for name, content in files.items():
            write_text(out / name, content)
    print_result(scores, unit, {} if faults or of_kind else MISSING, as_json=as_json)
    verdicts = [HuntVerdict(score["verdict"]) for score in scores]
    # Where no fault changes a row, nothing was found out about the definitions.
    return EXIT_CODES[worst(verdict.decision for verdict in verdicts if verdict is not HuntVerdict.IDLE)]


def hunt_in_engine(
    faults: tuple[str, ...],
    scenarios: int | None,
    seed: int,
    budget: float,
    attempts: int,
    *,
    tier: str,
    workers: int,
    profile: str,
    definitions: str | None,
    values: str,
    validations: bool,
) -> list[HuntResult]:
    """Hunts faults of the engine, all that can show on the tier where none is named; prints the progress."""
    sampled = values_from(values, definitions)
    drawn = load_profile(profile)
    if definitions is not None:
        drawn = over_definitions(drawn, definitions, 0, LaneSpec(tier=tier), sampled)
        assert drawn.given is not None, "it holds the definitions"
        for name, reason in drawn.given.refused.items():
            click.echo(f"note: no fault can show in {name}: {reason}", err=True)
    else:
        drawn = over_random_documents(drawn, seed, LaneSpec(tier=tier))
    return hunt_all(
        known_faults(faults) or faults_on(tier, documents=drawn.given is not None),
        tier=tier,
        seed=seed,
        profile=drawn,
        budget=budget,
        workers=workers,
        attempts=attempts,
        most=scenarios or (MOST_SCENARIOS if definitions is None else MOST_OVER_DEFINITIONS),
        validations=validations,
        progress=lambda result: print_line(engine_score(result), "scenario"),
    )


def list_faults(kind: FaultKind | None, as_json: bool) -> None:
    """Prints one line for each planted fault, and for each known bug that cannot be planted.

    `kind`: None for the engine.
    """
    faults = {name: fault.wrong for name, fault in FAULTS.items()} if kind is None else kind.faults
    missing = MISSING if kind is None else {}
    if as_json:
        listed = [{"fault": name, "wrong": wrong} for name, wrong in faults.items()]
        document: HuntsDocument = {"faults": listed, "missing": missing}
        print_json(document)
        return
    for name, wrong in faults.items():
        click.echo(f"{name}: {wrong}")
    for name, reason in missing.items():
        click.echo(f"not planted: {name}: {reason}")


def print_line(score: Score, unit: str) -> None:
    """Prints the result for one fault as a line of progress; what is undecided may be hunted again."""
    work = f"({plural(score[several(unit)], unit)}, {score['seconds']:.1f} s)"
    if score["verdict"] == HuntVerdict.UNDECIDED.value:
        click.echo(f"{'open':8} {score['fault']} not found so far {work}", err=True)
        return
    reason = f"by {score['killer']}" if score["killer"] else reason_of(score, unit)
    click.echo(f"{score['verdict']:8} {score['fault']} {reason} {work}", err=True)


def reason_of(score: Score, unit: str) -> str:
    """Returns in words why a fault was not found."""
    text = hunt_text(HuntVerdict(score["verdict"]), score[several(unit)], score["most"], unit)
    return f"{text}; {score['note']}" if score["note"] else text


def print_result(scores: Sequence[Score], unit: str, missing: Mapping[str, str], *, as_json: bool) -> None:
    """Prints the scores. `missing`: the known bugs that are not planted, each with the reason."""
    if as_json:
        document: HuntsDocument = {"faults": scores, "missing": missing}
        print_json(document)
        return
    print_scores(scores, unit)
    if missing:
        click.echo(f"not planted: {len(missing)} (`dvs mutants --list` says why)")


def print_scores(scores: Sequence[Score], unit: str) -> None:
    """Prints all faults in one table, and the score of each area in another."""
    killed = sum(score["verdict"] == HuntVerdict.KILLED.value for score in scores)
    idle = sum(score["verdict"] == HuntVerdict.IDLE.value for score in scores)
    sizes = list(next((score["reproduction"] for score in scores if score["reproduction"]), ()))
    rows = [
        (
            score["fault"],
            Text(score["verdict"], STYLES[HuntVerdict(score["verdict"])]),
            score["killer"] or reason_of(score, unit),
            str(score[several(unit)]),
            f"{score['seconds']:.1f}",
            *(str((score["reproduction"] or {}).get(size, "")) for size in sizes),
        )
        for score in scores
    ]
    columns = ("fault", "verdict", "killer", several(unit), "seconds", *sizes)
    title = f"{killed} of {len(scores) - idle} planted faults killed"
    if idle:
        title += f"; {idle} more make no difference to these definitions"
    numbers = set(columns[3:]) - {"history"}
    print_table(title, columns, rows, numbers=numbers, one_line=("fault", "verdict"))
    columns = ("area", "killed", "planted", f"median {several(unit)}", "median seconds")
    print_table("score by area", columns, area_rows(scores, unit), numbers=columns[1:])


def area_rows(scores: Sequence[Score], unit: str) -> Iterator[Sequence[str]]:
    """Yields a row for each area: its score, and the median work for a kill."""
    for area in dict.fromkeys(score["area"] for score in scores):
        of_area = [score for score in scores if score["area"] == area]
        kills = [score for score in of_area if score["killer"]]
        cases = f"{median(score[several(unit)] for score in kills):g}" if kills else ""
        seconds = f"{median(score['seconds'] for score in kills):.1f}" if kills else ""
        yield area, str(len(kills)), str(len(of_area)), cases, seconds
