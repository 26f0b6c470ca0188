"""A dbt project as the harness sees it: sources that change, and models that are built from them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from campaign.dbt.databases import DATABASES, Database
from campaign.dbt.kinds import Promised, promised
from campaign.errors import CampaignError

CLOCK_NAMES = ("updated_at", "modified_at", "loaded_at", "_loaded_at", "created_at", "event_time", "ts", "at")
"""Names by which a clock column is chosen where nothing else tells; the first that a source has."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a source; `type`: as the database names it; `required`: never NULL."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that hold the key of a row of another source, or NULL. `target`: its id."""

    columns: tuple[str, ...]
    target: str
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source or seed. `relation`: its full name, quoted; `checks`: the conditions of CHECK constraints.

    `clock`: the column that says how new a row is, or a part of a document such as payload.at; `clocks`:
    further ones by which models filter. `keys`: from constraints and from the project's tests.
    """

    id: str
    name: str
    relation: str
    columns: tuple[SourceColumn, ...]
    keys: tuple[tuple[str, ...], ...] = ()
    foreign: tuple[ForeignKey, ...] = ()
    checks: tuple[str, ...] = ()
    clock: str | None = None
    clocks: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> SourceColumn:
        """Returns the column with a name."""
        return next(column for column in self.columns if column.name == name)

    def part(self, name: str | None) -> tuple[SourceColumn, str] | None:
        """Returns the column and the path of a part such as payload.at; None for what is no part."""
        first, dot, path = (name or "").partition(".")
        named = [column for column in self.columns if column.name.lower() == first]
        return (named[0], path) if dot and named and name not in self.names else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model or snapshot. `parents`: ids of what it reads. `declares`: whether it declares promises.

    `select`: the text that names it for dbt. `key`: the columns of its `unique_key`, in lower case.
    `ignored`: columns that are not compared. `left_out`: why it cannot be judged, or empty. `event_time`:
    the column by which dbt cuts its rows into batches, if it `batches` (microbatch). `outside`: it may read
    more than sources and models, such as a file. `renamed`: by another name of a column that dbt adds to a
    snapshot, the usual one; `current`: SQL for the end of a version that is current, empty for NULL.
    """

    id: str
    name: str
    file: str
    relation: str
    select: str
    materialized: str
    parents: tuple[str, ...]
    key: tuple[str, ...]
    promises: Promised
    declares: bool
    ignored: frozenset[str] = frozenset()
    left_out: str = ""
    event_time: str | None = None
    batches: bool = False
    outside: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)
    current: str = ""

    @property
    def is_snapshot(self) -> bool:
        """Whether it is a snapshot: dbt keeps the versions of its rows (SCD type 2)."""
        return self.materialized == "snapshot"


@dataclass(frozen=True, slots=True)
class Project:
    """A project. `models`: by id, after the models that they read. `selected`: the models to judge.

    `ancestors`: by model id the ids of all that it is built from, at any depth. `dbt`: its version.
    """

    sources: Mapping[str, Source]
    models: Mapping[str, Model]
    selected: tuple[str, ...]
    dbt: str = ""
    ancestors: Mapping[str, frozenset[str]] = field(default_factory=dict)
    database: Database = DATABASES["duckdb"]

    @property
    def schemas(self) -> frozenset[str]:
        """The quoted names of the schemas of all sources."""
        return frozenset(source.relation.rpartition(".")[0] for source in self.sources.values())

    def above(self, model: str) -> list[Model]:
        """Returns a model and all models that it is built from, in an order in which they can be built."""
        wanted = self.ancestors[model] | {model}
        return [each for id_, each in self.models.items() if id_ in wanted]

    def sources_of(self, models: Iterable[str]) -> list[Source]:
        """Returns the sources that some models are built from, at any depth."""
        wanted = frozenset().union(*(self.ancestors[model] for model in models))
        return [source for id_, source in self.sources.items() if id_ in wanted]

    def with_referenced(self, sources: Iterable[Source]) -> list[Source]:
        """Returns sources, and at the end those that their foreign keys refer to, at any depth."""
        found = list(sources)
        for source in found:
            targets = dict.fromkeys(self.sources[key.target] for key in source.foreign)
            found.extend(target for target in targets if target not in found)
        return found


def read_settings(path: Path | str | None) -> Mapping[str, Any]:
    """Returns what a TOML file of the user says of models and sources; {} for None. Raises CampaignError."""
    if path is None:
        return {}
    try:
        settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CampaignError(f"{path} is no TOML: {error}") from error
    if strangers := sorted(set(settings) - {"models", "sources"}):
        raise CampaignError(
            f'{path}: {strangers[0]!r} is unknown; write [models.NAME] or [sources."RAW.NAME"]'
        )
    for kind, each in settings.items():
        for name, value in each.items() if isinstance(each, dict) else [("", each)]:
            if not isinstance(value, dict):
                where = f"[{kind}.{name}]" if name else f"[{kind}.NAME]"
                raise CampaignError(
                    f"{path}: {name or kind} = {value!r} is no table; write {where} and lines below it"
                )
    return settings


def declared(meta: object, of_user: Mapping[str, Any], where: str, known: Sequence[str]) -> dict[str, Any]:
    """Returns what `meta: dvs` and the user's file say of a model or source. Raises CampaignError."""
    names = " and ".join(f"`{name}`" for name in known)
    if not isinstance(meta or {}, Mapping):
        raise CampaignError(f"{where}: `dvs` is {meta!r}; write dvs: {{{known[0]}: ..}}, it knows {names}")
    found = {**(meta or {}), **of_user}  # type: ignore[dict-item]
    if strangers := sorted(set(found) - set(known)):
        raise CampaignError(f"{where}: `dvs` has {strangers[0]!r}; it knows {names}")
    return found


def named_columns(value: object, where: str) -> list[str]:
    """Returns the names of columns, given as a list or as one name. Raises CampaignError."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CampaignError(f"{where}: {value!r} names no columns; write [id] or [id, line]")
    return names


def read_project(answer: Mapping[str, Any], settings: Mapping[str, Any]) -> Project:
    """Returns the project of the driver's answer, without its sources (`with_sources`).

    `settings`: of the TOML file of the user, by `models` and `sources`. Raises CampaignError.
    """
    nodes = {node["id"]: node for node in answer["nodes"]}
    models: dict[str, Model] = {}
    of_user = settings.get("models", {})

    unique = {
        test["parents"][0]: test["arguments"].get("column_name")
        for test in answer["tests"]
        if test["name"] == "unique" and len(test["parents"]) == 1
    }

    def add(id_: str) -> None:
        node = nodes.get(id_)
        if node is None or id_ in models or node["kind"] == "seed":
            return
        for parent in node["parents"]:
            add(parent)
        models[id_] = read_model(node, of_user.get(node["name"], {}), unique.get(id_))

    for id_ in sorted(nodes):
        add(id_)
    # Two packages may have a model of one name.
    named = Counter(model.name for model in models.values())
    for id_, model in models.items():
        if named[model.name] > 1:
            models[id_] = replace(model, name=f"{nodes[id_]['package']}.{model.name}")
    names = {nodes[id_]["name"] for id_ in models}
    if strangers := sorted(set(of_user) - names):
        raise CampaignError(f"the promises name {strangers[0]!r}, which is no model of the project")
    ancestors: dict[str, frozenset[str]] = {}
    for id_, model in models.items():
        above = {*model.parents}
        for parent in model.parents:
            above |= ancestors.get(parent, frozenset())
        ancestors[id_] = frozenset(above)
    chosen = set(answer["selected"])
    # An ephemeral model has no table: it is judged in the models that read it.
    selected = tuple(id_ for id_, m in models.items() if id_ in chosen and m.materialized != "ephemeral")
    if not selected:
        some = any(model.materialized != "ephemeral" for model in models.values())
        what = "that is selected; check --select" if some else "or snapshot; check model-paths, and `enabled`"
        raise CampaignError(f"the project has no model {what}")
    database = DATABASES[answer["profile"]["type"]]
    return Project({}, models, selected, str(answer["dbt"]), ancestors, database)


def _left_out(node: Mapping[str, Any], key: Any) -> str:
    """Returns why a snapshot cannot be judged, or an empty text."""
    if node["kind"] != "snapshot":
        return ""
    named = [key] if isinstance(key, str) else list(key or ())
    if not named or not all(re.fullmatch(r'"?\w+"?', name) for name in named):
        return "its unique_key is no column"
    return ""


def read_model(node: Mapping[str, Any], of_user: Mapping[str, Any], unique: str | None) -> Model:
    """Returns a model of the driver's answer; `unique`: a column that a test says is unique.

    Raises CampaignError: its promises cannot be read.
    """
    config = node["config"]
    where = f"{node['file']}: model {node['name']}"
    meta = declared(node["meta"].get("dvs"), of_user, where, ("promises", "ignore"))
    key = config.get("unique_key") or ()
    left_out = _left_out(node, key)
    names = config.get("snapshot_meta_column_names") or {}
    if config.get("materialized") == "external" and config.get("location"):
        left_out = "it writes a file of its own (`location`)"
    version = node.get("version")
    tested = () if unique is None else (unique.strip('"').lower(),)
    return Model(
        id=node["id"],
        name=node["name"] if version is None else f"{node['name']}.v{version}",
        file=node["file"],
        relation=node["relation"] or "",
        select=node["select"],
        materialized="snapshot" if node["kind"] == "snapshot" else str(config.get("materialized")),
        parents=tuple(node["parents"]),
        key=tuple(name.strip('"').lower() for name in ([key] if isinstance(key, str) else key)) or tested,
        promises=promised(meta.get("promises", []), where),
        declares="promises" in meta,
        ignored=frozenset(name.lower() for name in named_columns(meta.get("ignore", []), where)),
        left_out=left_out,
        event_time=config.get("event_time"),
        batches=config.get("incremental_strategy") == "microbatch",
        outside=node["outside"],
        renamed={str(other).lower(): usual for usual, other in names.items() if other},
        current=str(config.get("dbt_valid_to_current") or ""),
    )


def with_sources(
    project: Project,
    answer: Mapping[str, Any],
    tables: Iterable[Mapping[str, Any]],
    settings: Mapping[str, Any],
) -> Project:
    """Returns the project with its sources, whose columns come from the tables of a script or a database.

    Only sources that selected models are built from are kept. Raises CampaignError: one has no table.
    """
    tables = list(tables)
    wanted = frozenset().union(*(project.ancestors[model] for model in project.selected))
    found: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    for each in [*answer["sources"], *(node for node in answer["nodes"] if node["kind"] == "seed")]:
        if each["id"] in wanted:
            found[each["id"]] = (each, table_of(each, tables))
    names = {each["name"] for each in [*answer["sources"], *answer["nodes"]]}
    if strangers := sorted(set(settings.get("sources", {})) - names):
        raise CampaignError(
            f'the promises name {strangers[0]!r}, which is no source; write [sources."raw.orders"]'
        )
    by_table = {id(table): id_ for id_, (_, table) in found.items()}
    ids = {table["name"].lower(): by_table[id(table)] for _, table in found.values()}
    sources = {
        id_: read_source(each, table, ids, answer["tests"], settings.get("sources", {}))
        for id_, (each, table) in found.items()
    }
    return replace(project, sources=sources)


def table_of(source: Mapping[str, Any], tables: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns the table of a source, by schema and name, or by name alone. Raises CampaignError: none."""
    name = str(source.get("identifier") or source["name"]).lower()
    named = [table for table in tables if table["name"].lower() == name]
    for table in named:
        if table["schema"] == source.get("schema"):
            return table
    if named:
        return named[0]
    if typed := {column: kind for column, kind in (source.get("columns") or {}).items() if kind}:
        columns = [{"name": column, "type": kind, "required": False} for column, kind in typed.items()]
        return {"schema": "", "name": name, "columns": columns, "keys": [], "foreign": [], "checks": []}
    raise CampaignError(
        f"source {source['name']} has no table: write CREATE TABLE {name} (..) into the file of --schema, "
        "name a database that has it by --database, or give its columns a data_type in the project"
    )


def _type(text: str) -> str:
    """Returns a type in upper case, as DuckDB writes it, unless it has names or values whose case matters."""
    return text.upper() if re.fullmatch(r"[\w ]+(\([\d, ]+\))?", text) else text


def read_source(
    each: Mapping[str, Any],
    table: Mapping[str, Any],
    ids: Mapping[str, str],
    tests: Iterable[Mapping[str, Any]],
    of_user: Mapping[str, Any],
) -> Source:
    """Returns a source with its table's columns; tests of the project count as constraints do."""
    keys = [tuple(key) for key in table["keys"]]
    required = {column["name"] for column in table["columns"] if column["required"]}
    # A project may write the names of columns in another case than the database.
    spelled = {column["name"].lower(): column["name"] for column in table["columns"]}
    for test in tests:
        said = test["arguments"].get("combination_of_columns") or [test["arguments"].get("column_name")]
        tested = [spelled.get(str(name).strip('"').lower()) for name in said]
        named = tuple(name for name in tested if name is not None)
        if test["parents"] != [each["id"]] or len(named) < len(tested):
            continue
        if test["name"] in ("unique", "unique_combination_of_columns"):
            keys.append(named)
        elif test["name"] == "not_null":
            required.update(named)
    columns = tuple(
        SourceColumn(column["name"], _type(column["type"]), column["name"] in required)
        for column in table["columns"]
    )
    foreign = tuple(
        ForeignKey(tuple(names), ids[other.lower()], tuple(key))
        for names, other, key in table["foreign"]
        if other.lower() in ids
    )
    where = f"source {each['name']}"
    meta = (each.get("meta") or {}).get("dvs")
    own = declared(meta, of_user.get(each["name"], {}), where, ("clock", "key"))
    if own.get("key"):
        keys.insert(0, tuple(spelled.get(name.lower(), name) for name in named_columns(own["key"], where)))
    source = Source(
        id=each["id"],
        name=each["name"],
        relation=each["relation"],
        columns=columns,
        keys=tuple(dict.fromkeys(keys)),
        foreign=foreign,
        checks=tuple(table["checks"]),
    )
    clock = own.get("clock") or each.get("clock")
    clock = spelled.get(str(clock).lower(), clock)
    for name in (*(name for key in source.keys for name in key), *([clock] if own.get("clock") else [])):
        if name not in source.names:
            raise CampaignError(
                f"source {source.name} has no column {name!r}, which a key or its clock names"
            )
    return replace(source, clock=clock if clock in source.names else None)


def in_order(sources: Sequence[Source]) -> list[Source]:
    """Returns sources after those that their foreign keys refer to; in a circle any order will do."""
    left, done = list(sources), []
    while left:
        names = {source.id for source in left}
        free = [s for s in left if not any(k.target in names and k.target != s.id for k in s.foreign)]
        done += free or left
        left = [source for source in left if source not in done]
    return done
