"""The table of tiers and adapters: where scenarios can run, by the names of the command line."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from engines import asking
from engines.adapter import Adapter, Capabilities
from engines.engine import Engine
from engines.errors import EngineError, shown
from engines.limits import common_limits
from engines.variant import Variant
from workload.lift.kind import Lifting
from workload.limits import Limits

ADAPTER = "adapter:"
"""`adapter:NAME` is the tier of a registered adapter, or of `module:class`."""

Start = Callable[[Variant, bool], Engine]
"""(variant of the built-in engine, whether the campaign lasts many minutes) -> an engine that runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """An engine and how campaigns run it.

    `what`: the engine in words, for `--help`. `processes`: whether workers are processes; otherwise they are
    threads, because one JVM serves all. `chunk`: how many scenarios a worker takes at once. `workers`: how
    many there are by default. `attempts`: how many runs shrinking one failure may take. `lifting`: the one
    that suits the engine. `attributed_on`: the tier on which a divergence is attributed, where this tier's
    third vote is the engine's own. `built_in`: whether faults can be planted in the engine. `least`: the
    scenarios that a run by time must have judged for a verdict; the slower the tier, the fewer.
    """

    start: Start
    what: str
    processes: bool = False
    chunk: int = 1
    workers: int = 2
    attempts: int
    lifting: Lifting = Lifting.NONE
    attributed_on: str | None = None
    built_in: bool = True
    least: int = 20


def _in_memory(variant: Variant, lasting: bool) -> Engine:
    # Imported here and below: an engine loads what it needs when it starts.
    from engines.in_memory import InMemoryPlatform

    return Engine.started(lambda: InMemoryPlatform(variant))


def _on_spark(delta: bool, stock: bool, variant: Variant, lasting: bool) -> Engine:
    """Starts the engine with Delta tables or with snapshots in memory. `stock`: by Spark's stock settings."""
    from dynamic_tables.session import Settings
    from engines.spark.on_delta import DeltaPlatform
    from engines.spark.on_spark import SparkPlatform

    tuned = Settings.LASTING if lasting else Settings.TUNED
    start = DeltaPlatform.start if delta else SparkPlatform.start
    return Engine.started(lambda: start(Settings.STOCK if stock else tuned, variant))


def _of_adapter(name: str, variant: Variant, lasting: bool) -> Engine:
    adapter = find_adapter(name)
    adapter.ready()
    return Engine.of(adapter)


TIERS: dict[str, Tier] = {
    "rules": Tier(
        start=_in_memory,
        what="the engine's plans on DuckDB, in memory",
        processes=True,
        chunk=4,
        attempts=400,
        attributed_on="spark",
        least=100,
    ),
    "spark": Tier(
        start=partial(_on_spark, False, False),
        what="the engine's plans on Spark, over snapshots in memory",
        workers=4,
        attempts=60,
        lifting=Lifting.INTERVALS,
        least=50,
    ),
    "spark-stock": Tier(
        start=partial(_on_spark, False, True),
        what="the same by Spark's stock settings, as production runs",
        workers=4,
        attempts=30,
        lifting=Lifting.INTERVALS,
    ),
    "delta": Tier(
        start=partial(_on_spark, True, False),
        what="the whole engine on real Delta tables",
        attempts=30,
    ),
    "delta-stock": Tier(
        start=partial(_on_spark, True, True), what="the same by Spark's stock settings", attempts=15
    ),
}
"""The tiers of the built-in engine."""

ADAPTERS: Mapping[str, str] = {
    "built-in": "engines.in_memory:InMemory",
    "pg_ivm": "engines.others.pg_ivm:PgIvm",
    "mariadb": "engines.others.mariadb:MariaDb",
    "pathway": "engines.others.pathway.tables:Pathway",
    "flink": "engines.others.flink:Flink",
    "postgres": "engines.others.postgres:Postgres",
    "db_ivm": "engines.others.db_ivm:DbIvm",
    "duckdb": "engines.others.duckdb_views:DuckDb",
    "duckdb_file": "engines.others.duckdb_views:DuckDbFile",
    "lancedb": "engines.others.lancedb_views:LanceDb",
    "pipelines": "engines.others.pipelines:Pipelines",
    "sail": "engines.others.sail:Sail",
    "sqlite": "engines.others.sqlite:Sqlite",
    "sqlite_triggers": "engines.others.sqlite:SqliteTriggers",
    "tanstack_db": "engines.others.tanstack_db:TanstackDb",
    "trickle": "engines.others.trickle:Trickle",
    "turso": "engines.others.turso:Turso",
    "zql": "engines.others.zql:Zql",
}
"""The adapters that come with the harness: name -> `module:class`, loaded when it is used."""


def find_tier(name: str) -> Tier:
    """Returns the tier of a name of the command line. Raises EngineError for an unknown name."""
    if name.startswith(ADAPTER):
        start = partial(_of_adapter, name.removeprefix(ADAPTER))
        # In processes, because an engine that crashes takes its process with it.
        return Tier(start=start, what="another engine", processes=True, attempts=200, built_in=False)
    if name not in TIERS:
        raise EngineError(f"no tier {name!r}; there are: {', '.join(TIERS)}, {ADAPTER}NAME")
    return TIERS[name]


def find_adapter(name: str) -> type[Adapter]:
    """Loads the adapter of a registered name, or of `module:class`.

    Raises EngineError where there is no such adapter, module or class.
    """
    module, _, attribute = located(name).partition(":")
    if not attribute:
        names = ", ".join(ADAPTERS)
        raise EngineError(f"no adapter {name!r}; there are: {names}; for your own write module:class")
    try:
        adapter = getattr(importlib.import_module(module), attribute, None)
    except ImportError as error:
        raise EngineError(f"adapter {name!r}: {error}; is its folder in PYTHONPATH?") from error
    except Exception as error:
        raise EngineError(f"adapter {name!r}: importing {module} raised {shown(error)}") from error
    if not (isinstance(adapter, type) and issubclass(adapter, Adapter)):
        raise EngineError(f"adapter {name!r}: {module} has no class {attribute} derived from Adapter")
    if missing := sorted(adapter.__abstractmethods__):
        raise EngineError(f"adapter {name!r}: {attribute} lacks the methods {', '.join(missing)}")
    capabilities = getattr(adapter, "capabilities", None)
    if not (isinstance(capabilities, Capabilities) and isinstance(capabilities.limits, Limits)):
        raise EngineError(
            f"adapter {name!r}: {attribute} has no `capabilities`; write "
            "`capabilities = Capabilities(dialect=..., limits=Limits(...))` in the class"
        )
    return adapter


def located(name: str) -> str:
    """Returns `module:class` of an adapter's name."""
    return ADAPTERS.get(name, name)


def limits_of(*tiers: str) -> Limits:
    """Returns the common limits of some tiers' engines. Raises EngineError as `find_adapter` does."""
    names = [tier.removeprefix(ADAPTER) for tier in tiers if tier.startswith(ADAPTER)]
    return common_limits(limits_of_adapter, *names)


def limits_of_adapter(name: str) -> Limits:
    """Returns the limits that an adapter gives. Raises EngineError as `find_adapter` does."""
    adapter = find_adapter(name)
    return asking.limits_of(adapter, adapter.capabilities)
