"""What is found in definitions of users: values, witnesses and goals, and what can never come about."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from campaign.judging.lane import Lane
from campaign.runs.definitions import described
from generators.generate import scenario_at
from generators.given.model import Given
from generators.profiles import SMOKE
from given.read import read_definitions
from given.script import ScriptError
from oracle.duck import open_duckdb
from tests.in_memory import in_memory
from workload.outcomes.results import OutcomeClass
from workload.query import Verbatim

ROOT = Path(__file__).resolve().parents[3]


def given(tmp_path: Path, *statements: str) -> Given:
    """The definitions of a script, typed by the engine."""
    (tmp_path / "a.sql").write_text(";\n".join(statements))
    return read_definitions(tmp_path, described, open_duckdb(), by_duckdb=True)


def values(found: Given, table: str, column: int) -> set[object]:
    """The values that a column is drawn from."""
    known = next(each for each in found.tables if each.table.name == table)
    return {row[0] for domain in known.domains if domain.positions == (column,) for row in domain.values}


def test_a_column_gets_the_constants_that_it_is_compared_with(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (a INT, p DECIMAL(5,2), s STRING, d DATE)",
        "CREATE VIEW v AS SELECT a AS renamed, p * 2 AS twice, s, d FROM t",
        "CREATE DYNAMIC TABLE x AS SELECT renamed FROM v WHERE renamed > 70 AND twice < 9.5 AND s LIKE 'ab%' "
        "AND d >= DATE_ADD(DATE '2020-02-28', 1)",
    )
    assert values(found, "t", 0) >= {69, 70, 71}
    assert values(found, "t", 1) >= {Decimal("9.50"), Decimal("9.49"), Decimal("9.51")}
    assert values(found, "t", 2) >= {"ab", "abx", "xab"}
    assert values(found, "t", 3) >= {dt.date(2020, 2, 28), dt.date(2020, 2, 29), dt.date(2020, 3, 1)}


def test_a_condition_on_the_current_time_is_met_on_both_sides_of_its_boundary(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (a INT, at TIMESTAMP)",
        "CREATE DYNAMIC TABLE x AS SELECT a, at FROM t WHERE at >= current_timestamp() - INTERVAL 2 HOURS",
    )
    begin = dt.datetime.fromtimestamp(found.begin / 1e6, dt.UTC).replace(tzinfo=None)
    boundaries = [begin + dt.timedelta(hours=7 * ticks - 2) for ticks in (0, 4, 8)]
    assert values(found, "t", 1) >= {*boundaries, boundaries[0] - dt.timedelta(microseconds=1)}
    assert found.tick == dt.timedelta(hours=7) / dt.timedelta(microseconds=1)
    timeless = given(tmp_path, "CREATE TABLE t (a INT)", "CREATE DYNAMIC TABLE x AS SELECT a FROM t")
    assert timeless.begin == 0


def test_a_frozen_part_and_its_boundary_are_read(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (k INT, at TIMESTAMP)",
        "CREATE DYNAMIC TABLE x FROZEN_WHERE='at < now() - INTERVAL 1 DAY AND k <> 7' AS SELECT k, at FROM t",
        "CREATE DYNAMIC TABLE y AS SELECT COUNT(*) AS n FROM x",
    )
    assert found.dynamic_tables[0].frozen_where == "at < now() - INTERVAL 1 DAY AND k <> 7"
    assert found.dynamic_tables[0].frozen_condition.startswith('"at" < CURRENT_TIMESTAMP')
    assert values(found, "t", 0) >= {6, 7, 8}
    assert dt.datetime(2023, 12, 31) in values(found, "t", 1)  # noqa: DTZ001
    with pytest.raises(ScriptError, match=r"a.sql, line 2: FROZEN_WHERE cannot be read"):
        given(
            tmp_path,
            "CREATE TABLE t (k INT)",
            "CREATE DYNAMIC TABLE x FROZEN_WHERE = 'k <' AS SELECT k FROM t",
        )


def test_the_engine_is_told_of_a_primary_key(tmp_path: Path) -> None:
    tables = (
        "CREATE TABLE r (k INT PRIMARY KEY, u INT UNIQUE)",
        "CREATE TABLE s (x DOUBLE PRIMARY KEY)",
    )
    found = given(tmp_path, *tables, "CREATE DYNAMIC TABLE d AS SELECT k FROM r CROSS JOIN s")
    assert {each.table.name: each.table.primary_key for each in found.tables} == {"r": ("k",), "s": ()}


@pytest.mark.parametrize("type_", ["INTERVAL", "OBJECT"])
def test_what_reads_a_type_without_random_values_is_not_judged(type_: str, tmp_path: Path) -> None:
    found = given(
        tmp_path,
        f"CREATE TABLE e (id INT, lasts {type_})",
        "CREATE TABLE t (a INT)",
        "CREATE DYNAMIC TABLE x AS SELECT id, CAST(lasts AS STRING) AS who FROM e",
        "CREATE DYNAMIC TABLE y AS SELECT who FROM x JOIN t ON t.a = x.id",
        "CREATE DYNAMIC TABLE z AS SELECT a FROM t",
    )
    assert [each.name for each in found.dynamic_tables] == ["z"]
    assert {name: reason.partition("a.sql, ")[2] for name, reason in found.refused.items()} == {
        "x": f"line 3: its source e has the column lasts of type {type_}, which is not drawn",
        "y": "line 4: it reads x, which cannot be used",
    }


def test_a_column_gets_texts_that_its_functions_tell_apart(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (a STRING, b STRING, c STRING)",
        "CREATE DYNAMIC TABLE x AS SELECT w FROM t LATERAL VIEW explode(split(a, ' ')) AS w "
        "WHERE length(b) > 3",
        "CREATE DYNAMIC TABLE only_spark_knows_it AS SELECT c FROM t WHERE startswith(c, 'EU-')",
    )
    assert values(found, "t", 0) >= {"aa b", "aa "}
    assert values(found, "t", 1) >= {"aaa", "aaaa"}
    assert values(found, "t", 2) >= {"EU-", "EU-x", "xEU-"}


def test_a_check_leaves_only_what_it_allows(tmp_path: Path) -> None:
    table = (
        "CREATE TABLE t (low INT, high INT, n INT NOT NULL, CHECK (low < high), CHECK (n BETWEEN 40 AND 41))"
    )
    found = given(tmp_path, table, "CREATE DYNAMIC TABLE x AS SELECT n FROM t")
    pairs, single = found.tables[0].domains
    assert pairs.positions == (0, 1)
    numbers = [[value for value in row if isinstance(value, int)] for row in pairs.values]
    assert any(len(row) == 2 for row in numbers)
    assert all(row == sorted(set(row)) for row in numbers)
    assert {row[0] for row in single.values} == {40, 41}
    never = "CREATE TABLE t (n INT NOT NULL CHECK (n < 3 AND n > 3))"
    with pytest.raises(ScriptError, match="line 1: no value of n was found that t allows; correct its CHECK"):
        given(tmp_path, never, "CREATE DYNAMIC TABLE x AS SELECT n FROM t")


def test_a_witness_has_a_row_for_each_relation_with_what_joins_them(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (k INT, s STRING, a INT, b INT)",
        "CREATE TABLE u (k INT, n INT)",
        "CREATE VIEW v AS SELECT k, s FROM t WHERE a < b",
        "CREATE DYNAMIC TABLE x AS SELECT v.k FROM v JOIN u ON u.k = v.k WHERE v.s = 'go' AND u.n > 5",
    )
    (witness,) = found.witnesses["x"]
    assert [(row.table, dict(row.values)) for row in witness.rows] == [("t", {"s": "go"}), ("u", {"n": 6})]
    assert witness.equal == (((0, "k"), (1, "k")),)
    assert witness.ascending == (((0, "a"), (0, "b")),)


def labels(found: Given, name: str) -> set[str]:
    """The goals of a definition, without the line."""
    return {goal.label.partition(": ")[2] if goal.line else goal.label for goal in found.goals[name]}


def test_the_goals_are_what_the_text_can_do(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE p (id INT PRIMARY KEY, kind STRING)",
        "CREATE TABLE c (id INT PRIMARY KEY, p INT NOT NULL REFERENCES p (id), n INT)",
        "CREATE DYNAMIC TABLE x AS SELECT p.kind, SUM(CASE WHEN c.n > 3 THEN 1 ELSE 0 END) AS large\n"
        "FROM c JOIN p ON p.id = c.p WHERE p.kind <> 'a' AND c.id > 0 GROUP BY p.kind",
    )
    reached = labels(found, "x")
    assert {
        "WHERE p.kind <> 'a' is TRUE",
        "WHERE p.kind <> 'a' is FALSE",
        "WHERE p.kind <> 'a' is NULL",
        "WHERE c.id > 0 is FALSE",
        "CASE takes WHEN c.n > 3",
        "CASE takes ELSE",
        "join with p: rows match",
        "join with p: a row of p without match",
        "a group that was gone comes back",
        "other values in column large",
        "rows are changed by DELETE of p",
    } <= reached
    # Each row of c refers to a row of p, and a primary key is never NULL.
    assert "join with p: a left row without match" not in reached
    assert "WHERE c.id > 0 is NULL" not in reached
    assert {goal.line for goal in found.goals["x"] if "WHERE" in goal.label} == {4}


def test_what_is_never_null_has_no_goal_of_null(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
        "CREATE VIEW v AS SELECT id, COALESCE(n, 0) - 1 AS less, n FROM t",
        "CREATE DYNAMIC TABLE x AS SELECT CASE WHEN less IS NULL THEN 1 WHEN n IS NULL THEN 2 END AS c "
        "FROM v WHERE id IS NOT NULL AND n IS NOT NULL",
    )
    about = {each for each in labels(found, "x") if "NULL" in each}
    assert about == {
        "CASE takes WHEN v.n IS NULL",
        "WHERE NOT v.id IS NULL is TRUE",
        "WHERE NOT v.n IS NULL is TRUE",
        "WHERE NOT v.n IS NULL is FALSE",
    }


def test_a_sum_of_some_rows_of_a_group_may_be_of_none(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (k INT, n INT NOT NULL)",
        "CREATE DYNAMIC TABLE x AS SELECT k FROM t GROUP BY k "
        "HAVING SUM(n) FILTER (WHERE n > 1) > 2 AND COUNT(*) FILTER (WHERE n > 1) < 9 AND SUM(n) < 99",
    )
    about = {each for each in labels(found, "x") if each.endswith("is NULL")}
    assert about == {"HAVING SUM(t.n) FILTER(WHERE t.n > 1) > 2 is NULL"}


def test_a_goal_names_a_value_that_would_reach_it(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (kind STRING, n INT, d DATE)",
        "CREATE VIEW v AS SELECT kind, n AS size, d FROM t",
        "CREATE DYNAMIC TABLE x AS SELECT size FROM v WHERE kind = 'a' AND size > 3 "
        "AND d < DATE '2024-01-01' AND size <> LENGTH(kind)",
    )
    needed = {goal.label.partition("WHERE ")[2]: goal.needs for goal in found.goals["x"] if goal.needs}
    assert needed == {
        "v.kind = 'a' is TRUE": "t.kind = 'a'",
        "v.kind = 'a' is FALSE": "t.kind = 'aa'",
        "v.size > 3 is TRUE": "t.n = 4",
        "v.size > 3 is FALSE": "t.n = 3",
        "v.d < CAST('2024-01-01' AS DATE) is TRUE": "t.d = DATE '2023-12-31'",
        "v.d < CAST('2024-01-01' AS DATE) is FALSE": "t.d = DATE '2024-01-01'",
    }
    missed = next(goal for goal in found.goals["x"] if goal.needs == "t.n = 4")
    assert missed.unmet == "line 3: WHERE v.size > 3 is TRUE; a row with t.n = 4 can do it"


def test_a_definition_that_cannot_be_judged_takes_none_along(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (a INT)",
        "CREATE DYNAMIC TABLE odd AS SELECT no_such_function(a) AS b FROM t",
        "CREATE DYNAMIC TABLE above AS SELECT b FROM odd",
        "CREATE DYNAMIC TABLE fine AS SELECT a FROM t",
    )
    assert [table.name for table in found.dynamic_tables] == ["fine"]
    assert found.refused.keys() == {"odd", "above"}
    assert found.refused["above"] == f"{tmp_path / 'a.sql'}, line 3: it reads odd, which cannot be used"
    assert found.refused["odd"].startswith(f"{tmp_path / 'a.sql'}, line 2: unsupported: function")
    assert found.refused["odd"].endswith("; Spark may know it: --tier delta")


@pytest.mark.parametrize("item", ["CAST(a AS DECIMAL(10, 2)) / 3", "STDDEV(CAST('2024-01-01' AS DATE))"])
def test_what_only_spark_may_type_names_the_tier_that_asks_it(tmp_path: Path, item: str) -> None:
    tables = {"odd": f"SELECT {item} AS c FROM t", "fine": "SELECT a FROM t"}
    texts = (f"CREATE DYNAMIC TABLE {name} AS {query}" for name, query in tables.items())
    found = given(tmp_path, "CREATE TABLE t (a INT)", *texts)
    assert found.refused["odd"].endswith("; Spark may know it: --tier delta")


def test_what_cannot_be_used_takes_none_along_but_what_reads_it(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (a INT)",
        "CREATE DYNAMIC TABLE fine AS SELECT a FROM t",
        "CREATE TABLE never (a INT PRIMARY KEY CHECK (a > 3 AND a < 3))",
        "CREATE TABLE child (a INT REFERENCES never)",
        "CREATE DYNAMIC TABLE x AS SELECT a FROM y",
        "CREATE DYNAMIC TABLE y AS SELECT a FROM x",
        "CREATE DYNAMIC TABLE torn AS SELECT COUNT(* FROM t",
        "CREATE DYNAMIC TABLE astray AS SELECT a\nFROM missing",
        "CREATE TABLE odd (a INT CHECK (b > 3))",
        *(f"CREATE VIEW over_{name} AS SELECT a FROM {name}" for name in ("child", "y", "torn", "odd")),
    )
    assert [table.name for table in found.dynamic_tables] == ["fine"]
    assert [each.table.name for each in found.tables] == ["t"]
    reasons = {name: reason.partition("a.sql, line ")[2] for name, reason in found.refused.items()}
    assert reasons.pop("never").startswith("3: no value of a was found that never allows; correct its CHECK")
    assert reasons == {
        "child": "4: a foreign key of child names never, which cannot be used; correct that first, "
        "or remove the key",
        "x": "5: x reads y reads x; remove one of these readings",
        "y": "6: y reads x reads y; remove one of these readings",
        "torn": "7: the statement cannot be read: Expecting ), found FROM",
        "astray": "9: astray reads missing, which no script creates; add its CREATE TABLE",
        "odd": "10: table odd has no column b, which a CHECK names",
        "over_child": "11: it reads child, which cannot be used",
        "over_y": "12: it reads y, which cannot be used",
        "over_torn": "13: it reads torn, which cannot be used",
        "over_odd": "14: it reads odd, which cannot be used",
    }


def test_where_none_can_be_judged_all_are_named_with_their_lines(tmp_path: Path) -> None:
    with pytest.raises(
        ScriptError, match=r"^no dynamic table can be judged: .*a\.sql, line 2: unknown column b"
    ):
        given(tmp_path, "CREATE TABLE t (a INT)", "CREATE DYNAMIC TABLE x AS SELECT b FROM t")


def test_hundreds_of_conditions_are_read_and_thousands_are_refused_in_one_line(tmp_path: Path) -> None:
    table = "CREATE TABLE t (a INT)"
    equal = [f"a = {number}" for number in range(400)]
    found = given(tmp_path, table, f"CREATE DYNAMIC TABLE x AS SELECT a FROM t WHERE {' OR '.join(equal)}")
    assert [each.name for each in found.definitions] == ["x"]
    for query in (
        f"SELECT {' + '.join(['a'] * 2000)} AS n FROM t",
        f"SELECT {'(' * 3000}a{')' * 3000} AS n FROM t",
        " UNION ALL ".join(["SELECT a FROM t"] * 400),
    ):
        with pytest.raises(ScriptError, match=r"line 2: the query is nested too deeply; write a long chain"):
            given(tmp_path, table, f"CREATE DYNAMIC TABLE x AS {query}")


def test_a_window_of_time_is_read_and_has_a_text_for_duckdb(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        "CREATE TABLE t (a INT, ts TIMESTAMP)",
        "CREATE DYNAMIC TABLE x AS SELECT window.start, MAX(a) AS m FROM t GROUP BY window(ts, '1 hour')",
    )
    (definition,) = found.definitions
    assert isinstance(definition.query, Verbatim)
    assert definition.query.columns[0][0] == "start"
    assert "window" not in definition.query.translated.lower()


def test_of_a_long_case_only_the_first_branches_are_goals(tmp_path: Path) -> None:
    whens = " ".join(f"WHEN a = {number} THEN {number}" for number in range(100))
    found = given(
        tmp_path, "CREATE TABLE t (a INT)", f"CREATE DYNAMIC TABLE x AS SELECT CASE {whens} END AS n FROM t"
    )
    taken = [goal.label for goal in found.goals["x"] if "CASE takes" in goal.label]
    assert len(taken) == 20
    assert taken[-1].endswith("CASE takes WHEN t.a = 19")


def test_a_mistake_in_a_query_is_not_called_a_wrong_statement(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"line 2: the query behind AS cannot be read: "):
        given(tmp_path, "CREATE TABLE t (a INT)", "CREATE DYNAMIC TABLE x AS SELEC a FROM t")


def test_the_example_is_maintained_incrementally() -> None:
    found = read_definitions(ROOT / "examples" / "your_own", described, open_duckdb(), by_duckdb=True)
    assert len(found.dynamic_tables) == 12
    assert not found.refused
    assert all(found.goals[table.name] for table in found.dynamic_tables)


def test_what_needs_a_primary_key_is_judged_with_one(tmp_path: Path) -> None:
    """Half of all scenarios do not tell the engine of keys; it would refuse these definitions there."""
    found = given(
        tmp_path,
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, x STRING)",
        "CREATE DYNAMIC TABLE newest AS SELECT n, MAX_BY(x, id) AS x FROM t GROUP BY n",
        "CREATE DYNAMIC TABLE last AS SELECT LAST_VALUE(x) OVER (PARTITION BY n ORDER BY id) AS x FROM t",
        "CREATE DYNAMIC TABLE plain AS SELECT n, COUNT(*) AS c FROM t GROUP BY n",
        "CREATE DYNAMIC TABLE over_last AS SELECT x FROM last WHERE x > 'a'",
    )
    assert not found.refused
    assert found.by_key == {"newest", "last"}
    lane = Lane(engine=in_memory())
    told: Counter[bool] = Counter()
    for index in range(30):
        scenario = scenario_at(1, replace(SMOKE, given=found, floors={}, dynamic_tables=(1, 1)), index)
        needed = any(each.name in found.by_key for each in scenario.definitions)
        assert not needed or scenario.tables[0].promises.declared == ("id",)
        told[bool(scenario.tables[0].promises.declared)] += 1
        assert lane.judge(scenario).outcome is OutcomeClass.PASSED
    assert min(told[True], told[False]) > 1
