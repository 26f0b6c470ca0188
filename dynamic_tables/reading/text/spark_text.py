"""Spark's dialect for sqlglot, corrected where sqlglot reads a text in another way than Spark 4 does.

The most important difference is the precedence of operators: a query that is parsed with other parentheses
than Spark sees would be maintained with other rows. Each method names the form that it corrects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, zip_longest

from sqlglot import exp
from sqlglot.dialects.dialect import DialectType
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parser import Parser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from dynamic_tables.errors import UnsupportedError

RangeParser = Callable[[Parser, exp.Expr | None], exp.Expr | None]
"""Parses a predicate such as LIKE; the value before it is parsed already."""


QUANTIFIERS: Mapping[str, type[exp.Expr]] = {"ANY": exp.Any, "SOME": exp.Any, "ALL": exp.All}
"""The quantifiers of LIKE before a list of patterns: `a LIKE ANY ('x%', 'y%')`."""


def _pattern_parser(kind: type[exp.Expr]) -> RangeParser:
    """Returns the parser of LIKE and its kin, whose pattern may be a comparison: `a LIKE b = c`."""

    def parse(self: Parser, this: exp.Expr | None) -> exp.Expr | None:
        assert isinstance(self, SparkText.Parser)
        listed = self._next.token_type is TokenType.L_PAREN
        quantifier = QUANTIFIERS.get(self._curr.text.upper()) if listed else None
        if quantifier is not None and self._curr.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            self._advance()
            patterns = exp.Tuple(expressions=self._parse_wrapped_csv(self._parse_assignment))
            return self.expression(kind(this=this, expression=quantifier(this=patterns)))
        return self._parse_escape(self.expression(kind(this=this, expression=self._parse_compared())))

    return parse


READ = frozenset(
    "ABS ANY_VALUE APPROX_COUNT_DISTINCT APPROX_TOP_K APPROX_TOP_K_ACCUMULATE APPROX_TOP_K_COMBINE "
    "ARG_MAX ARG_MIN ARRAY ARRAY_AGG ARRAY_SORT AVG BITMAP_CONSTRUCT_AGG BITMAP_OR_AGG BIT_AND BIT_OR "
    "BIT_XOR BOOLEAN BOOL_AND BOOL_OR CHARACTER_LENGTH CHAR_LENGTH COALESCE COLLECT_LIST COLLECT_SET CONCAT "
    "CORR COUNT COUNT_IF COVAR_POP COVAR_SAMP CUME_DIST CURDATE CURRENT_CATALOG CURRENT_DATABASE "
    "CURRENT_DATE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_TIMEZONE CURRENT_USER DATE "
    "DATEDIFF DATE_ADD DATE_DIFF DAY DENSE_RANK DOUBLE EXISTS EXPLODE EXPLODE_OUTER FIRST FIRST_VALUE "
    "FLOAT GREATEST GROUPING GROUPING_ID IF IFNULL INLINE INT KURTOSIS LAG LAST LAST_VALUE LCASE LEAD LEAST "
    "LEN LENGTH LOCALTIMESTAMP LOWER MAP_FROM_ENTRIES MAX MAX_BY MEDIAN MIN MIN_BY MOD MODE MONTH "
    "NAMED_STRUCT NTH_VALUE NTILE NULLIF NVL PERCENTILE_CONT PERCENTILE_DISC PERCENT_RANK POSEXPLODE "
    "POSEXPLODE_OUTER RAND RANDN RANDOM RANK REGEXP_LIKE REGR_AVGX REGR_AVGY REGR_COUNT REGR_INTERCEPT "
    "REGR_R2 REGR_SLOPE REGR_SXX REGR_SXY REGR_SYY REPLACE RLIKE ROW_NUMBER SESSION_USER SHUFFLE SKEWNESS "
    "SORT_ARRAY SPLIT STACK STDDEV STDDEV_POP STDDEV_SAMP STRING STRUCT SUBSTR SUBSTRING SUM TIMESTAMP TRIM "
    "UCASE UPPER UUID VARIANCE VAR_POP VAR_SAMP YEAR".split()
)
"""The functions that sqlglot may turn into syntax nodes of its own, because the binder reads these nodes. All
other calls stay as they are written, for Spark to evaluate: sqlglot would rewrite `log10(x)` as `LOG(10, x)`,
and drop the format of `to_date(x, 'yyyy')`."""


BITS: Sequence[tuple[TokenType, type[exp.Expr]]] = (
    (TokenType.PIPE, exp.BitwiseOr),
    (TokenType.CARET, exp.BitwiseXor),
    (TokenType.AMP, exp.BitwiseAnd),
)
"""Spark's operators on bits, from the loosest to the tightest. In sqlglot they and the shifts have one
precedence."""


def _days_before(args: list[exp.Expr]) -> exp.Expr:
    """Returns DATE_SUB(date, days) as DATE_ADD of the negated days."""
    if len(args) != 2:
        return exp.Anonymous(this="date_sub", expressions=args)
    days = exp.Neg(this=exp.paren(args[1], copy=False))
    return exp.TsOrDsAdd(this=args[0], expression=days, unit=exp.var("DAY"))


def _of_now(args: list[exp.Expr]) -> exp.Expr:
    """Returns UNIX_TIMESTAMP, whose argument is the current time where none is written."""
    return exp.Anonymous(this="unix_timestamp", expressions=args or [exp.CurrentTimestamp()])


UNITS = frozenset("YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND".split())
"""Units of time that other dialects write as words where Spark wants a text."""

DURATION = re.compile(r"\s*\d+\s+(day|hour|minute|second)s?\s*", re.IGNORECASE)
"""Texts that other dialects compare with a difference of times."""


def _trunc(args: list[exp.Expr]) -> exp.Expr:
    """Returns DATE_TRUNC, whose unit may be a word: `date_trunc(hour, t)`."""
    word = args[0].name if args and isinstance(args[0], exp.Column) and not args[0].table else ""
    unit = [exp.Literal.string(word)] if word.upper() in UNITS else args[:1]
    return exp.Anonymous(this="date_trunc", expressions=[*unit, *args[1:]])


def _beside_difference(value: exp.Expr | None, other: exp.Expr | None) -> exp.Expr | None:
    """Returns a text as an interval where it is compared with a difference: `a - b > '10 minutes'`.

    Spark refuses the text there; of numbers it would fail to make one of it.
    """
    text = value.name if isinstance(value, exp.Literal) and value.is_string else ""
    if other is None or not isinstance(other.unnest(), exp.Sub) or not DURATION.fullmatch(text):
        return value
    return exp.Interval(this=exp.Literal.string(text.strip()))


def spelt_for_spark(text: str) -> str:
    """Returns a query that Spark refuses with the units and durations of other dialects as Spark writes them.

    Example: `date_trunc(hour, t)` is `date_trunc('hour', t)`, and `a - b > '1 hour'` has INTERVAL '1 hour'.
    """
    tokens = SparkText().tokenize(text)
    places: list[tuple[int, int, str]] = []
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        called = before.text.lower() == "date_trunc" and token.token_type is TokenType.L_PAREN
        if called and after.text.upper() in UNITS and after.token_type is not TokenType.STRING:
            places.append((after.start, after.end, f"'{after.text}'"))
    for before, token in pairwise(tokens):
        compares = before.token_type in SparkText.Parser.COMPARISONS
        if compares and token.token_type is TokenType.STRING and DURATION.fullmatch(token.text):
            places.append((token.start, token.end, f"INTERVAL '{token.text.strip()}'"))
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end + 1 :]
    return text


def _path(path: exp.Expr) -> str:
    """Returns the path of `value:a.b[0]` as `variant_get` takes it: `$.a.b[0]`."""
    parts = ["$"]
    for part in path.expressions[1:]:
        if isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int):
            parts.append(f"[{part.this}]")
        elif isinstance(part, exp.JSONPathKey) and isinstance(part.this, str):
            plain = re.fullmatch(r"\w+", part.this, re.ASCII)
            quote = '"' if "'" in part.this else "'"
            parts.append(f".{part.this}" if plain else f"[{quote}{part.this}{quote}]")
        else:
            raise UnsupportedError(f"{part} in a path of a VARIANT")
    return "".join(parts)


def _with_unit(name: str) -> Callable[[list[exp.Expr]], exp.Expr]:
    """Returns the builder of a function of a unit, a number and a time: the unit is a word and no column."""

    def build(args: list[exp.Expr]) -> exp.Expr:
        if len(args) == 3 and isinstance(args[0], exp.Column):
            args = [exp.var(args[0].name), *args[1:]]
        elif len(args) == 2 and name == "dateadd":
            return exp.TsOrDsAdd(this=args[0], expression=args[1], unit=exp.var("DAY"))
        return exp.Anonymous(this=name, expressions=args)

    return build


class SparkText(Spark):
    """Spark's dialect with `''` as a quote inside a string, as Spark 4 reads it (sqlglot splits it)."""

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """Returns the tokens of a text; `window` is a word, if not the clause `WINDOW name AS (..)`.

        sqlglot takes the column `window` of windows of time for that clause, where nothing may follow it.
        """
        tokens = super().tokenize(sql, dialect)
        for token, name, word in zip_longest(tokens, tokens[1:], tokens[2:]):
            named = word is not None and word.token_type is TokenType.ALIAS
            # `count(window) AS n` has the same word there.
            clause = named and name.token_type is not TokenType.R_PAREN
            if token.token_type is TokenType.WINDOW and not clause:
                token.token_type = TokenType.VAR
        return tokens

    class Tokenizer(Spark.Tokenizer):
        """A tokenizer with both ways in which Spark 4 escapes a quote."""

        STRING_ESCAPES = ["\\", "'"]  # noqa: RUF012  # sqlglot's own protocol

    class Parser(SparkParser):
        """A parser with Spark's precedence, which writes no log lines: callers refuse unsupported syntax.

        In Spark all comparisons bind alike, from left to right, and tighter than BETWEEN, IN, LIKE and IS:
        `f = g < h` is `(f = g) < h`, and `f = a IS NULL` is `(f = a) IS NULL`. `||` binds as + and - do.
        (Spark's grammar SqlBaseParser.g4: booleanExpression, valueExpression, predicate.)
        """

        # `payload:a.b[0]` is the value at a path of a VARIANT.
        COLON_IS_VARIANT_EXTRACT = True
        COLON_CHAIN_IS_SINGLE_EXTRACT = False
        # `GROUP BY ALL UNION (SELECT ...)` is no call of a function named UNION.
        FUNC_TOKENS = SparkParser.FUNC_TOKENS - {TokenType.UNION}
        FUNCTIONS = {  # noqa: RUF012
            **{name: build for name, build in SparkParser.FUNCTIONS.items() if name in READ},
            "DATE_SUB": _days_before,
            **{name.upper(): _with_unit(name) for name in ("dateadd", "timestampadd", "timestampdiff")},
            "TIMEDIFF": _with_unit("timestampdiff"),
            "UNIX_TIMESTAMP": _of_now,
            "DATE_TRUNC": _trunc,
            "EVERY": exp.LogicalAnd.from_arg_list,
            "MEAN": exp.Avg.from_arg_list,
            "SOME": exp.LogicalOr.from_arg_list,
            "STD": exp.Stddev.from_arg_list,
        }
        FUNCTION_PARSERS = {  # noqa: RUF012
            **SparkParser.FUNCTION_PARSERS,
            "PERCENTILE": lambda self: self._parse_percentile(),
        }
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            **SparkParser.NO_PAREN_FUNCTION_PARSERS,
            "ANY": lambda self: self._parse_any(),
        }
        TERM = {**SparkParser.TERM, TokenType.DPIPE: exp.DPipe}  # noqa: RUF012
        COMPARISONS: Mapping[TokenType, type[exp.Expr]] = {
            **SparkParser.EQUALITY,
            **SparkParser.COMPARISON,
        }
        RANGE_PARSERS = {  # noqa: RUF012
            **SparkParser.RANGE_PARSERS,
            TokenType.LIKE: _pattern_parser(exp.Like),
            TokenType.ILIKE: _pattern_parser(exp.ILike),
            TokenType.RLIKE: _pattern_parser(exp.RegexpLike),
        }

        def _warn_unsupported(self) -> None:
            pass

        def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
            """Parses one operand of AND, OR or NOT: a value with at most one predicate behind it."""
            value = self._parse_compared()
            negated = self._match(TokenType.NOT)
            if not self._match_set(self.RANGE_PARSERS):
                if negated:
                    self._retreat(self._index - 1)
                return value
            predicate = self.RANGE_PARSERS[self._prev.token_type](self, value)
            return self._negate_range(predicate) if negated else predicate

        def _parse_compared(self) -> exp.Expr | None:
            """Parses a value, comparisons included."""
            this = self._parse_bitwise()
            while self._match_set(self.COMPARISONS):
                kind, comments = self.COMPARISONS[self._prev.token_type], self._prev_comments
                other = self._parse_bitwise()
                sides = _beside_difference(this, other), _beside_difference(other, this)
                this = self.expression(kind(this=sides[0], expression=sides[1]), comments=comments)
            return this

        def _parse_bitwise(self) -> exp.Expr | None:
            """Parses what binds tighter than comparisons: |, then ^, then &, then shifts, then sums."""
            return self._parse_bits(BITS)

        def _parse_bits(self, operators: Sequence[tuple[TokenType, type[exp.Expr]]]) -> exp.Expr | None:
            """Parses operators on bits, the loosest first, and all that binds tighter."""
            if not operators:
                return self._parse_shift()
            (token, kind), *tighter = operators
            this = self._parse_bits(tighter)
            while self._match(token):
                this = self.expression(kind(this=this, expression=self._parse_bits(tighter)))
            return this

        def _parse_shift(self) -> exp.Expr | None:
            """Parses `<<`, `>>` and `>>>`, the last of which sqlglot does not know."""
            this = self._parse_term()
            while True:
                if self._match_pair(TokenType.LT, TokenType.LT):
                    this = self.expression(exp.BitwiseLeftShift(this=this, expression=self._parse_term()))
                elif self._match_pair(TokenType.GT, TokenType.GT):
                    if self._match(TokenType.GT):
                        parts = [this, self._parse_term()]
                        this = self.expression(exp.Anonymous(this="shiftrightunsigned", expressions=parts))
                    else:
                        this = self.expression(
                            exp.BitwiseRightShift(this=this, expression=self._parse_term())
                        )
                else:
                    return this

        def _parse_cube_or_rollup(self, with_prefix: bool = False) -> exp.Cube | exp.Rollup | None:
            """Reads ROLLUP and CUBE of any expressions: sqlglot takes conditions for the end of the list."""
            parsed = super()._parse_cube_or_rollup(with_prefix=True)
            if parsed is not None and not with_prefix:
                parsed.set("expressions", self._parse_wrapped_csv(self._parse_assignment))
            return parsed

        def _parse_grouping_set(self) -> exp.Expr | None:
            """Reads a grouping set, which may be a condition."""
            return self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_assignment()

        def _parse_any(self) -> exp.Expr:
            """Parses ANY: `any(x)` is the aggregate, as `some(x)` is, and ANY (query) a comparison."""
            start = self._index
            if self._match(TokenType.L_PAREN):
                distinct = bool(self._match(TokenType.DISTINCT))
                self._match(TokenType.ALL)
                asks = self._curr.token_type in (TokenType.SELECT, TokenType.WITH, TokenType.VALUES)
                value = None if asks else self._parse_assignment()
                if value is not None and not isinstance(value.unnest(), exp.Query):
                    self._match_r_paren()
                    this = exp.Distinct(expressions=[value]) if distinct else value
                    return self.expression(exp.LogicalOr(this=this))
            self._retreat(start)
            return self.expression(exp.Any(this=self._parse_bitwise()))

        def _parse_percentile(self) -> exp.Expr:
            """Parses PERCENTILE; sqlglot drops the third argument, how often a value counts."""
            distinct = self._match(TokenType.DISTINCT)
            args = self._parse_csv(self._parse_lambda)
            if distinct:
                args[0] = self.expression(exp.Distinct(expressions=[args[0]]))
            if len(args) == 2:
                return self.expression(exp.Quantile(this=args[0], quantile=args[1]))
            return self.expression(exp.Anonymous(this="percentile", expressions=args))

        def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
            """Parses a function with OVER, if it has one; FIRST is FIRST_VALUE there."""
            window = super()._parse_window(this, alias)
            inner = window.this if isinstance(window, exp.Window) else None
            while isinstance(inner, exp.IgnoreNulls | exp.RespectNulls):
                inner = inner.this
            if isinstance(inner, exp.First | exp.Last) and inner.args.get("expression") is None:
                kind = exp.FirstValue if isinstance(inner, exp.First) else exp.LastValue
                inner.replace(kind(this=inner.this))
            return window

        def _parse_interval(
            self, require_interval: bool = True, parse_function_unit: bool = True
        ) -> exp.Add | exp.Interval | None:
            """Parses an interval; several units are one literal: sqlglot makes a sum without parentheses."""
            start = self._index
            parsed = super()._parse_interval(require_interval, parse_function_unit)
            read = self._tokens[start : self._index]
            if not isinstance(parsed, exp.Add):
                return parsed
            words = [token.text for token in read if token.token_type is not TokenType.INTERVAL]
            text = " ".join(words).replace("- ", "-").replace("+ ", "+")
            return self.expression(exp.Interval(this=exp.Literal.string(text)))

        def _parse_between(self, this: exp.Expr | None) -> exp.Between:
            """Parses BETWEEN, whose bounds may have comparisons in them."""
            if self._match_text_seq("SYMMETRIC") or self._match_text_seq("ASYMMETRIC"):
                self.raise_error("the form BETWEEN SYMMETRIC is no Spark SQL")
            low = self._parse_compared()
            self._match(TokenType.AND)
            return self.expression(exp.Between(this=this, low=low, high=self._parse_compared()))

        def _parse_lateral(self) -> exp.Lateral | None:
            """Parses LATERAL; the names of a view's columns may also follow its alias without AS."""
            lateral = super()._parse_lateral()
            view = lateral is not None and lateral.args.get("view")
            alias = lateral.args["alias"] if lateral is not None and view else None
            named = self._curr and self._curr.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
            if named and alias is not None and alias.this and not alias.args.get("columns"):
                alias.set("columns", self._parse_csv(self._parse_id_var))
            return lateral

        def _parse_is_rhs(self, distinct: bool = False) -> exp.Expr | None:
            """Parses the right side of IS; that of IS DISTINCT FROM may have comparisons in it."""
            return self._parse_compared() if distinct else super()._parse_is_rhs()

    class Generator(SparkGenerator):
        """A writer that writes `payload:a` as VARIANT_GET; sqlglot would read the text of a JSON document."""

        TRANSFORMS = {  # noqa: RUF012
            **SparkGenerator.TRANSFORMS,
            exp.JSONExtract: lambda self, node: self.func(
                "VARIANT_GET", node.this, exp.Literal.string(_path(node.expression))
            ),
        }
