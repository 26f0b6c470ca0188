"""The driver of dbt in the user's Python, for `campaign.dbt.process`: JSON lines in, JSON lines out.

This file needs dbt, the standard library and Python 3.9 only: the environment of the project decides which
dbt and which DuckDB run. It works on a copy of the profile whose databases lie in a folder of their own, so
that nothing of the user is written.
"""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timezone
from pathlib import Path
from typing import IO, Any

Request = dict[str, Any]
Answer = dict[str, Any]

UTC = timezone.utc
"""`datetime.UTC` exists from Python 3.11 on."""

COMPILED: dict[str, Any] = {
    "compiled": False,
    "compiled_code": None,
    "compiled_path": None,
    "extra_ctes": list,
    "extra_ctes_injected": False,
    "_pre_injected_sql": None,
}
"""The fields of a node that compiling sets, with their values before it."""

OUTSIDE = re.compile(
    r"\b(read_\w+|\w+_scan|glob|open|connect|copy|attach|requests?)\s*\(|\bcopy\s|\battach\s"
    r"|\bfrom\s+'|\b(parquet|csv|json|text|orc)\.`",
    re.IGNORECASE,
)
"""Text of a model, hook or macro that may read what is neither a source nor a model, such as a file."""

DBT_PACKAGES = ("dbt", "dbt_duckdb", "dbt_spark")
"""The packages of dbt itself, and of its adapters."""

TABLE_IN_SCHEMA = (
    r"\bCREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    r"(\"(?:[^\"]|\"\")+\"|\w+)\s*\."
)
"""The begin of a statement that creates a table in a schema; the group is the schema as it is written."""

PLANTED = "dvs stops this run here"
"""The error of a run that is stopped on purpose."""


class Refused(Exception):
    """Raised where the project or the target cannot be used; the text is one line."""


class Statements:
    """A counter of the statements of models in a run, which stops or pauses it at one of them, by number."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self.count = 0
        self.stop_at: int | None = None
        self.pause_at: int | None = None
        self.pause = pause
        self.watched = False

    def before(self, connection: str, error: type[Exception]) -> None:
        """Counts a statement before it runs, or raises `error`; `connection`: its name, that of the model."""
        if not self.watched or not connection.startswith(("model.", "snapshot.")):
            return
        self.count += 1
        if self.count == self.stop_at:
            raise error(PLANTED)
        if self.count == self.pause_at:
            self.pause()


class Driver:
    """One project, opened once; every request is answered by the method that its field `do` names."""

    def __init__(self, read: Callable[[], str], answer: Callable[[Answer], None]) -> None:
        def pause() -> None:
            answer({"paused": True})
            read()

        self.statements = Statements(pause)
        self.manifest: Any = None
        self.common: list[str] = []
        self.vars: str | None = None
        self.now: datetime | None = None
        self.begin: datetime | None = None
        self.database: str | None = None
        self.share: dict[str, str] = {}
        self.profile: Answer = {}
        self.catalogs: list[str] = []

    def open(self, request: Request) -> Answer:
        """Opens a project, and returns as `opened`. `work`: the folder for all that is written."""
        # Modules and the manifest are kept: to look for garbage among them takes a quarter of the time.
        gc.disable()
        try:
            return self.opened(request)
        finally:
            gc.freeze()
            gc.enable()

    def opened(self, request: Request) -> Answer:
        """Parses a project, and returns what the harness needs to know of it. Raises Refused."""
        try:
            from dbt.cli.main import dbtRunner
            from dbt.version import get_installed_version
        except ImportError as error:
            raise Refused(
                f"{sys.executable} has no dbt: {error}; name the Python of your dbt with --dbt-python, or "
                "install dbt-core and dbt-duckdb there"
            ) from error
        os.environ.update(DBT_SEND_ANONYMOUS_USAGE_STATS="false", DO_NOT_TRACK="1")
        spare_what_nobody_sees()
        project, work = Path(request["project"]).resolve(), Path(request["work"])
        if not project.is_dir():
            raise Refused(f"{project}: there is no such folder")
        os.chdir(project)
        self.write_profile(request, project, work)
        self.common = [
            *("--project-dir", str(project), "--profiles-dir", str(work / "profile")),
            *("--target-path", str(work / "target"), "--log-path", str(work / "logs")),
            *("--quiet", "--log-level", "none", "--log-level-file", "none", "--no-version-check"),
            *("--no-use-colors", "--no-write-json"),
            *(("--profile", request["profile"]) if request.get("profile") else ()),
        ]
        self.vars = request.get("vars")
        result = dbtRunner().invoke(["parse", *self.common, *self.given_vars()])
        if not result.success:
            raise Refused(f"dbt cannot read the project: {one_line(result.exception)}")
        self.manifest = with_tables(result.result, self.catalogs)
        self.watch()
        selected = self.invoke(
            ["list", "--output", "json", "--output-keys", "unique_id", *selection(request)]
        )
        if not selected.success:
            raise Refused(f"dbt cannot select: {one_line(selected.exception)}")
        return {
            "dbt": get_installed_version().to_version_string(skip_matcher=True),
            "selected": [json.loads(line)["unique_id"] for line in selected.result],
            **described(self.manifest),
            "database": self.database,
            "profile": self.profile,
            "share": self.share,
        }

    def write_profile(self, request: Request, project: Path, work: Path) -> None:
        """Writes the profile's target with databases in `work`. Raises Refused."""
        import yaml

        try:
            settings = yaml.safe_load((project / "dbt_project.yml").read_text()) or {}
        except OSError as error:
            raise Refused(f"{project} has no dbt_project.yml; name the folder of a dbt project") from error
        except yaml.YAMLError as error:
            raise Refused(f"{project}/dbt_project.yml cannot be read: {place_of(error)}") from error
        name, file, profile = self.user_profile(
            request, project, request.get("profile") or settings.get("profile")
        )
        target = str(request.get("dbt_target") or rendered(profile.get("target")) or "default")
        output = (profile.get("outputs") or {}).get(target)
        if not output:
            others = ", ".join(map(str, profile.get("outputs") or {})) or "none"
            raise Refused(
                f"{file}: the profile {name} has no output {target!r}; name one by --target: {others}"
            )
        output = rendered(output)
        kind = str(output.get("type"))
        if kind not in OUTPUTS:
            raise Refused(
                f"{file}: the target {target} is of the type {kind}, which needs a server or a network; "
                f"add a target of the type {' or '.join(OUTPUTS)}, and name it with --target"
            )
        folder = work / "data"
        folder.mkdir(parents=True, exist_ok=True)
        copied, more = OUTPUTS[kind](output, project, folder, f"{file}: the target {target}")
        self.database = more.pop("database", None)
        self.share = more.pop("share", {})
        self.catalogs = more.pop("catalogs", [])
        facts = {"name": name, "target": target, "type": kind, "schema": output.get("schema")}
        self.profile = {**facts, "profiles": str(file.resolve()), **more}
        (work / "profile").mkdir(exist_ok=True)
        text = yaml.safe_dump({name: {"target": target, "outputs": {target: copied}}})
        (work / "profile" / "profiles.yml").write_text(text)

    def user_profile(self, request: Request, project: Path, name: Any) -> tuple[Any, Path, Answer]:
        """Returns the name of a profile, its file, and what stands there. Raises Refused."""
        import yaml

        given = request.get("profiles_dir")
        usual = [os.environ.get("DBT_PROFILES_DIR"), project, Path.home() / ".dbt"]
        files = [Path(folder) / "profiles.yml" for folder in ([given] if given else usual) if folder]
        file = next((file for file in files if file.is_file()), None)
        if file is None and given:
            raise Refused(f"{given} has no profiles.yml; name another folder by --profiles-dir")
        if file is None:
            raise Refused(f"{project} has no profiles.yml, nor has ~/.dbt; name its folder by --profiles-dir")
        try:
            profile = (yaml.safe_load(file.read_text()) or {}).get(name)
        except yaml.YAMLError as error:
            raise Refused(f"{file} cannot be read: {place_of(error)}") from error
        if not profile:
            if not name:
                raise Refused("dbt_project.yml names no profile; name one by --profile")
            raise Refused(f"{file} has no profile {name!r}; name another one by --profile")
        return name, file, profile

    def watch(self) -> None:
        """Patches dbt: the counter stands before every statement of every adapter; batches end at `now`."""
        from dbt.adapters.sql.connections import SQLConnectionManager
        from dbt_common.exceptions import DbtRuntimeError

        original = SQLConnectionManager.add_query
        statements = self.statements

        def add_query(connections: Any, *args: Any, **named: Any) -> Any:
            statements.before(str(connections.get_thread_connection().name), DbtRuntimeError)
            return original(connections, *args, **named)

        SQLConnectionManager.add_query = add_query
        try:
            from dbt.materializations.incremental.microbatch import MicrobatchBuilder
        except ImportError:  # dbt before 1.9 has no such models
            return
        end_of = MicrobatchBuilder.build_end_time

        def build_end_time(builder: Any) -> Any:
            if self.now is not None:
                builder.default_end_time, builder.model.config.begin = self.now, self.begin
            return end_of(builder)

        # dbt asks for the end of the batches first, and for their start after it.
        MicrobatchBuilder.build_end_time = build_end_time

    def given_vars(self) -> list[str]:
        """Returns the arguments that hold the vars of the next command."""
        return ["--vars", self.vars] if self.vars else []

    def invoke(self, arguments: list[str]) -> Any:
        """Runs a command of dbt on the manifest that was parsed, and returns dbt's result."""
        from dbt.cli.main import dbtRunner

        for node in self.manifest.nodes.values():
            # Clears what the last command compiled; else dbt takes the CTEs of ephemeral models for injected.
            for name, value in COMPILED.items():
                # A seed has them, and cannot be given others.
                if node.resource_type.value != "seed" and hasattr(node, name):
                    setattr(node, name, value() if callable(value) else value)
        return dbtRunner(manifest=self.manifest).invoke([*arguments, *self.common, *self.given_vars()])

    def run(self, request: Request) -> Answer:
        """Runs models, and returns the result of each. `stop_at`, `pause_at`: as in `Statements`.

        `now`, `begin`: the time of the run, and of the first batch of microbatch models. `vars`: of the run.
        """
        if request.get("now"):
            self.now, self.begin = (
                datetime.fromisoformat(request[name]).replace(tzinfo=UTC) for name in ("now", "begin")
            )
            self.vars = request.get("vars")
        self.statements.count = 0
        self.statements.stop_at = request.get("stop_at")
        self.statements.pause_at = request.get("pause_at")
        self.statements.watched = True
        try:
            result = self.invoke([*request["command"], *selection(request)])
        finally:
            self.statements.watched = False
        found = {}
        for each in getattr(result.result, "results", ()):
            found[each.node.unique_id] = {
                "status": str(getattr(each.status, "value", each.status)),
                "message": one_line(each.message or ""),
                "compiled": getattr(each.node, "compiled_code", None),
            }
        message = "" if result.exception is None else one_line(result.exception)
        return {"results": found, "message": message, "statements": self.statements.count}

    def execute(self, request: Request) -> Answer:
        """Executes SQL statements; returns an empty answer."""
        for statement in request["statements"]:
            self.query(statement)
        return {}

    def rows(self, request: Request) -> Answer:
        """Returns by the name of each query its columns and rows, with values as text, or its error."""
        found: Answer = {}
        for name, text in request["queries"].items():
            try:
                columns, rows = self.query(text)
                found[name] = {
                    "columns": columns,
                    "rows": [[text_of(value) for value in row] for row in rows],
                }
            except Exception as error:  # noqa: BLE001  # an answer for each query
                found[name] = {"error": one_line(error)}
        return {"answers": found}

    def query(self, text: str) -> tuple[list[str], list[Any]]:
        """Runs a statement on the target, and returns its columns and rows, empty where it has no result."""
        from dbt.adapters.factory import FACTORY

        adapter = next(iter(FACTORY.adapters.values()))
        # The cursor is closed with the connection.
        with adapter.connection_named("dvs"):
            cursor = adapter.connections.add_query(text, auto_begin=False)[1]
            columns = [each[0] for each in cursor.description or ()]
            return columns, cursor.fetchall() if columns else []

    def target_tables(self, request: Request) -> Answer:
        """Returns the tables of the target: after `dbt seed`, the seeds; on Spark as a script."""
        from dbt.adapters.factory import FACTORY

        del request
        if self.profile["type"] == "spark":
            seeds = [each for each in self.manifest.nodes.values() if each.resource_type.value == "seed"]
            return {"script": "".join(map(self.created, seeds))}
        adapter = next(iter(FACTORY.adapters.values()))
        with adapter.connection_named("dvs"):
            return {"tables": described_tables(adapter.connections.get_thread_connection().handle.cursor())}

    def created(self, seed: Any) -> str:
        """Returns the statement that would create the table of a seed."""
        columns = [f"`{row[0]}` {row[1]}" for row in self.query(f"DESCRIBE {seed.relation_name}")[1]]
        return f"CREATE TABLE {seed.relation_name} ({', '.join(columns)});\n"

    def tables(self, request: Request) -> Answer:
        """Returns the tables of a script (`script`) or of a database file."""
        import duckdb

        if request.get("script"):
            connection = duckdb.connect(":memory:")
            for statement in connection.extract_statements(
                Path(request["script"]).read_text(encoding="utf-8")
            ):
                # Schemas are there already, or made with their tables, whether the script makes them or not.
                if re.match(r"\s*CREATE\s+SCHEMA\b", statement.query, re.IGNORECASE):
                    with suppress(duckdb.CatalogException):
                        connection.execute(statement)
                    continue
                if schema := re.search(TABLE_IN_SCHEMA, statement.query, re.IGNORECASE):
                    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema[1]}")
                connection.execute(statement)
        else:
            connection = duckdb.connect(request["database"], read_only=True)
        with connection:
            return {"tables": described_tables(connection)}


def spare_what_nobody_sees() -> None:
    """Patches dbt so that each command leaves out work that nobody sees, a third of its time; results stay.

    Left out are two searches: one reads the whole call stack for the module that asks for a setting of the
    adapter, which only an event that is not shown names; the other lists every installed library to find
    plugins. Events below warnings, for which no log is open, too. And the comment that dbt renders before
    each statement, unless the project has its own.
    """
    with suppress(ImportError, AttributeError):  # A dbt that is built otherwise stays as it is.
        from dbt.plugins.manager import PluginManager
        from dbt_common.behavior_flags import BehaviorFlagRendered

        BehaviorFlagRendered._default_source = staticmethod(lambda: "")  # noqa: SLF001
        modules = PluginManager.get_prefixed_modules()
        PluginManager.get_prefixed_modules = classmethod(lambda _: modules)
    with suppress(ImportError, AttributeError):
        spare_events()
    with suppress(ImportError, AttributeError):
        spare_comments()


def spare_events() -> None:
    """Patches dbt so that events below warnings are dropped, where no log is open to show them."""
    from dbt_common.events.event_manager import EventManager

    fire = EventManager.fire_event

    def fire_event(manager: Any, e: Any, level: Any = None, node: Any = None, **named: Any) -> None:
        # `named` may ask to take the event for a warning, which may be an error.
        if manager.loggers or any(named.values()) or (level or e.level_tag()).value not in ("debug", "info"):
            fire(manager, e, level, node, **named)

    EventManager.fire_event = fire_event


def spare_comments() -> None:
    """Patches dbt to leave out its own comment on statements; a project's may have an error to show."""
    from dbt.adapters.base.query_headers import MacroQueryStringSetter
    from dbt.adapters.contracts.connection import DEFAULT_QUERY_COMMENT

    comment_of = MacroQueryStringSetter._get_comment_macro  # noqa: SLF001

    def own_comment(setter: Any) -> Any:
        comment = comment_of(setter)
        return None if comment == DEFAULT_QUERY_COMMENT else comment

    MacroQueryStringSetter._get_comment_macro = own_comment  # noqa: SLF001


def duckdb_output(output: Answer, project: Path, folder: Path, where: str) -> tuple[Answer, Answer]:
    """Returns a copy of a target on DuckDB with databases in a folder, and facts on it. Raises Refused."""
    path = str(output.get("path") or ":memory:")
    if path.startswith("md:") or output.get("is_ducklake") or output.get("remote"):
        raise Refused(f"{where} needs a network; add one with a local path")
    # A database in memory belongs to one process, so two runs at once cannot share it.
    facts: Answer = {"file": "memory.duckdb", "memory": path == ":memory:"}
    if path != ":memory:":
        real = Path(path) if Path(path).is_absolute() else project / path
        facts.update(file=Path(path).name, database=str(real) if real.is_file() else None)
        path = str(folder / Path(path).name)
    attached = []
    for number, each in enumerate(output.get("attach") or ()):
        stem = Path(str(each.get("path"))).stem
        attached.append(
            {"path": str(folder / f"attached{number}.duckdb"), "alias": each.get("alias") or stem}
        )
    copied = {**output, "path": path, "threads": 1, "external_root": str(folder), "keep_open": True}
    if attached:
        copied["attach"] = attached
    catalogs = [Path(path).stem if path != ":memory:" else "memory", *(each["alias"] for each in attached)]
    facts["settings"] = bool(set(output) - {"type", "path", "schema", "threads"})
    return copied, {**facts, "scripts": not attached, "catalogs": catalogs}


def spark_output(output: Answer, project: Path, folder: Path, where: str) -> tuple[Answer, Answer]:
    """Starts or joins a local session of Spark; returns a copy of the target, and facts. Raises Refused."""
    del project
    if output.get("method") != "session":
        raise Refused(f"{where} needs a server; add one with `method: session`")
    settings = {str(name): str(value) for name, value in (output.get("server_side_parameters") or {}).items()}
    if not settings.get("spark.master", "local").startswith("local"):
        raise Refused(f"{where} names the server {settings['spark.master']}; leave out spark.master")
    try:
        share = joined_session() if "PYSPARK_GATEWAY_PORT" in os.environ else new_session(settings, folder)
    except ImportError as error:
        raise Refused(f"{sys.executable}: {error}; install pyspark there (dbt-spark[session])") from error
    except Exception as error:  # whatever pyspark raises where there is no Java, or a setting is wrong
        raise Refused(f"{where}: Spark does not start: {one_line(error)}; is there a Java?") from error
    # The session has them; dbt would set them again before each statement.
    copied = {**output, "threads": 1, "server_side_parameters": {}}
    return copied, {"file": "", "memory": False, "scripts": True, "share": share}


def new_session(settings: dict[str, str], folder: Path) -> dict[str, str]:
    """Starts a session with tables in a folder; returns variables by which another process joins it."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(settings.get("spark.master", "local[2]"))
    of_folder = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in {**SMALL_SPARK, **settings, **of_folder}.items():
        builder = builder.config(name, value)
    gateway: Any = builder.getOrCreate().sparkContext._gateway  # noqa: SLF001  # there is no public way
    parameters = gateway.gateway_parameters
    return {
        "PYSPARK_GATEWAY_PORT": str(parameters.port),
        "PYSPARK_GATEWAY_SECRET": str(parameters.auth_token),
    }


def joined_session() -> dict[str, str]:
    """Opens a session in the JVM of another process, with the same tables; returns no variables."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway = launch_gateway()  # type: ignore[no-untyped-call,unused-ignore]
    jvm: Any = gateway.jvm
    context = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(
        jvm.org.apache.spark.SparkContext.getOrCreate()
    )
    own = SparkContext(gateway=gateway, jsc=context, conf=SparkConf(_jconf=context.getConf()))
    # Temporary views belong to a session, and both runs name theirs alike.
    SparkSession._instantiatedSession = SparkSession(own).newSession()  # noqa: SLF001  # nor here
    return {}


SMALL_SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.timezone=UTC",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # Each statement is new and has a few rows: nothing to compile, to adapt or to distribute.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""Settings for tiny tables; those of the profile come after them."""

OUTPUTS = {"duckdb": duckdb_output, "spark": spark_output}
"""By the type of a target that needs no network and no server: the function that copies it."""


def place_of(error: Any) -> str:
    """Returns what is wrong in a YAML file and where, without its text, which may hold a password."""
    mark = getattr(error, "problem_mark", None)
    place = "" if mark is None else f" in line {mark.line + 1}, column {mark.column + 1}"
    return f"{getattr(error, 'problem', None) or 'it is no YAML'}{place}"


def rendered(value: Any) -> Any:
    """Returns a value of a profile with `{{ env_var(..) }}` replaced. Raises Refused: one is not set."""
    import jinja2

    def env_var(name: str, default: str | None = None) -> str:
        found = os.environ.get(name, default)
        if found is None:
            raise Refused(f"the profile reads the environment variable {name}, which is not set; set it")
        return found

    if isinstance(value, dict):
        return {key: rendered(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rendered(part) for part in value]
    if isinstance(value, str) and "{" in value:
        environment = jinja2.Environment()
        environment.filters.update(
            dict.fromkeys(("as_number", "as_bool", "as_native", "as_text"), lambda v: v)
        )
        return environment.from_string(value).render(env_var=env_var)
    return value


def selection(request: Request) -> list[str]:
    """Returns the arguments that select models."""
    chosen = ["--select", *request["select"]] if request.get("select") else []
    return [*chosen, *(["--exclude", *request["exclude"]] if request.get("exclude") else [])]


CONFIG_SHOWN = (
    "materialized",
    "unique_key",
    "incremental_strategy",
    "event_time",
    "location",
    "dbt_valid_to_current",
    "snapshot_meta_column_names",
    "meta",
)
"""The configuration of a model that the harness reads."""


def described(manifest: Any) -> Answer:
    """Returns what the harness needs to know of models, snapshots, seeds, sources and their tests."""
    nodes, tests = [], []
    hooks = [each for each in manifest.nodes.values() if each.resource_type.value == "operation"]
    everywhere = any(OUTSIDE.search(each.raw_code) for each in hooks)
    for node in manifest.nodes.values():
        kind = node.resource_type.value
        if kind in ("model", "snapshot", "seed"):
            nodes.append(described_node(manifest, node, kind, everywhere))
        elif kind == "test" and getattr(node, "test_metadata", None) is not None:
            arguments = {k: v for k, v in node.test_metadata.kwargs.items() if isinstance(v, (str, list))}
            parents = [
                each for each in node.depends_on.nodes if each.startswith(("source.", "seed.", "model."))
            ]
            tests.append({"name": node.test_metadata.name, "arguments": arguments, "parents": parents})
    sources = [described_source(source) for source in manifest.sources.values()]
    return {"nodes": nodes, "sources": sources, "tests": tests}


def described_node(manifest: Any, node: Any, kind: str, everywhere: bool) -> Answer:
    """Returns a model, a snapshot or a seed; `everywhere`: a hook of the project reads other data."""
    config = node.config.to_dict()
    return {
        "id": node.unique_id,
        "kind": kind,
        "name": node.name,
        "package": node.package_name,
        "version": getattr(node, "version", None),
        "file": node.original_file_path,
        "language": getattr(node, "language", "sql"),
        "relation": node.relation_name,
        "select": "fqn:" + ".".join(node.fqn),
        "parents": list(node.depends_on.nodes) if kind != "seed" else [],
        "text": getattr(node, "raw_code", ""),
        "outside": kind != "seed" and (everywhere or reads_outside(manifest, node, config)),
        "config": {key: config.get(key) for key in CONFIG_SHOWN},
        "meta": {**(config.get("meta") or {}), **(getattr(node, "meta", None) or {})},
    }


def described_source(source: Any) -> Answer:
    """Returns a source: its relation, its columns, and the column that says when a row was loaded."""
    return {
        "id": source.unique_id,
        "name": f"{source.source_name}.{source.name}",
        "schema": source.schema,
        "identifier": source.identifier,
        "relation": source.relation_name,
        "schema_relation": source.relation_name.rpartition(".")[0],
        "clock": getattr(source.config, "event_time", None) or source.loaded_at_field,
        "columns": {name: column.data_type for name, column in source.columns.items()},
        "meta": {
            **((source.config.meta if hasattr(source.config, "meta") else None) or {}),
            **(source.meta or {}),
        },
    }


def with_tables(manifest: Any, catalogs: list[str]) -> Any:
    """Returns the manifest with a table for each source in files or of a plugin of dbt-duckdb.

    Trials write rows into tables, which they could not into the user's files. `catalogs`: those that the
    target has, its own first: a source in another one, such as that of a production target, is in it too.
    """
    for source in manifest.sources.values():
        config = source.config
        metas = [
            source.meta,
            source.source_meta,
            *(getattr(config, each, None) or {} for each in ("meta", "extra")),
        ]
        found = [meta.pop(name) for meta in metas for name in ("external_location", "plugin") if name in meta]
        elsewhere = bool(catalogs) and str(source.database).lower() not in [c.lower() for c in catalogs]
        if elsewhere:
            source.database = catalogs[0]
        if found or elsewhere:
            source.relation_name = f'"{source.database}"."{source.schema}"."{source.identifier}"'
    return manifest


def reads_outside(manifest: Any, node: Any, config: Answer) -> bool:
    """Returns whether a node, its hooks or the project's macros that it calls may read what is no source."""
    hooks = [str(each) for name in ("pre-hook", "post-hook") for each in config.get(name) or ()]
    texts, names, seen = [node.raw_code, *hooks], list(node.depends_on.macros), set()
    while names:
        macro = manifest.macros.get(names.pop())
        # Those of dbt and of its adapters name such functions, and call them for what a model asks for.
        if macro is not None and macro.unique_id not in seen and macro.package_name not in DBT_PACKAGES:
            seen.add(macro.unique_id)
            texts.append(macro.macro_sql)
            names.extend(macro.depends_on.macros)
    return any(OUTSIDE.search(text) for text in texts)


def described_tables(connection: Any) -> list[Answer]:
    """Returns every table of a DuckDB connection with its columns and constraints."""
    tables: dict[tuple[str, str], Answer] = {}
    for schema, name, column, kind, nullable in connection.execute(
        "SELECT schema_name, table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
        "WHERE NOT internal AND database_name = current_database() ORDER BY table_oid, column_index"
    ).fetchall():
        table = tables.setdefault(
            (schema, name),
            {"schema": schema, "name": name, "columns": [], "keys": [], "foreign": [], "checks": []},
        )
        table["columns"].append({"name": column, "type": kind, "required": not nullable})
    cursor = connection.execute("SELECT * FROM duckdb_constraints() WHERE database_name = current_database()")
    names = [each[0] for each in cursor.description]
    for values in cursor.fetchall():
        row = dict(zip(names, values))  # noqa: B905  # Python 3.9 has no `strict`
        of = tables.get((row["schema_name"], row["table_name"]))
        kind, columns = row["constraint_type"], list(row["constraint_column_names"] or ())
        if of is None:
            continue
        if kind in ("PRIMARY KEY", "UNIQUE"):
            of["keys"].append(columns)
        elif kind == "FOREIGN KEY":
            of["foreign"].append([columns, row["referenced_table"], list(row["referenced_column_names"])])
        elif kind == "CHECK":
            of["checks"].append(row["constraint_text"])
    return list(tables.values())


def text_of(value: Any) -> str | None:
    """Returns a value as text; of floats 12 digits, because sums may differ in their last ones."""
    if value is None:
        return None
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, (datetime, date)):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return str(value)


def one_line(error: object) -> str:
    """Returns a message on one line, cut between two words after 400 characters."""
    text = " ".join(str(error).split())
    return text if len(text) <= 400 else text[:400].rpartition(" ")[0] + " ..."


def main() -> None:
    """Answers the requests on stdin on stdout; what dbt prints goes to stderr.

    Ctrl-C reaches all processes of a terminal. The harness ends this one, by the end of its input.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    answers: IO[str] = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def answer(content: Answer) -> None:
        answers.write(json.dumps(content, default=str) + "\n")
        answers.flush()

    driver = Driver(sys.stdin.readline, answer)
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        try:
            answer(getattr(driver, request["do"])(request))
        except Refused as error:
            answer({"refused": str(error)})
        except Exception as error:  # noqa: BLE001  # whatever dbt, the adapter or the database raise
            answer({"broken": f"{type(error).__name__}: {one_line(error)}"})


if __name__ == "__main__":
    main()
