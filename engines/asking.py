"""Asks an engine which queries it maintains: `Limits(asks=True)`.

The author of an adapter need not know all that the engine refuses. A query is offered to a new database of
the engine, over empty tables; a scenario keeps it only if the engine takes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from engines.adapter import Capabilities, Unsupported
from engines.engine import Open, opened
from engines.errors import shown
from engines.watchdog import cut_after
from engines.working_time import ENGINE_WORKS
from workload import query as ir
from workload.limits import Limits
from workload.scenario import DynamicTable
from workload.schema import Column, Promises, Table
from workload.sql import create_table_text, render_query
from workload.types import INT

KEPT = 10_000
"""Answers that are kept: shrinking asks for one query again and again."""

ASK_LIMIT_S = 60.0
"""Seconds after which a question is interrupted: an engine may hang on a query, and no budget ends that."""


def limits_of(database: Open, capabilities: Capabilities) -> Limits:
    """Returns the limits of an adapter; where they say so, the engine is asked for each query.

    `database`: opens an empty database, such as the class of the adapter.
    """
    limits = capabilities.limits
    if not limits.asks:
        return limits

    def gap(query: ir.Query) -> str | None:
        return limits.gap(query) or refusal(database, capabilities, query)

    return replace(limits, gap=gap, asks=False)


@lru_cache(KEPT)
def refusal(database: Open, capabilities: Capabilities, query: ir.Query) -> str | None:
    """Returns the engine's message where it refuses a query; None: it takes the query, or fails otherwise.

    What fails otherwise is no refusal: it fails again when the scenario is judged, where it is reported. A
    query that is given as text is not offered, because the columns of its tables are not known here.
    """
    if any(isinstance(node, ir.Verbatim) for node in ir.row_sources(query)):
        return None
    dialect, keyed = capabilities.dialect, capabilities.limits.keys
    try:
        with opened(database) as engine, cut_after(ASK_LIMIT_S, engine.interrupt), ENGINE_WORKS:
            for table in tables_of(query, keyed=keyed):
                engine.create_table(table, create_table_text(table, dialect, keyed=keyed))
            engine.advance(1)
            engine.create_dynamic_table(DynamicTable("asked", query), render_query(query, dialect))
    except Unsupported as error:
        return str(error).strip().partition("\n")[0] or "the engine refuses it"
    except BaseException as error:  # noqa: BLE001  # an engine raises what its platform does
        shown(error)
    return None


def tables_of(query: ir.Query, *, keyed: bool) -> Iterator[Table]:
    """Yields the tables that a query reads, with the columns that it reads; `keyed`: and with a key, `id`."""
    parts = list(ir.walk(query))
    aliases = {part.alias: part.name for part in parts if isinstance(part, ir.Named)}
    columns: dict[str, dict[str, Column]] = {name: {} for name in ir.names_read(query)}
    for part in parts:
        name = aliases.get(part.relation) if isinstance(part, ir.ColumnRef) else None
        if isinstance(part, ir.ColumnRef) and name in columns:
            columns[name][part.name] = Column(part.name, part.type)
    for name, read in columns.items():
        if keyed or not read:
            read.setdefault("id", Column("id", INT))
        promises = Promises(keys=(("id",),), required=("id",)) if keyed else Promises()
        yield Table(name, tuple(read.values()), promises)
