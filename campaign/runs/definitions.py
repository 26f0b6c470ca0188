"""Reads given definitions, SQL that somebody else wrote, into the profile of a campaign.

`given` parses the scripts, and an engine says which columns each definition has. The profile then draws data
and statements for these tables, in place of random definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec
from dynamic_tables.definition import BaseTable
from dynamic_tables.errors import DefinitionError, DynamicTablesError
from dynamic_tables.explain import Explanation, explain
from dynamic_tables.plan.types import Type
from dynamic_tables.reading.text.relations import Relations
from dynamic_tables.reading.values.passed import TypeOf
from dynamic_tables.store.names.statements import column_type
from engines.engine import Engine
from engines.errors import EngineError
from generators.given.model import Given
from generators.profiles import Profile
from generators.random_documents import random_documents
from given.facts import names_in
from given.frequencies import Frequencies, Sample
from given.read import Describe, Described, NothingToJudge, read_definitions
from given.script import ScriptError, WrittenDefinition
from oracle.delta_reader import frequencies
from oracle.duck import open_duckdb
from oracle.errors import OracleError
from workload.errors import WorkloadError, first_line
from workload.schema import Column, Table
from workload.sql import Dialect, no_rows, type_name
from workload.types import parse_type

Known = Mapping[str, Table]
"""The relations that a definition may read, by name, views as tables."""

MOST_FREQUENT = 24
"""How many values of a column in a user's table are counted: the most frequent ones."""


class ValuesFrom(Enum):
    """Where random rows over definitions take their values from.

    RANDOM: from the scripts alone. SAMPLE: from them too, but each as often as the account's tables hold
    theirs. SHOWN: the account's most frequent values as well, which scenarios and reports then show.
    """

    RANDOM = "random"
    SAMPLE = "sample"
    SHOWN = "sample, shown"


def values_from(values: str, definitions: str | None, *, shown: bool = False) -> ValuesFrom:
    """Returns what `--values` and `--show-values` ask for. Raises CampaignError: they do not go together."""
    sample = ValuesFrom.SAMPLE.value
    if values not in (ValuesFrom.RANDOM.value, sample):
        raise CampaignError(f"values is {values!r}; choose random or {sample}")
    if values == sample and definitions is None:
        raise CampaignError("values are sampled from the tables of an account; name it by --definitions")
    if shown and values != sample:
        raise CampaignError("--show-values shows values that are sampled; add --values sample")
    return ValuesFrom.SHOWN if shown else ValuesFrom(values)


def over_definitions(
    profile: Profile, path: str, floor: int, spec: LaneSpec, values: ValuesFrom = ValuesFrom.RANDOM
) -> Profile:
    """Returns the profile whose scenarios have the definitions at a path in place of random ones.

    The only floors are then those of the definitions: each must have `floor` percent of its goals reached. On
    Spark, Spark says which columns the definitions have; elsewhere the built-in engine does. Raises
    CampaignError naming the file and the line of what cannot be used.
    """
    describe = partial(_asked, spec.build().engine) if spec.asks_spark else described
    given = _read(path, describe, by_duckdb=not spec.asks_spark, values=values)
    return replace(profile, given=given, goal_floor=floor, floors={})


def over_random_documents(profile: Profile, seed: int, spec: LaneSpec) -> Profile:
    """Returns the profile with random definitions over documents if it asks for them; others as they are.

    No floor is set: a random definition may have goals that no row reaches. Raises CampaignError: the tier
    does not judge documents.
    """
    if not profile.documents:
        return profile
    if not spec.tier.startswith("delta"):
        raise CampaignError(
            f"profile {profile.name} draws documents, which Delta alone judges; add --tier delta"
        )
    with TemporaryDirectory() as folder:
        script = Path(folder, "documents.sql")
        script.write_text(random_documents(seed, profile.documents), encoding="utf-8")
        return over_definitions(profile, str(script), 0, spec)


def _read(path: str, describe: Describe, *, by_duckdb: bool, values: ValuesFrom = ValuesFrom.RANDOM) -> Given:
    """Returns the definitions at a path. `describe`: gives the columns of one. Raises CampaignError."""
    try:
        with scripts_at(Path(path)) as (place, tables), open_duckdb() as connection:
            if values is not ValuesFrom.RANDOM and not tables:
                raise CampaignError(
                    f"{path}: there are no tables whose values could be sampled; give the folder of an "
                    "account, or leave out --values"
                )
            sample = (
                None if values is ValuesFrom.RANDOM else sampled(tables, shown=values is ValuesFrom.SHOWN)
            )
            return read_definitions(place, describe, connection, by_duckdb=by_duckdb, sample=sample)
    except ScriptError as error:
        raise CampaignError(str(error)) from error


@contextmanager
def scripts_at(path: Path) -> Iterator[tuple[Path, Mapping[str, Path]]]:
    """Yields the path of the scripts, and the folders of base tables by name. No row is read.

    For the folder of an account, the script is written from its definitions; for other paths there are no
    tables. Raises CampaignError: the account cannot be read.
    """
    if not path.is_dir() or not any(path.glob("*/_delta_log")) or any(path.rglob("*.sql")):
        yield path, {}
        return
    # Imported here: scripts need neither an account nor Spark.
    from dynamic_tables.account import Account
    from dynamic_tables.schedule.clock import WallClock
    from dynamic_tables.session import open_session
    from dynamic_tables.store.spark.on_demand import on_demand

    with TemporaryDirectory() as folder:
        place = Path(folder, f"{path.resolve().name}.sql")
        try:
            account = Account.open(str(path), on_demand(open_session), WallClock())
            place.write_text(account.script(), encoding="utf-8")
            tables = {
                name.lower(): Path(definition.path or path / name)
                for name, definition in account.store.definitions().items()
                if isinstance(definition, BaseTable)
            }
        except DynamicTablesError as error:
            raise CampaignError(f"{path}: {error}") from error
        yield place, tables


def sampled(tables: Mapping[str, Path], *, shown: bool) -> Sample:
    """Returns how often each value is in the columns of Delta tables. Raises CampaignError.

    `shown`: whether scenarios may show these values.
    """
    try:
        return {
            name: {
                column: Frequencies(nulls, rows, shown)
                for column, (nulls, rows) in frequencies(folder, MOST_FREQUENT).items()
            }
            for name, folder in tables.items()
        }
    except OracleError as error:
        raise CampaignError(str(error)) from error


def explanations(
    path: str, type_of: TypeOf | None = None
) -> tuple[dict[str, Explanation], Mapping[str, str]]:
    """Returns how the engine would maintain each dynamic table at a path, and why some cannot be used.

    One that the engine cannot read is not incremental, with the reason. `type_of`: gives the types of
    expressions that the engine does not know, as Spark does. Raises CampaignError.
    """
    found: dict[str, Explanation] = {}

    def noted(written: WrittenDefinition, known: Known) -> Described:
        explanation = _explained(written, known, type_of)
        if not written.view:
            found[written.name] = explanation
        return _as_described(explanation)

    try:
        given = _read(path, noted, by_duckdb=False)
        refused = given.refused
        wrong: Mapping[str, str] = {name: refused[name] for name in refused if name in given.wrong}
    except CampaignError as error:
        # What cannot be judged is explained all the same.
        if not (found and isinstance(error.__cause__, NothingToJudge)):
            raise
        refused, wrong = {}, error.__cause__.wrong
    for name in refused:
        if name not in found and name not in wrong:
            found[name] = Explanation(incremental=False, reason=refused[name], sources=())
    return found, wrong


def _asked(engine: Engine, written: WrittenDefinition, known: Known) -> Described:
    """Returns the columns that an engine gives a definition over empty tables, or its error."""

    def text(dialect: Dialect) -> str:
        # CTEs without rows stand for the tables that the definition reads, so no table is needed.
        read = ((name, known[name]) for name in names_in(written.tree) if name in known)
        empty = [f"{name} AS ({no_rows(table.columns, dialect)})" for name, table in read]
        return f"WITH {', '.join(empty)} SELECT * FROM ({written.text}) AS q"

    try:
        return Described(tuple(engine.columns_of(text) or ()))
    except EngineError as error:
        return Described(reason=first_line(error))


UNREAD = " (and refused, if Spark cannot read it either)"


def described(written: WrittenDefinition, known: Known) -> Described:
    """Returns the columns that the engine gives a definition, or why it cannot read it without Spark."""
    found = _as_described(_explained(written, known))
    more = "; Spark may know it: --tier delta"
    asks = found.reason.startswith("unsupported: ") or found.reason.endswith(UNREAD)
    return replace(found, reason=found.reason + more) if asks else found


def _explained(written: WrittenDefinition, known: Known, type_of: TypeOf | None = None) -> Explanation:
    """Returns the engine's explanation of a definition; one that it cannot read is not incremental."""
    try:
        return explain(written.text, relations(known), changes=False, type_of=type_of)
    except DefinitionError as error:
        # Spark, which was not asked for the whole text, may read what the engine does not.
        reason = f"{error}{UNREAD}"
        return Explanation(incremental=False, reason=reason, sources=())


def _as_described(explanation: Explanation) -> Described:
    """Returns the columns of an explanation as the harness writes them, or why there are none."""
    if not explanation.columns:
        return Described(reason=explanation.reason or "the engine knows no types for its columns")
    try:
        return Described(
            tuple(Column(name.lower(), parse_type(str(type_))) for name, type_ in explanation.columns)
        )
    except WorkloadError as error:
        return Described(reason=str(error))


def relations(known: Known) -> Relations:
    """Returns relations as the engine takes them: views, too, as tables, with the declared keys."""

    def typed(column: Column) -> tuple[str, Type]:
        return column.name, column_type(column.name, type_name(column.type, Dialect.SPARK))

    return {
        name: BaseTable(name, tuple(map(typed, table.columns)), key=table.primary_key)
        for name, table in known.items()
    }
