"""A small project for tests that need no dbt: orders of customers, and a model over both."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from random import Random

from campaign.dbt.drawing import Drawing
from campaign.dbt.kinds import promised
from campaign.dbt.project import ForeignKey, Model, Project, Source, SourceColumn
from campaign.dbt.rows import Domains

BASE = dt.date(2024, 1, 1)

CUSTOMERS = Source(
    id="source.shop.raw.customers",
    name="raw.customers",
    relation='"shop"."main"."customers"',
    columns=(SourceColumn("id", "INTEGER", True), SourceColumn("country", "VARCHAR", False)),
    keys=(("id",),),
)
ORDERS = Source(
    id="source.shop.raw.orders",
    name="raw.orders",
    relation='"shop"."main"."orders"',
    columns=(
        SourceColumn("id", "INTEGER", False),
        SourceColumn("customer_id", "INTEGER", False),
        SourceColumn("amount", "DECIMAL(10,2)", False),
        SourceColumn("updated_at", "TIMESTAMP", False),
    ),
    foreign=(ForeignKey(("customer_id",), CUSTOMERS.id, ("id",)),),
    clock="updated_at",
)


def model(name: str, *parents: str, promises: list[object] | None = None, key: str = "id") -> Model:
    """An incremental model; `promises`: None declares none."""
    return Model(
        id=f"model.shop.{name}",
        name=name,
        file=f"models/{name}.sql",
        relation=f'"shop"."main"."{name}"',
        select=f"fqn:shop.{name}",
        materialized="incremental",
        parents=parents,
        key=(key,),
        promises=promised(promises or [], "here"),
        declares=promises is not None,
    )


BY_COUNTRY = model("by_country", ORDERS.id, CUSTOMERS.id)

SHOP = Project(
    sources={CUSTOMERS.id: CUSTOMERS, ORDERS.id: ORDERS},
    models={BY_COUNTRY.id: BY_COUNTRY},
    selected=(BY_COUNTRY.id,),
    ancestors={BY_COUNTRY.id: frozenset({CUSTOMERS.id, ORDERS.id})},
)


def drawing(
    seed: int, source: Source = ORDERS, project: Project = SHOP, constants: Mapping[str, Sequence[str]] = {}
) -> Drawing:
    """Draws trials on a source whose rows are told apart by `id`; `constants`: of its columns."""
    domains, keys = Domains(BASE, constants), {source.id: ("id",)}
    return Drawing(Random(seed), project, source, keys, domains, {source.id: frozenset({"id"})})
