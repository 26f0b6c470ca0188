"""Texts in the styles of people."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.ir import agg, call, columns, count_star, derived, join, named, select, table, window
from workload.query import (
    Call,
    ColumnRef,
    Exploded,
    Expr,
    Frame,
    FrameUnit,
    Grouping,
    JoinKind,
    Limited,
    Literal,
    Query,
    Relation,
    SortKey,
    UnionAll,
)
from workload.schema import Column
from workload.types import BIGINT, DATE, INT, TINYINT, array_of
from workload.writing import written_query

NAMES = {"r": ["k", "a"], "s": ["k", "b"]}
r, s = columns(table("r", k=INT, a=INT)), columns(table("s", k=INT, b=INT))


def texts(query: Query, names: dict[str, list[str]]) -> str:
    """The query in two hundred styles, in lower case."""
    return "\n".join(written_query(query, style, names) for style in range(1, 200)).lower()


def joined_on_k(kind: JoinKind) -> Query:
    return select({"k": r["k"]}, join(kind, named("r"), named("s"), on=call("eq", r["k"], s["k"])))


def test_natural_stands_for_an_equation_of_all_shared_names() -> None:
    assert "natural join" in texts(joined_on_k(JoinKind.INNER), NAMES)
    assert "natural left outer join" in texts(joined_on_k(JoinKind.LEFT), NAMES)


def test_natural_is_not_written_where_it_would_equate_more() -> None:
    written = texts(joined_on_k(JoinKind.INNER), {"r": ["k", "a"], "s": ["k", "a"]})
    assert "natural" not in written
    assert "using" in written


GROUPS = select({"k": s["k"], "n": count_star()}, named("s"), group_by=[s["k"], s["b"]])
g = columns((Column("k", INT), Column("n", BIGINT)), "g")


def test_exists_asks_for_groups_that_are_tied_to_the_row() -> None:
    """What is compared with a key is a condition of WHERE, with an aggregate one of HAVING."""
    on = call("and", call("eq", r["k"], g["k"]), call("gt", g["n"], r["a"]))
    written = texts(select({"k": r["k"]}, join(JoinKind.ANTI, named("r"), derived(GROUPS, "g"), on)), NAMES)
    tied = (
        r"not exists \(select \S+( s\.b)? from s where r\.k ={1,2} s\.k "
        r"group by s\.k, s\.b having count\(\*\) > r\.a\)"
    )
    assert re.search(tied, re.sub(r"[`\s]+", " ", written))


def test_a_scalar_subquery_may_be_tied_by_an_inequality() -> None:
    """Groups of the different values of a column: the subquery is computed for each value."""
    again = columns(table("r", k=INT, a=INT), "m")
    values = select({"x": again["k"]}, named("r", "m"), distinct=True)
    v, sums = columns((Column("x", INT),), "v"), columns((Column("x", INT), Column("n", BIGINT)), "t")
    both = join(JoinKind.INNER, derived(values, "v"), named("s"), on=call("le", s["k"], v["x"]))
    groups = select({"x": v["x"], "n": agg("SUM", s["b"])}, both, group_by=[v["x"]])
    beside = join(JoinKind.LEFT, named("r"), derived(groups, "t"), on=call("same", r["k"], sums["x"]))
    query = select({"a": r["a"], "n": sums["n"]}, beside)
    written = re.sub(r"[`\s]+", " ", texts(query, NAMES))
    assert re.search(r"\(select sum\(s\.b\) from s where s\.k <= r\.k\)", written)
    other = replace(query, source=replace(beside, on=call("same", r["a"], sums["x"])))
    assert "(select sum(s.b)" not in re.sub(r"[`\s]+", " ", texts(other, NAMES))


def found(pattern: str, query: Query, names: dict[str, list[str]] = NAMES) -> bool:
    """Whether some style of the query has a text like that, blanks and quotes aside."""
    return re.search(pattern, re.sub(r"[`\s]+", " ", texts(query, names))) is not None


def test_windows_that_are_alike_may_have_one_name() -> None:
    order = [r["k"], r["a"]]
    items: dict[str, Expr] = {
        "k": r["k"],
        "n": window("row_number", order=order),
        "m": window("rank", order=order),
    }
    query = select(items, named("r"))
    assert found(r"row_number\(\) over w0 .*rank\(\) over \(?w0\)?.* from r window w0 as \(order by", query)
    other = {**items, "m": window("rank", partition=[r["a"]], order=order)}
    assert found(r"over w0 .*over w1 .*window w0 as .*, w1 as \(partition by", select(other, named("r")))


def test_days_of_a_frame_may_be_an_interval() -> None:
    t, names = columns(table("t", d=DATE, a=INT)), {"t": ["d", "a"]}
    days = Frame(FrameUnit.RANGE, -2, 0)
    summed = window("SUM", t["a"], order=[t["d"]], frame=days)
    assert found(
        r"range interval '?2'? days? preceding", select({"n": summed}, named("t")), {"t": ["d", "a"]}
    )
    rows = replace(summed, frame=Frame(FrameUnit.ROWS, -2, 0))
    assert not found("interval", select({"n": rows}, named("t")), names)


def test_grouping_may_be_a_bit_of_grouping_id() -> None:
    grouping = Grouping(r["k"], TINYINT)
    block = select({"k": r["k"], "g": grouping}, named("r"), group_by=[r["k"], r["a"]])
    query = replace(block, sets=((0, 1), (0,), ()))
    assert found(r"cast\(if\(grouping_id\((k, a|r\.k, r\.a)?\) >= 2, 1, 0\) as tinyint\)", query)
    lowest = replace(block, items=(*block.items[:1], replace(block.items[1], expr=Grouping(r["a"], TINYINT))))
    assert found(r"grouping_id\((k, a)?\) % 2", replace(lowest, sets=((0, 1), (0,), ())))


def test_in_may_compare_several_columns() -> None:
    pairs = call("eq", r["k"], s["k"]), call("eq", r["a"], s["b"])

    def members(kind: JoinKind, first: Expr, second: Expr) -> Query:
        return select({"k": r["k"]}, join(kind, named("r"), named("s"), call("and", first, second)))

    assert found(r"where \(r\.k, r\.a\) in \(select s\.k, s\.b from s\)", members(JoinKind.SEMI, *pairs))
    never_false = [call("not", call("is_false", pair)) for pair in pairs]
    pattern = r"\(r\.k, r\.a\) not in"
    assert found(rf"{pattern} \(select s\.k, s\.b from s\)", members(JoinKind.ANTI, *never_false))
    assert not found(pattern, members(JoinKind.ANTI, never_false[0], pairs[1]))


SUMS = select({"k": r["k"], "n": agg("SUM", r["a"])}, named("r"), group_by=[r["k"]])
of_sums = columns((Column("k", INT), Column("n", BIGINT)), "g")


def test_whether_there_is_a_group_may_be_asked_by_in_as_a_condition_of_case() -> None:
    counts = select(
        {"k": s["k"], "n": count_star()}, named("s"), where=call("gt", s["b"], 1), group_by=[s["k"]]
    )
    beside = join(JoinKind.LEFT, named("r"), derived(counts, "g"), call("eq", r["k"], g["k"]))
    query = select({"a": r["a"], "e": call("is_not_null", g["n"])}, beside)
    inside = r"(r\.)?k in \(select (s\.)?k from s where (s\.)?b > 1\)"
    assert found(rf"case when {inside} then true else false end", query)
    assert found(rf"if\({inside}, true, false\)", query)
    missing = replace(query, items=(query.items[0], replace(query.items[1], expr=call("is_null", g["n"]))))
    assert found(rf"case when {inside} then false else true end", missing)


def test_a_membership_of_the_right_side_may_be_a_condition_of_on() -> None:
    """That of the left side is none: rows without a match stay, and others are left out."""
    q = columns(table("q", k=INT), "q")
    names = {**NAMES, "q": ["k"]}

    def joined(kind: JoinKind, items: dict[str, Expr], membership: JoinKind = JoinKind.SEMI) -> Query:
        members = join(membership, named("s"), named("q"), call("eq", s["k"], q["k"]))
        right, m = select(items, members), columns((Column("x", INT),), "m")
        beside = join(kind, named("r"), derived(right, "m"), call("eq", r["k"], m["x"]))
        return select({"a": r["a"], "x": m["x"]}, beside)

    whole = joined(JoinKind.LEFT, {"x": s["k"]})
    right = r"from r left (outer )?join \(select (s\.)?k (as )?x from s\) (as )?m( \(x\))? on "
    assert found(
        rf"{right}r\.k ={{1,2}} m\.x and exists \(select \S+ from q where m\.x ={{1,2}} q\.k\)", whole, names
    )
    assert found(rf"{right}m\.x in \(select q\.k from q\) and", whole, names)
    without = joined(JoinKind.LEFT, {"x": s["k"]}, JoinKind.ANTI)
    assert found(rf"{right}not exists", without, names)
    assert not found(r" on [^()]*not in", without, names)
    for other in (joined(JoinKind.FULL, {"x": s["k"]}), joined(JoinKind.LEFT, {"x": s["b"]})):
        assert not found(r"\) (as )?m( \(x\))? on [^()]*\b(exists|in) \(select", other, names)


def test_groups_whose_keys_are_compared_may_ask_in_having() -> None:
    on = call("eq", of_sums["k"], s["k"])
    members = join(JoinKind.ANTI, derived(SUMS, "g"), named("s"), on)
    query = select({"n": of_sums["n"]}, members, where=call("gt", of_sums["n"], 1))
    groups = r"select sum\((r\.)?a\) (as )?n from r group by \S+"
    assert found(rf"{groups} having .*not exists \(select \S+ from s where r\.k", query)
    of_sum = join(JoinKind.ANTI, derived(SUMS, "g"), named("s"), call("eq", of_sums["n"], s["k"]))
    assert not found("having", select({"n": of_sums["n"]}, of_sum))


def test_the_one_group_of_a_row_may_be_read_by_a_subquery() -> None:
    beside = join(JoinKind.LEFT, named("s"), derived(SUMS, "g"), call("eq", s["k"], of_sums["k"]))
    query = select({"b": s["b"], "n": of_sums["n"]}, beside)
    assert found(r"\(select g\.n from \(select .* group by [^()]+\) (as )?g where g\.k ={1,2} s\.k\)", query)
    partly = replace(SUMS, group_by=(r["k"], r["a"]))
    other = select({"n": of_sums["n"]}, replace(beside, right=derived(partly, "g")))
    assert not found(r"\(select g\.n from \(", other)


def test_the_first_rows_of_each_key_may_be_lateral_with_a_limit() -> None:
    place = window("row_number", partition=[s["k"]], order=[s["b"]])
    first = replace(select({"k": s["k"], "b": s["b"]}, named("s")), qualify=call("le", place, 2))
    f = columns((Column("k", INT), Column("b", INT)), "f")
    beside = join(JoinKind.LEFT, named("r"), derived(first, "f"), call("eq", r["k"], f["k"]))
    query = select({"a": r["a"], "b": f["b"]}, beside)
    rows = r"select .* from s where s\.k ={1,2} r\.k order by \S+ (asc |nulls first )?limit 2"
    assert found(rf"from r left (outer )?join lateral \({rows}\) (as )?f on true", query)
    of_all = replace(beside, on=call("eq", r["a"], f["b"]))
    assert not found(r"lateral \([^()]* limit", replace(query, source=of_all))


def test_any_inner_or_left_join_may_be_lateral() -> None:
    beside = join(JoinKind.LEFT, named("r"), named("s"), call("eq", r["k"], s["k"]))
    query = select({"a": r["a"], "b": s["b"]}, beside)
    rows = r"select (\*|s\.\*|s\.\w+(, s\.\w+)*) from s"
    left = r"from r left (outer )?join lateral"
    assert found(rf"{left} \({rows} where r\.k ={{1,2}} s\.k\) (as )?s on true", query)
    assert found(rf"{left} \({rows}\) (as )?s on r\.k ={{1,2}} s\.k", query)
    inner = select({"a": r["a"]}, replace(beside, kind=JoinKind.INNER))
    assert found(rf"from r (inner |cross )?join lateral \({rows} where r\.k ={{1,2}} s\.k\) (as )?s", inner)
    for kind in (JoinKind.RIGHT, JoinKind.FULL):
        assert not found("lateral", select({"a": r["a"]}, replace(beside, kind=kind)))


def test_the_aggregates_of_a_join_may_be_lateral() -> None:
    beside = join(JoinKind.LEFT, named("s"), derived(SUMS, "g"), call("eq", s["k"], of_sums["k"]))
    query = select({"b": s["b"], "n": of_sums["n"]}, beside)
    values = r"lateral \(select sum\((r\.)?a\) as n from r where r\.k ={1,2} s\.k\) (as )?g"
    assert found(rf"from s, {values}", query)
    assert found(rf"from s left (outer )?join {values} on true", query)


def test_a_value_of_one_side_may_stand_in_on() -> None:
    most = select({"m": agg("MAX", r["k"])}, named("r"), group_by=())
    m, v = columns((Column("m", INT),), "m"), columns((Column("x", INT),), "v")
    chosen = select(
        {"x": s["k"]},
        join(JoinKind.CROSS, named("s"), derived(most, "m"), None),
        where=call("eq", s["k"], m["m"]),
    )
    for kind, sides in ((JoinKind.LEFT, ("r", "v")), (JoinKind.RIGHT, ("v", "r"))):
        both: dict[str, Relation] = {"r": named("r"), "v": derived(chosen, "v")}
        beside = join(kind, both[sides[0]], both[sides[1]], call("eq", r["k"], v["x"]))
        query = select({"a": r["a"], "x": v["x"]}, beside)
        assert found(r" on .*v\.x ={1,2} \(select max\((r\.)?k\) from r\)", query)


def test_a_union_of_columns_may_be_unpivot() -> None:
    k, a = (
        select({"n": name, "v": r[name]}, named("r"), where=call("is_not_null", r[name]))
        for name in ("k", "a")
    )
    listed = r"\(c0 (as )?k, c1 (as )?a\)"
    whole = rf"select n as n, v as v from \(.*\) unpivot( exclude nulls)? \(v for n in {listed}\)"
    assert found(whole, UnionAll((k, a)))
    assert not found("unpivot", UnionAll((k, k)))
    assert not found("unpivot", UnionAll((k, replace(a, where=None))))


def test_no_join_below_grouping_sets_merges_columns() -> None:
    """Spark 4.2 fails on `GROUP BY r.a WITH ROLLUP` over `r LEFT JOIN s USING (k)` where s.k is read."""
    joined = join(JoinKind.LEFT, named("r"), named("s"), on=call("eq", r["k"], s["k"]))
    grouped = select({"n": agg("MIN", s["k"])}, joined, group_by=[r["a"]])
    assert found("using|natural", grouped)
    assert not found("using|natural", replace(grouped, sets=((0,), ())))


def test_rollup_may_follow_the_keys() -> None:
    keys = (r["k"], r["a"])
    query = replace(select({"k": r["k"]}, named("r"), group_by=keys), sets=((0, 1), (0,), ()))
    assert found(r"group by (r\.)?k, (r\.)?a with rollup", query)


def test_elements_may_be_structs_that_inline_takes_apart() -> None:
    both = Call("array", (r["k"], r["a"]), array_of(INT))
    exploded = Exploded(named("r"), both, "e", False, False)
    query = select({"k": r["k"], "x": ColumnRef("e", "col", INT)}, exploded)
    assert found(r"inline\(array\(struct\(r\.k as col\), named_struct\('col', r\.a\)\)\)", query)
    assert not found("inline", replace(query, source=replace(exploded, position=True)))


def test_elements_that_a_condition_reads_are_not_in_the_select_list() -> None:
    both = Call("array", (r["k"], r["a"]), array_of(INT))
    element = ColumnRef("e", "col", INT)
    exploded = Exploded(named("r"), both, "e", False, False)
    members = join(JoinKind.SEMI, exploded, named("s"), call("eq", element, s["k"]))
    assert found(r"select explode\(", select({"x": element}, exploded))
    assert not found(r"select explode\(", select({"x": element}, members))


TOTAL = select({"n": agg("SUM", r["a"])}, named("r"), group_by=[])


def test_a_limit_over_one_row_keeps_it() -> None:
    assert re.search(
        r"select sum\(\S+\) (as )?n from `?r`?( as r)?( order by \S+)? limit 100", texts(TOTAL, NAMES)
    )
    assert "limit" not in texts(select({"k": r["k"]}, named("r")), NAMES)
    grouped = select({"n": agg("SUM", r["a"])}, named("r"), group_by=[r["k"]])
    assert "limit" not in texts(grouped, NAMES)


def test_keys_of_order_by_are_expressions_that_sort_alike() -> None:
    plain = select({"k": r["k"], "x": r["a"]}, named("r"))
    written = texts(Limited(plain, (SortKey("x", descending=True), SortKey("k")), 3), NAMES)
    assert re.search(r"order by x is null, x desc", written)
    assert re.search(r"k is not null, k( asc| nulls first)? ", written)
    assert re.search(r"order by case when x is not null then x end desc", written)
    assert re.search(r"order by (r|`r\.é`)\.`?a`? desc", written), "the expression of the output itself"


def test_a_cast_without_an_alias_keeps_the_name() -> None:
    written = texts(select({"x": r["a"]}, named("r")), NAMES)
    assert re.search(r"select (w\.)?x::int from \(", written)
    assert re.search(r"select cast\((w\.)?x as int\) from w", written)


def test_a_list_is_written_as_rows_where_null_and_false_are_alike() -> None:
    listed = call("in", r["a"], 1, 2)
    written = texts(
        select({"k": r["k"]}, named("r"), where=call("and", listed, call("gt", r["k"], 0))), NAMES
    )
    assert re.search(r"in \(select c from values \(1\), \(2\) as v\(c\)\)", written)
    assert re.search(r"in \(select 1 union all select 2\)", written)
    elsewhere = texts(select({"k": call("or", listed, call("gt", r["k"], 0))}, named("r")), NAMES)
    assert "select 1 union" not in elsewhere
    assert "values" not in elsewhere


def test_an_item_may_name_the_output_of_an_earlier_one() -> None:
    more, sum_ = call("add", r["a"], r["k"]), agg("SUM", r["a"])
    items: dict[str, Expr] = {"b": more, "c": call("mul", more, r["a"])}
    assert re.search(r" b, b ?\* ", texts(select(items, named("r")), NAMES).replace("`", ""))
    # A column of FROM comes first, and the names of two outputs mean none of them.
    assert not re.search(r" b, b ?\* ", texts(select(items, named("r")), {"r": ["k", "a", "B"]}))
    # Neither an aggregate nor a window reads an output.
    over = window("SUM", more, partition=[r["k"]])
    assert not re.search(r"\(b\)", texts(select({"b": more, "c": over}, named("r")), NAMES))
    grouped = select({"b": r["k"], "c": call("add", r["k"], sum_)}, named("r"), group_by=[r["k"]])
    assert " b, b + " not in texts(grouped, NAMES)


def pivoted(*numbers: int, function: str = "SUM", group: Expr = r["a"]) -> Query:
    """SUM of `b` of the table `s`, by `a` of `r`, for each value of `k`."""
    source = join(JoinKind.CROSS, named("r"), named("s"))
    items: dict[str, Expr] = {"g": group}
    for number in numbers:
        case = call("case", call("eq", r["k"], number), s["b"], Literal(None, INT))
        items[f"x{len(items)}"] = agg(function, case)
    return select(items, source, group_by=[group])


def test_aggregates_for_values_of_one_column_may_be_a_pivot() -> None:
    written = texts(pivoted(1, 2), NAMES).replace("`", "")
    assert re.search(r"pivot \(sum\(v\) for p in \(1 as x1, 2 as x2\)\)", written)
    # Also without PIVOT.
    assert "filter (where" in written


def test_what_pivot_would_not_say_is_not_written_so() -> None:
    # A value stands twice, COUNT of no rows is 0, and the groups are by the column itself.
    for query in (pivoted(1, 1), pivoted(1, 2, function="COUNT"), pivoted(1, 2, group=r["k"])):
        assert "pivot" not in texts(query, NAMES)
