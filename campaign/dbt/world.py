"""What is known of a project before the first trial: its sources, their roles, and what is never equal."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from campaign.dbt.differences import Table, compare
from campaign.dbt.drawing import Drawing, NotPossible
from campaign.dbt.process import Dbt, DbtBroken
from campaign.dbt.project import Project, Source, read_project, with_sources
from campaign.dbt.reading import Read, Roles, plain, read_text, roles, with_clocks
from campaign.dbt.rows import DAY, NEWEST, Domains
from campaign.dbt.run import Runner, failures
from campaign.dbt.trials import Contents
from campaign.errors import CampaignError

BASE = dt.date(2024, 1, 1)
"""The day from which clock values are counted, unless a condition reads the current time."""


@dataclass(frozen=True, slots=True)
class World:
    """What is known of a project before the first trial.

    `wrong`: why some models cannot be judged.
    `ignored`: columns that differ between two full refreshes of the same sources. `base`: the day from which
    clock values are counted. `empty`: models that fail while their sources are empty.
    """

    project: Project
    roles: Roles
    domains: Domains
    ignored: Mapping[str, frozenset[str]]
    wrong: Mapping[str, str]
    empty: Mapping[str, str]


def opened(dbt: Dbt, schema: str | None, database: str | None, settings: Mapping[str, Any]) -> Project:
    """The project with its sources. Raises CampaignError."""
    project = read_project(dbt.opened, settings)
    database = database or (None if schema else dbt.opened.get("database"))
    tables: Sequence[Mapping[str, Any]] = ()
    try:
        made_ready(dbt)
        schemas = sorted({str(source["schema"]) for source in dbt.opened["sources"]})
        if schema or database:
            tables = dbt.ask("tables", script=schema, schemas=schemas, database=database)["tables"]
        seeds = dbt.ask("target_tables")["tables"]
    except DbtBroken as error:
        raise CampaignError(f"{schema or database or dbt.target.project}: {error}") from error
    return with_sources(project, dbt.opened, [*tables, *seeds], settings)


def made_ready(dbt: Dbt) -> None:
    """Makes the schemas of the sources, and loads the seeds. Raises DbtBroken."""
    schemas = {str(source["relation"]).rpartition(".")[0] for source in dbt.opened["sources"]}
    dbt.execute([f"CREATE SCHEMA IF NOT EXISTS {name}" for name in sorted(schemas)])
    if any(node["kind"] == "seed" for node in dbt.opened["nodes"]):
        dbt.ask("run", command=["seed"])


def learned(dbt: Dbt, project: Project, seed: int) -> World:
    """Builds the models a few times, to know their texts, and what differs without any change."""
    runner = Runner(dbt, project, {})
    models = [model for id_ in project.selected for model in project.above(id_)]
    models = [model for id_, model in project.models.items() if model in models]
    sources = list(project.sources)
    runner.clear(models, snapshots=True)
    runner.load(Contents(), sources)
    first = runner.build(models)
    empty = failures(first)
    texts = {id_: each["compiled"] for id_, each in first["results"].items() if each["compiled"]}
    again = runner.build(models)
    reads = _reads(project, again, texts)
    project = with_clocks(project, reads)
    timed = any(read.timed for read in reads.values())
    base = dt.datetime.now(tz=dt.UTC).date() - dt.timedelta(days=NEWEST // DAY) if timed else BASE
    constants: dict[str, list[str]] = {}
    for read in reads.values():
        for name, values in read.constants.items():
            constants.setdefault(name, []).extend(values)
    domains = Domains(base, {name: tuple(dict.fromkeys(values)) for name, values in constants.items()})
    runner = Runner(dbt, project, {})
    ignored: dict[str, frozenset[str]] = {model.id: model.ignored for model in models}
    wrong: dict[str, str] = {}
    for number in range(2):
        contents = _filled(Random(f"{seed}/{number}"), project, domains)
        runner.load(contents, sources)
        tables: list[Mapping[str, Table]] = []
        for _ in range(2):
            runner.clear(models, snapshots=True)
            runner.build(models, "--full-refresh")
            tables.append(runner.contents(models))
            # The next full refresh must not begin in the same second.
            time.sleep(1.1 if number == 0 else 0)
        for model in models:
            if model.id in tables[0] and model.id in tables[1] and not model.is_snapshot:
                more, reason = _unsteady(tables[0][model.id], tables[1][model.id], ignored[model.id])
                ignored[model.id] |= more
                wrong.update({model.id: reason} if reason else {})
    return World(project, roles(project, reads), domains, ignored, wrong, empty)


def _reads(project: Project, answer: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Read]:
    found = {}
    for id_, model in project.models.items():
        text = (answer["results"].get(id_) or {}).get("compiled") or texts.get(id_)
        read = read_text(text, plain(model.relation)) if text else None
        if read is not None:
            found[id_] = read
    return found


def _filled(random: Random, project: Project, domains: Domains) -> Contents:
    """A few rows for every source, those that are referred to first."""
    contents = Contents()
    for source in in_order(list(project.sources.values())):
        drawing = Drawing(random, project, source, (), domains, contents)
        for number in range(3):
            try:
                drawing.put(source, NEWEST - number)
            except NotPossible:
                break
            # Numbers belong to one source each here.
    return contents


def _unsteady(one: Table, two: Table, ignored: frozenset[str]) -> tuple[frozenset[str], str]:
    """The columns that differ between two tables, and why the model cannot be judged, or an empty text."""
    if compare(one, two, ignored) is None:
        return frozenset(), ""
    found = frozenset(
        name for name in one.columns if name in two.columns and one.bag([name]) != two.bag([name])
    )
    if len(one.rows) != len(two.rows) or one.columns != two.columns:
        return frozenset(), "two full refreshes of the same sources give different rows"
    if compare(one, two, ignored | found) is not None:
        return frozenset(), "two full refreshes of the same sources pair its values differently"
    return found, ""


def in_order(sources: Sequence[Source]) -> list[Source]:
    """Sources after those that their foreign keys refer to."""
    left, done = list(sources), []
    while left:
        names = {source.id for source in left}
        free = [s for s in left if not any(k.target in names and k.target != s.id for k in s.foreign)]
        done += free or left
        left = [source for source in left if source not in done]
    return done
