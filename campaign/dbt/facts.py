"""The facts of a project, found before the first trial: sources, their roles, what is never equal."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from campaign.dbt.databases import Database, described
from campaign.dbt.differences import Table, compare
from campaign.dbt.drawing import Drawing, NotPossible
from campaign.dbt.process import Dbt, DbtBroken
from campaign.dbt.project import Model, Project, in_order, read_project, with_sources
from campaign.dbt.reading import (
    ISO_DAY,
    Roles,
    TextRead,
    all_renames,
    check_literals,
    columns_of,
    ends_with,
    grouping,
    named_relations,
    parts_named,
    plain,
    read_text,
    roles,
    with_clocks,
    with_repeats,
)
from campaign.dbt.rows import BASE, DAY, NEWEST, Domains
from campaign.dbt.run import Rejected, Runner, failures
from campaign.dbt.trials import Contents
from campaign.errors import CampaignError

RUN_STARTED = re.compile(r"[<>=][^\n]*run_started_at")
"""A condition on the start of the run in a model's text before Jinja: compiled, it is only a literal."""

FAR = "2050"
"""Days from this year on, such as 9999-12-31, stand for `never`: rows need not be newer."""

HOUR_S = 3600

SKIPPED = "skipped"
"""The message of dbt for a model that it did not build, because one above it failed."""

ATTEMPTS = 20
"""How often rows are drawn again if the database refuses them."""


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """The facts of a project, by model id where they are of models.

    `ignored`: columns that differ between two full refreshes of the same sources, or that the user ignores.
    `wrong`: why some models cannot be judged. `empty`: the errors of models while their sources are empty.
    `grouping`: models whose key is no key of a source; `repeating`: those that take the latest row of a key.
    """

    project: Project
    roles: Roles
    domains: Domains
    ignored: Mapping[str, frozenset[str]]
    wrong: Mapping[str, str]
    empty: Mapping[str, str]
    grouping: frozenset[str] = frozenset()
    repeating: frozenset[str] = frozenset()


def opened(
    dbt: Dbt, schema: Path | str | None, database: Path | str | None, settings: Mapping[str, Any]
) -> Project:
    """Returns the project with its sources, whose tables `schema` or `database` has. Raises CampaignError."""
    for each in (schema, database):
        if each is not None and not Path(each).is_file():
            raise CampaignError(f"{each}: there is no such file")
    # dbt runs in the folder of the project.
    schema = None if schema is None else str(Path(schema).resolve())
    database = None if database is None else str(Path(database).resolve())
    kind = read_project(dbt.opened, settings).database
    database = database or (None if schema else dbt.opened.get("database"))
    tables: Sequence[Mapping[str, Any]] = ()
    try:
        made_ready(dbt)
        read = kind.tables(schema, database)
        if read is not None:
            tables = read
        elif schema or database:
            tables = dbt.ask("tables", script=schema, database=database)["tables"]
        seeds = dbt.ask("target_tables")
        tables = [*tables, *(seeds.get("tables") or described(seeds.get("script", ""), kind.dialect))]
        answer = with_raw_names(dbt.opened, _compiled(dbt), tables, kind)
        project = with_sources(read_project(answer, settings), answer, tables, settings)
        made_ready(dbt, project.schemas)
    except DbtBroken as error:
        raise CampaignError(f"{schema or database or dbt.target.project}: {error}") from error
    return project


def _compiled(dbt: Dbt) -> dict[str, str]:
    """Returns the compiled texts of the models that can be compiled without a row."""
    results = dbt.ask("run", command=["compile"])["results"]
    return {id_: each["compiled"] for id_, each in results.items() if each["compiled"]}


def with_raw_names(
    answer: Mapping[str, Any],
    texts: Mapping[str, str],
    tables: Sequence[Mapping[str, Any]],
    kind: Database,
) -> Mapping[str, Any]:
    """Returns the driver's answer in which tables that models name without `source` are sources, too."""
    relations = {plain(each["relation"] or "") for each in (*answer["sources"], *answer["nodes"])}
    sources = {}
    nodes = []
    for node in answer["nodes"]:
        names = named_relations(texts[node["id"]], kind.dialect) if node["id"] in texts else frozenset[str]()
        raw = [
            table
            for table in tables
            for name in names
            if ends_with(f"{table['schema']}.{table['name']}".lower(), name)
            and not any(ends_with(each, name) for each in relations)
        ]
        for table in raw:
            relation = kind.named(table["schema"], table["name"])
            sources[relation] = {
                "id": f"raw.{relation}",
                "name": f"{table['schema']}.{table['name']}",
                "schema": table["schema"],
                "identifier": table["name"],
                "relation": relation,
            }
        parents = [f"raw.{kind.named(table['schema'], table['name'])}" for table in raw]
        nodes.append({**node, "parents": [*node["parents"], *dict.fromkeys(parents)]})
    return {**answer, "nodes": nodes, "sources": [*answer["sources"], *sources.values()]}


def made_ready(dbt: Dbt, schemas: Iterable[str] = ()) -> None:
    """Creates the schemas of the sources, and further ones, and loads the seeds. Raises DbtBroken."""
    named = {str(source["schema_relation"]) for source in dbt.opened["sources"]}
    dbt.execute([f"CREATE SCHEMA IF NOT EXISTS {name}" for name in sorted(named.union(schemas))])
    if any(node["kind"] == "seed" for node in dbt.opened["nodes"]):
        dbt.ask("run", command=["seed"])


def learned(dbt: Dbt, project: Project, seed: int) -> ProjectFacts:
    """Builds the models a few times, and returns their facts: what they read, what differs without a change.

    Raises DbtBroken and Rejected.
    """
    runner = Runner(dbt, project, {})
    wanted = {model.id for id_ in project.selected for model in project.above(id_)}
    models = [model for id_, model in project.models.items() if id_ in wanted]
    runner.clear(models, snapshots=True)
    runner.load(Contents(), list(project.sources))
    first = runner.build(models)
    # A run compiles the batches of a model, and not the model.
    texts = _compiled(dbt) if any(model.batches for model in models) else {}
    texts |= {id_: each["compiled"] for id_, each in first["results"].items() if each["compiled"]}
    reads = _reads(project, runner.build(models), texts)
    project = with_clocks(project, reads)
    domains = domains_of(project, reads, [str(node["text"]) for node in dbt.opened["nodes"]])
    ignored = {model.id: model.ignored for model in models}
    failed: list[Mapping[str, str]] = []
    unsteady: dict[str, str] = {}
    for number in range(2):
        # The first two full refreshes must not be in the same second.
        pause = 0 if number else 1.1
        steady = _twice(Runner(dbt, project, {}, domains.base), models, f"{seed}/{number}", domains, pause)
        failed.append(steady.failed)
        for model in models:
            if model.id in steady.first and model.id in steady.second and not model.is_snapshot:
                more, reason = _unsteady(steady.first[model.id], steady.second[model.id], ignored[model.id])
                ignored[model.id] |= more
                unsteady.update({model.id: reason} if reason else {})
    # Values that a model cannot take may be the reason of one failure, hardly of two.
    never = {id_: reason for id_, reason in failed[0].items() if id_ in failed[1]}
    return ProjectFacts(
        project,
        roles(project, reads),
        domains,
        ignored,
        never | unsteady,
        failures(first),
        grouping(project, reads),
        with_repeats(project, reads),
    )


def domains_of(project: Project, reads: Mapping[str, TextRead], raw: Iterable[str]) -> Domains:
    """Returns the values of columns, by the constants of models and CHECKs; `raw`: texts before Jinja."""
    constants: dict[str, dict[str, None]] = {}
    links: dict[str, set[str]] = {}
    renamed = all_renames(reads.values())
    # An expression of a key is no key, but of what it is compared with its column has to hold something.
    behind = all_renames(reads.values(), made_of=True)

    def columns(name: str) -> list[str]:
        """Returns the columns of sources that a name in a model may stand for, in lower case."""
        found = (each for source in project.sources.values() for each in columns_of(source, name, behind))
        return list(dict.fromkeys(each.lower() for each in found))

    def parts(name: str) -> list[str]:
        """Returns the parts of columns that a name may stand for, such as payload.type."""
        found = (each for source in project.sources.values() for each in parts_named(source, name, behind))
        return list(dict.fromkeys(found))

    def whole(name: str) -> list[str]:
        """Returns the columns of which a part is read; one of the alias's name may stand beside its own."""
        named = [each for also in (name, *sorted(behind.get(name, ()))) for each in columns(also)]
        return list(dict.fromkeys(named))

    found = [pair for read in reads.values() for name in read.constants for pair in _pairs(name, read)]
    checks = [check for source in project.sources.values() for check in source.checks]
    for name, value in [*found, *(pair for check in checks for pair in check_literals(check))]:
        # All columns of a name: the text alone does not tell from which source a column comes.
        for column in columns(name):
            constants.setdefault(column, {})[value] = None
        for part in parts(name):
            constants.setdefault(part, {})[value] = None
    for read in reads.values():
        for one, two in read.links:
            for column in columns(one):
                links.setdefault(column, set()).update(columns(two))
    groups = grouping(project, reads)
    keys = [name for id_, model in project.models.items() if id_ not in groups for name in model.key]
    clocks = {
        source.clock if source.part(source.clock) else source.clock.lower()
        for source in project.sources.values()
        if source.clock
    }
    of_clocks = [value for name in clocks for value in constants.get(name, ())]
    times = frozenset[str]().union(*(read.times for read in reads.values()))
    timed = any(read.timed for read in reads.values()) or any(map(RUN_STARTED.search, raw))
    return Domains(
        base_day(of_clocks, timed=timed),
        {name: tuple(values) for name, values in constants.items()},
        {name: frozenset(others) for name, others in links.items()},
        renamed,
        clock_scale(of_clocks),
        frozenset(times).union(*(parts(name) for name in times)),
        _documents(reads.values(), whole),
        frozenset(part for name in keys for part in parts(name)),
    )


def _documents(
    reads: Iterable[TextRead], whole: Callable[[str], Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """Returns the columns that models read as JSON, with the paths; `whole`: the columns of a name."""
    found: dict[str, dict[str, None]] = {}
    for name, _, path in (each.partition(".") for read in reads for each in sorted(read.documents)):
        for column in whole(name):
            found.setdefault(column, {}).update({path: None} if path else {})
    return {name: tuple(paths) for name, paths in found.items()}


def _pairs(name: str, read: TextRead) -> list[tuple[str, str]]:
    """Returns the constants of a name, each with the name."""
    return [(name, value) for value in read.constants[name]]


def base_day(constants: Iterable[str], *, timed: bool) -> dt.date:
    """Returns the day from which clocks count: near today if `timed`, else after the days of `constants`."""
    if timed:
        return dt.datetime.now(tz=dt.UTC).date() - dt.timedelta(days=NEWEST // DAY)
    days = [BASE]
    for text in constants:
        if (found := ISO_DAY.match(text.strip("'"))) and found[0] < FAR:
            # A text of this form may name no day.
            with suppress(ValueError):
                days.append(dt.date.fromisoformat(found[0]))
    return max(days)


def clock_scale(constants: Iterable[str]) -> int:
    """Returns how much a clock of numbers grows in a minute, by the constants beside it; 1 if unknown."""
    numbers = [int(text) for text in constants if text.isdigit() and int(text) >= HOUR_S]
    if any(number % (HOUR_S * 1000) == 0 for number in numbers):
        return 60_000
    return 60 if any(number % HOUR_S == 0 for number in numbers) else 1


@dataclass(frozen=True, slots=True)
class _Results:
    """The tables by two full refreshes of the same sources, and the errors of the second, by model id."""

    first: Mapping[str, Table]
    second: Mapping[str, Table]
    failed: Mapping[str, str]


def _twice(runner: Runner, models: Sequence[Model], seed: str, domains: Domains, pause: float) -> _Results:
    """Builds the models twice over random rows, `pause` seconds apart. Raises DbtBroken and Rejected."""
    for attempt in count():
        try:
            contents = _filled(Random(f"{seed}/{attempt}"), runner.project, domains)
            runner.load(contents, list(runner.project.sources))
            break
        except Rejected:
            if attempt == ATTEMPTS:
                raise
    tables: list[dict[str, Table]] = []
    failed: dict[str, str] = {}
    for _ in range(2):
        runner.clear(models, snapshots=True)
        failed = failures(runner.build(models, "--full-refresh"))
        tables.append(runner.contents(models))
        time.sleep(pause)
    reasons = {id_: _reason(runner.project, id_, failed) for id_ in failed}
    return _Results(tables[0], tables[1], reasons)


def _reason(project: Project, id_: str, failed: Mapping[str, str]) -> str:
    """Returns why a model cannot be built: by its own error, or by that of a model above it."""
    above = [each for each in project.above(id_) if failed.get(each.id, SKIPPED) != SKIPPED]
    if failed[id_] == SKIPPED and above:
        return f"{above[0].name}, which it reads, cannot be built: {failed[above[0].id]}"
    return f"it cannot be built: {failed[id_]}"


def _reads(project: Project, answer: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, TextRead]:
    """Returns what each model reads; `texts`: for models that were not compiled in the run of `answer`."""
    found = {}
    for id_, model in project.models.items():
        text = (answer["results"].get(id_) or {}).get("compiled") or texts.get(id_)
        read = read_text(text, plain(model.relation), project.database.dialect) if text else None
        if read is not None:
            found[id_] = read
    return found


def _filled(random: Random, project: Project, domains: Domains) -> Contents:
    """Returns a few random rows for every source, in an order that keeps foreign keys."""
    contents = Contents()
    for source in in_order(list(project.sources.values())):
        drawing = Drawing(random, project, source, {}, domains, contents=contents)
        for number in range(3):
            try:
                drawing.put(source, NEWEST - number)
            except NotPossible:
                break
    return contents


def _unsteady(one: Table, two: Table, ignored: frozenset[str]) -> tuple[frozenset[str], str]:
    """Returns the columns that differ between two tables, and why the model cannot be judged, if so."""
    if compare(one, two, ignored) is None:
        return frozenset(), ""
    found = frozenset(
        name for name in one.columns if name in two.columns and one.bag([name]) != two.bag([name])
    )
    if len(one.rows) != len(two.rows) or one.columns != two.columns:
        return frozenset(), "two full refreshes of the same sources give different rows"
    if found | ignored >= set(one.columns):
        return frozenset(), "no column is the same in two full refreshes of the same sources"
    if compare(one, two, ignored | found) is not None:
        return frozenset(), "two full refreshes of the same sources pair its values differently"
    return found, ""
