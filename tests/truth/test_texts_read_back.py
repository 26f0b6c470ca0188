"""What the engine's parser reads and writes again is the same to Spark: each example of Spark's own manual.

Expressions that only Spark knows are passed to it so. sqlglot makes `LOG(10, x)` of `log10(x)`, drops the
format of `to_date`, and writes `t - INTERVAL 2 HOURS 3 MINUTES` without the parentheses of the sum.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import parse_one
from sqlglot.errors import ErrorLevel, SqlglotError

from dynamic_tables.reading.text.spark_text import SparkText
from tests.truth.examples_of_spark import all_examples

pytestmark = [pytest.mark.slow, pytest.mark.spark]

BOUND = frozenset(
    "date_sub listagg string_agg percentile_cont percentile_disc approx_top_k approx_top_k_accumulate "
    "approx_top_k_estimate".split()
)
"""Functions that are never passed as text: the engine has a rule, or refuses them."""

REFUSED = frozenset(
    "rand randn random uuid shuffle current_catalog localtimestamp reflect try_reflect java_method".split()
)
"""Functions whose value does not depend on their arguments."""

ALIKE = frozenset({"filter"})
"""Examples that are written otherwise and mean the same: `NOT x IS NULL` for `x IS NOT NULL`."""

FEWEST = 1000

EXPRESSIONS = """
t - INTERVAL 2 HOURS 3 MINUTES
t BETWEEN t - INTERVAL 1 DAY 12 HOURS AND t + INTERVAL '1' DAY '2' HOURS
d - INTERVAL 1 YEAR 6 MONTHS
d + INTERVAL 1 YEAR 6 MONTHS * 2
- INTERVAL 1 DAY 2 HOURS + t
t + INTERVAL -1 DAY 2 HOURS
t + INTERVAL '1-2' YEAR TO MONTH
t - INTERVAL '1 02:03:04' DAY TO SECOND
trunc(d, b)
date_trunc(lower(b), t)
date_trunc('week', t)
date_format(t, 'y-M')
to_date(b, 'yyyy-MM-dd')
to_timestamp(b, 'yyyy')
to_timestamp(b)
unix_date(d)
log10(a) + log2(a) + log(a) + ln(a) + log(2, a)
get_json_object(b, 'a.b')
get_json_object(b, '$["a"]')
CAST(parse_json(b) AS STRING)
timestampadd(HOUR, 2, t)
dateadd(MONTH, 1, d)
datediff(MONTH, d, d)
unix_timestamp(b, 'y-M')
b LIKE 'all' OR b LIKE 'any' OR b ILIKE 'some'
b LIKE ANY ('x%', '%y') OR b NOT ILIKE ALL ('x%') OR b LIKE SOME ('z')
t - INTERVAL 1 DAY +2 HOURS
first(a, TRUE) OVER (ORDER BY b) + last(a) OVER (ORDER BY b)
timestampdiff(DAY, t, t)
timediff(MINUTE, t, t)
extract(DOW FROM d) + EXTRACT(MONTH FROM t)
substring(b FROM 2 FOR 3) || overlay(b PLACING 'x' FROM 2)
position('x' IN b) + locate('x', b) + instr(b, 'x')
trim(BOTH 'x' FROM b) || trim(LEADING FROM b) || ltrim(b) || rtrim('x', b)
ceil(x, 2) + floor(x) + round(x, 1) + bround(x, 1)
arr[0] + arr[a] + m['k'] + s.f + named_struct('f', a).f
element_at(arr, -1) + try_element_at(m, 'k')
a DIV 2 + a % 3 + -a + ~a + (a & 1) + (a | 2) + (a ^ 4)
shiftleft(a, 1) + (a << 1) + (a >> 1)
a::STRING || b::INT
a <=> 1 OR NOT a == 2 AND a != 3
f IS NOT TRUE OR f IS UNKNOWN OR a IS NOT DISTINCT FROM 1
b NOT LIKE 'x!%' ESCAPE '!' OR b RLIKE 'x' OR b ILIKE 'y' OR b NOT BETWEEN 'a' AND 'b'
transform(arr, (y, i) -> y * i)
aggregate(arr, 0, (acc, y) -> acc + y, acc -> acc * 2)
array_sort(arr, (l, r) -> CASE WHEN l < r THEN 1 ELSE 0 END)
zip_with(arr, arr, (y, z) -> y + z)
char(a) || chr(65) || initcap(b) || decode(encode(b, 'utf-8'), 'utf-8')
decode(a, 1, 'x', 2, 'y', 'z')
nvl2(a, 1, 2) + ifnull(a, 1) + nullif(a, 2) + if(f, 1, 2)
try_cast(b AS INT) + CAST(b AS DECIMAL(5, 2)) + int(b)
DATE '2024-01-01' + a
make_date(a, 1, 1) - d
size(arr) + cardinality(m) + array_size(arr)
array_contains(arr, a) AND exists(arr, y -> y > 1) AND forall(arr, y -> y > 1)
split(b, ',')[0] || split_part(b, ',', 1) || regexp_extract(b, '(a)', 1) || regexp_replace(b, 'a', 'b')
from_utc_timestamp(t, 'CET') > to_utc_timestamp(t, b)
months_between(t, add_months(d, 1))
hex(a) || conv(b, 10, 2) || sha2(b, 256) || md5(b)
year(t) + dayofweek(d) + dayofmonth(d) + weekofyear(d) + quarter(d)
space(a) || repeat(b, 2) || left(b, 1) || right(b, 1) || lpad(b, 3) || rpad(b, 3, 'x')
pow(a, 2) + sign(a) + signum(a) + greatest(a, 1) + least(a, 2) + abs(a)
"""


COLUMNS = (
    "1 AS a",
    "'x' AS b",
    "TIMESTAMP '2024-01-01 00:00:00' AS t",
    "DATE '2024-01-01' AS d",
    "array(1) AS arr",
    "map('k', 1) AS m",
    "named_struct('f', 1) AS s",
    "1.5D AS x",
    "TRUE AS f",
)


def analysed(session: SparkSession, text: str) -> Any:
    """Returns Spark's reading of a text. Raises PySparkException: Spark refuses it."""
    return session.sql(text)._jdf.queryExecution().analyzed()


def read_back(text: str) -> str:
    """Returns a text as the engine's parser writes it. Raises SqlglotError: it cannot."""
    return parse_one(text, dialect=SparkText).sql(SparkText, unsupported_level=ErrorLevel.RAISE)


def with_casts(text: str) -> str:
    """Returns a text with typed literals as casts, which the engine's parser makes of them."""
    text = re.sub(
        r"\b(DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ)\s*('[^']*')", r"CAST(\2 AS \1)", text, flags=re.I
    )
    for letter, type_ in (("L", "BIGINT"), ("D", "DOUBLE"), ("F", "FLOAT")):
        text = re.sub(rf"(?<![\w%.-])(\d+(?:\.\d+)?){letter}\b", rf"CAST(\1 AS {type_})", text, flags=re.I)
    return text


def words(text: str) -> list[str]:
    """Returns the words and signs of a text, in small letters but for what stands in quotes."""
    found = re.findall(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\w+|\S""", text, re.S)
    return [word if word[0] in "'\"`" else word.lower() for word in found]


def stays(session: SparkSession, text: str) -> bool:
    """Tells whether Spark reads a text in the same way once the engine has read and written it.

    Where the words are the same, Spark need not be asked. Raises SqlglotError: the engine cannot read it.
    Raises PySparkException: Spark refuses it, then or before.
    """
    mine, theirs = read_back(text), with_casts(text)
    if words(mine) == words(theirs):
        return True
    return bool(analysed(session, theirs).sameResult(analysed(session, mine)))


@pytest.mark.nightly
def test_the_examples_of_sparks_manual_stay_what_they_are(spark: SparkSession) -> None:
    session, seen, wrong = spark.newSession(), 0, []
    for name, text in all_examples(session):
        try:
            wrong += [] if stays(session, text) else [(name, text)]
        except (PySparkException, SqlglotError):
            # Some examples fail on purpose. What cannot be read, or is refused then, makes a table FULL.
            continue
        seen += 1
    assert seen >= FEWEST
    assert {name for name, _ in wrong} <= BOUND | REFUSED | ALIKE, wrong


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_an_expression_stays_what_it_is(spark: SparkSession, expression: str) -> None:
    session = spark.newSession()
    session.range(1).selectExpr(*COLUMNS).createOrReplaceTempView("r")
    assert stays(session, f"SELECT {expression} AS z FROM r")
