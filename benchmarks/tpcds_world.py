"""The queries of TPC-DS, and small tables over which most of them have rows.

Queries and columns are those of sqlglot's tests, which are in its source archive on PyPI. The tables are made
here: a column that a query compares with constants has these constants among its values.
"""

from __future__ import annotations

import ast
import datetime as dt
import random
import re
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import sqlglot
from sqlglot import exp

Schema = Mapping[str, Mapping[str, str]]
"""Table -> column -> type of Spark."""

Value = None | int | str | Decimal | dt.date
Rows = list[dict[str, Value]]

FIRST_DAY, DAYS, FIRST_DATE_KEY = dt.date(1998, 1, 1), 1826, 2_450_815
DIMENSIONS = {
    "date_dim": DAYS,
    "time_dim": 200,
    "item": 60,
    "store": 6,
    "customer": 150,
    "customer_address": 80,
    "customer_demographics": 120,
    "household_demographics": 60,
    "income_band": 20,
    "promotion": 8,
    "reason": 5,
    "ship_mode": 8,
    "warehouse": 4,
    "web_page": 6,
    "web_site": 4,
    "call_center": 4,
    "catalog_page": 20,
}
"""Rows of each table that the others refer to."""

REFERENCES = {
    "time_sk": "time_dim",
    "addr_sk": "customer_address",
    "cdemo_sk": "customer_demographics",
    "hdemo_sk": "household_demographics",
    "promo_sk": "promotion",
    **{f"{table}_sk": table for table in DIMENSIONS if not table.endswith(("_dim", "graphics", "_address"))},
}
"""End of a column's name -> the table that the column refers to."""

RETURNS = {
    "store_returns": ("store_sales", "sr", "ss", "ticket_number"),
    "catalog_returns": ("catalog_sales", "cr", "cs", "order_number"),
    "web_returns": ("web_sales", "wr", "ws", "order_number"),
}
"""Table of returns -> the sales that come back, the prefixes of both, and the number of a sale."""


def archive(folder: Path) -> Path:
    """Returns the tests of sqlglot's source archive, downloaded from PyPI into a folder."""
    name = f"sqlglot-{version('sqlglot')}"
    if not (folder / f"{name}.tar.gz").exists():
        wanted = ["sqlglot==" + version("sqlglot"), "--no-binary", "sqlglot", "--no-deps", "--quiet"]
        subprocess.run([sys.executable, "-m", "pip", "download", *wanted, "--dest", str(folder)], check=True)
    with tarfile.open(folder / f"{name}.tar.gz") as file:
        file.extractall(folder, filter="data")
    return folder / name / "tests"


def queries(tests: Path) -> Mapping[str, str]:
    """Returns the 99 queries in Spark's words, by number.

    LIMIT is left out with its ORDER BY, which leaves rows equal: any of them would be right. Output columns
    whose names a Delta table cannot have, or which two columns have, get other names.
    """
    text = (tests / "fixtures/optimizer/tpc-ds/tpc-ds.sql").read_text(encoding="utf-8")
    found = {}
    for part in re.split(r"^-{10,}\n-- TPC-DS ", text, flags=re.MULTILINE)[1:]:
        number, rest = part.split("\n", 1)
        lines = (line for line in rest.splitlines() if not line.startswith(("--", "#")))
        tree = sqlglot.parse_one("\n".join(lines).split(";")[0])
        if tree.args.get("limit"):
            tree.set("limit", None)
            tree.set("order", None)
        for name in tree.find_all(exp.Identifier):
            name.set("this", re.sub(r"^(?=\d)", "d", re.sub(r"[ ,;{}()\n\t=-]", "_", name.this)))
        names = [item.output_name for item in tree.selects]
        if len(set(names)) < len(names) and isinstance(tree, exp.Select):
            tree.set("order", None)
            tree.set(
                "expressions", [exp.alias_(item.unalias(), f"c{i}") for i, item in enumerate(tree.selects)]
            )
        found[number.strip()] = tree.sql(dialect="spark")
    return found


def schema(tests: Path) -> Schema:
    """Returns the columns of the 24 tables, prices as DECIMAL(7,2)."""
    module = ast.parse((tests / "helpers.py").read_text(encoding="utf-8"))
    (raw,) = (
        ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "TPCDS_SCHEMA"
    )
    return {table: {name: _type(name, kind) for name, kind in of.items()} for table, of in raw.items()}


def _type(name: str, kind: str) -> str:
    if name == "d_date" or name.endswith(("rec_start_date", "rec_end_date")):
        return "date"
    if kind in ("string", "varchar"):
        return "string"
    return "decimal(7,2)" if kind == "double" else kind


def tables(seed: int, columns: Schema, texts: Iterable[str], facts: int) -> Mapping[str, Rows]:
    """Returns the rows of all tables; `facts`: of each table of sales."""
    draw, constants = random.Random(seed), _constants(texts)
    rows = {
        table: [_row(draw, table, of, number, constants) for number in range(_rows(table, facts))]
        for table, of in columns.items()
    }
    for returned, (sold, mine, theirs, numbered) in RETURNS.items():
        for row in rows[returned]:
            sale = draw.choice(rows[sold])
            for name in ("item_sk", "customer_sk", numbered):
                if f"{mine}_{name}" in row and f"{theirs}_{name}" in sale:
                    row[f"{mine}_{name}"] = sale[f"{theirs}_{name}"]
    return rows


def _rows(table: str, facts: int) -> int:
    return DIMENSIONS.get(table, facts * 3 // 8 if table in RETURNS else facts)


def _constants(texts: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Returns what the queries compare each column with."""
    found: dict[str, set[str]] = defaultdict(set)
    kinds = (exp.EQ, exp.In, exp.Between, exp.LT, exp.GT, exp.LTE, exp.GTE)
    for text in texts:
        for node in sqlglot.parse_one(text, dialect="spark").find_all(*kinds):
            read = list(node.find_all(exp.Column))
            if len(read) == 1:
                found[read[0].name.lower()].update(each.this for each in node.find_all(exp.Literal))
    return {name: sorted(values) for name, values in found.items()}


def _row(
    draw: random.Random,
    table: str,
    columns: Mapping[str, str],
    number: int,
    constants: Mapping[str, Sequence[str]],
) -> dict[str, Value]:
    row: dict[str, Value] = _day(number) if table == "date_dim" else {}
    for place, (name, kind) in enumerate(columns.items()):
        if name in row:
            continue
        if place == 0 and table in DIMENSIONS:
            row[name] = number + 1
        elif name.endswith("_id") and kind == "string":
            row[name] = f"ID{number // 2 if table in ('item', 'store', 'web_site') else number:06}"
        elif name.endswith(("order_number", "ticket_number")):
            row[name] = number // 4
        else:
            row[name] = None if draw.random() < 0.03 else _value(draw, name, kind, constants.get(name, ()))
    return {name: row[name] for name in columns}


def _value(draw: random.Random, name: str, kind: str, constants: Sequence[str]) -> Value:
    if name.endswith("_sk"):
        if "date_sk" in name:
            return FIRST_DATE_KEY + draw.randrange(DAYS)
        referred = next((table for end, table in REFERENCES.items() if name.endswith(end)), None)
        return draw.randint(1, DIMENSIONS.get(referred or "", 50))
    if "zip" in name:
        return draw.choice([each for each in constants if len(each) == 5] or ["24128"])
    match kind:
        case "string":
            return draw.choice([*constants, *constants, "A", "B"])
        case "date":
            return FIRST_DAY + dt.timedelta(days=draw.randrange(DAYS))
        case "bigint":
            whole = [int(float(each)) for each in constants if re.fullmatch(r"-?\d+(\.\d+)?", each)]
            return draw.choice([*whole, *range(1, 12)])
        case _:
            zone = name.endswith("offset")
            return Decimal(draw.choice([-5, -6, -7])) if zone else Decimal(draw.randrange(30_000)) / 100


def _day(number: int) -> dict[str, Value]:
    """Returns the columns of date_dim that follow from the day."""
    day = FIRST_DAY + dt.timedelta(days=number)
    quarter, since = (day.month - 1) // 3, day.year - 1900
    return {
        "d_date_sk": FIRST_DATE_KEY + number,
        "d_date": day,
        "d_month_seq": since * 12 + day.month - 1,
        "d_week_seq": 5100 + number // 7,
        "d_quarter_seq": since * 4 + quarter,
        "d_year": day.year,
        "d_dow": (day.weekday() + 1) % 7,
        "d_moy": day.month,
        "d_dom": day.day,
        "d_qoy": quarter + 1,
        "d_day_name": day.strftime("%A"),
        "d_quarter_name": f"{day.year}Q{quarter + 1}",
    }
