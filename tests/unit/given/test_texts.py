"""Smaller texts of a definition that fails, and the operators in one."""

from __future__ import annotations

import pytest

from given.texts import operators_in, smaller_texts
from workload.query import Named, Verbatim
from workload.schema import Column
from workload.types import INT

SALES = (Column("id", INT), Column("shop", INT), Column("price", INT))
SHOPS = (Column("shop_id", INT), Column("town", INT))
KNOWN = {"sales": SALES, "shops": SHOPS}


def texts(text: str, *columns: str, whole: bool = True) -> list[str]:
    query = Verbatim(
        text, "", (Named("sales", "sales"), Named("shops", "shops")), tuple((c, INT) for c in columns)
    )
    return [smaller.text for smaller in smaller_texts(query, KNOWN, columns=whole)]


def test_a_condition_less() -> None:
    assert texts("SELECT id FROM sales WHERE id > 1 AND (price > 2 OR shop = 3)", "id") == [
        "SELECT id FROM sales",
        "SELECT id FROM sales WHERE id > 1",
        "SELECT id FROM sales WHERE (price > 2 OR shop = 3)",
        "SELECT id FROM sales WHERE id > 1 AND (price > 2)",
        "SELECT id FROM sales WHERE id > 1 AND (shop = 3)",
    ]


def test_a_join_goes_with_its_conditions() -> None:
    cut = texts(
        "SELECT s.id FROM sales AS s JOIN shops AS t ON s.shop = t.shop_id WHERE town > 2 AND price > 1", "id"
    )
    assert "SELECT s.id FROM sales AS s WHERE price > 1" in cut


def test_a_source_that_is_not_read_any_more_is_none() -> None:
    query = Verbatim(
        "SELECT s.id FROM sales AS s LEFT JOIN shops AS t ON s.shop = t.shop_id",
        "",
        (Named("sales", "sales"), Named("shops", "shops")),
        (("id", INT),),
    )
    (smaller,) = smaller_texts(query, KNOWN, columns=True)
    assert smaller.sources == (Named("sales", "sales"),)
    assert smaller.translated == "SELECT s.id FROM sales AS s"


def test_an_output_column_goes_with_its_type_unless_somebody_reads_it() -> None:
    text = "SELECT id, price * 2 AS double FROM sales"
    query = Verbatim(text, "", (Named("sales", "sales"),), (("id", INT), ("double", INT)))
    assert [(each.text, each.columns) for each in smaller_texts(query, KNOWN, columns=True)] == [
        ("SELECT id FROM sales", (("id", INT),)),
        ("SELECT price * 2 AS double FROM sales", (("double", INT),)),
    ]
    assert texts(text, "id", "double", whole=False) == []


def test_clauses_and_what_stands_inside() -> None:
    cte, grouped = "WITH c AS (SELECT id, shop FROM sales)", "GROUP BY shop, id HAVING COUNT(*) > 1"
    cut = texts(f"{cte} SELECT DISTINCT shop FROM c {grouped} ORDER BY shop", "shop")
    for expected in (
        f"SELECT DISTINCT shop FROM c {grouped} ORDER BY shop",
        f"{cte} SELECT shop FROM c {grouped} ORDER BY shop",
        f"{cte} SELECT DISTINCT shop FROM c {grouped}",
        f"{cte} SELECT DISTINCT shop FROM c GROUP BY shop, id ORDER BY shop",
        f"{cte} SELECT DISTINCT shop FROM c GROUP BY shop HAVING COUNT(*) > 1 ORDER BY shop",
        f"WITH c AS (SELECT shop FROM sales) SELECT DISTINCT shop FROM c {grouped} ORDER BY shop",
    ):
        assert expected in cut


def test_what_a_star_shows_and_what_using_merges_stays() -> None:
    """Without it another type or number of columns would look like a failure of the engine."""
    assert (
        texts("SELECT * FROM (SELECT id, shop FROM sales) AS s JOIN shops AS t ON s.shop = t.shop_id", "id")
        == []
    )
    assert texts("SELECT shop_id FROM sales FULL JOIN shops USING (shop_id)", "shop_id") == []


def test_what_has_a_type_of_its_parts_stays() -> None:
    assert texts("SELECT CASE WHEN id = 1 THEN 1 WHEN id = 2 THEN 2 END AS x FROM sales", "x") == []
    assert texts("SELECT id FROM sales UNION ALL SELECT shop FROM sales", "id") == []


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("SELECT a FROM r JOIN s ON r.k = s.k LEFT JOIN t USING (k)", ["inner join", "left join"]),
        (
            "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s) AND a NOT IN (SELECT b FROM s)",
            ["anti join", "filter", "semi join"],
        ),
        ("SELECT a, COUNT(*) FROM r GROUP BY a HAVING COUNT(*) > 1", ["filter", "grouped aggregation"]),
        ("SELECT COUNT(*) OVER (PARTITION BY a) FROM r", ["window"]),
        ("SELECT MAX(a) FROM r", ["scalar aggregation"]),
        ("SELECT a FROM r GROUP BY CUBE (a)", ["grouping sets"]),
        ("SELECT DISTINCT a FROM r UNION ALL SELECT a FROM s", ["distinct", "union all"]),
        ("SELECT a FROM r EXCEPT SELECT a FROM s", ["except"]),
        ("SELECT a FROM r LEFT ANTI JOIN s ON r.k = s.k CROSS JOIN t", ["anti join", "cross join"]),
        ("SELECT a FROM r ORDER BY a LIMIT 3", ["limit"]),
        ("SELECT WHERE FROM", []),
    ],
)
def test_the_operators_of_a_text(text: str, operators: list[str]) -> None:
    assert sorted(operators_in(text)) == operators
