"""From SQL text to a syntax tree, and the checks for constructs that no query may contain.

A defining query must have the same result whenever it is evaluated on the same data. So functions of the
user, of random numbers or of the order of rows are refused, and a LIMIT without ORDER BY; the current time is
the data timestamp of the refresh (`reading.text.current_time`). sqlglot parses the text; where it reads a
text in another way than Spark 4, the tokens are changed before, or the tree after the parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dynamic_tables.errors import DefinitionError
from dynamic_tables.reading.text.idle_limits import drop_idle_limits
from dynamic_tables.reading.text.plain_forms import write_having_for_exists, write_plain_forms
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.reading.text.time_windows import write_time_windows

NON_DETERMINISTIC = frozenset(
    "aes_encrypt rand randn random uuid shuffle current_time current_timezone current_user user "
    "session_user current_database current_schema current_catalog version "
    "monotonically_increasing_id spark_partition_id input_file_name input_file_block_start "
    "input_file_block_length first last any_value first_value_ignore mode "
    "approx_count_distinct approx_percentile percentile_approx approx_top_k approx_top_k_accumulate "
    "histogram_numeric hll_sketch_agg hll_union_agg kll_sketch_agg_bigint kll_sketch_agg_double "
    "kll_sketch_agg_float".split()
)
"""Functions whose value depends on more than their arguments, or on the order of rows."""

SPARK_NAMES: Mapping[str, str] = {
    "approx_distinct": "approx_count_distinct",
    "approx_quantile": "approx_percentile",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "array_agg": "collect_list",
    "array_size": "size",
    "array_unique_agg": "collect_set",
    "array_sort": "sort_array",
    "bitwise_and_agg": "bit_and",
    "bitwise_or_agg": "bit_or",
    "bitwise_xor_agg": "bit_xor",
    "group_concat": "listagg",
    "day_of_week": "dayofweek",
    "quantile": "percentile",
    "regexp_split": "split",
    "logical_and": "bool_and",
    "logical_or": "bool_or",
    "str_position": "instr",
    "timestamp_trunc": "date_trunc",
    "var_map": "map",
    "variance_pop": "var_pop",
}
"""sqlglot's names of functions that have another name in Spark."""

OUTSIDE = frozenset("java_method reflect try_reflect identifier".split())
"""Functions that run code which is no part of Spark's SQL, or read more than the account."""

LISTS = frozenset("collect_list collect_set".split())
"""Aggregates whose result is a list in the order in which rows come; `array_agg` is collect_list."""

OF_ANY_ORDER = frozenset("sort_array array_sort size array_size cardinality array_contains".split())
"""Functions whose value does not depend on the order of the list that is their first argument."""

TODAY = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
"""Texts that Spark reads as a date or time that depends on when it reads them."""

COMPILED = (
    "no query can be read: the package sqlglotc is installed, whose compiled parser cannot be extended with "
    "Spark's precedence of operators; uninstall it: pip uninstall sqlglotc"
)

TOO_DEEP = "the query is nested too deeply"


@lru_cache(maxsize=512)
def parse_query(text: str) -> exp.Query:
    """Returns the syntax tree of one SELECT. The tree is cached and shared: callers must not change it.

    Raises DefinitionError: with line and column, for any other text.
    """
    statements = _parse(text)
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        kind = "nothing" if not statements else type(statements[0]).__name__.upper()
        if len(statements) > 1:
            kind = f"{len(statements)} statements"
        raise DefinitionError(f"a defining query is one SELECT; found {kind}")
    drop_idle_limits(statements[0])
    write_plain_forms(statements[0])
    write_having_for_exists(statements[0])
    write_time_windows(statements[0])
    for block in statements[0].find_all(exp.Select):
        # A hint changes how Spark computes a query, and not its result. In the tree it would look like a use
        # of tables, by their aliases.
        block.set("hint", None)
    return statements[0]


def parts(node: exp.Expr) -> Iterator[str]:
    """Yields the names of the arguments that a syntax node has; sqlglot sets absent ones to nothing."""
    return (name for name, value in node.args.items() if value not in (None, False, []))


def _parse(text: str) -> list[exp.Expr]:
    """Returns the syntax trees of the statements in a text. Raises DefinitionError: a syntax error."""
    dialect = SparkText()
    try:
        tokens = dialect.tokenize(text)
        _ensure_full_lists(text, tokens)
        _name_functions(tokens)
        tokens = _with_selects(tokens)
        parsed = dialect.parser().parse(tokens, text)
    except SqlglotError as error:
        raise DefinitionError(f"syntax error {_explained(text, error)}") from error
    except RecursionError as error:
        raise DefinitionError(TOO_DEEP) from error
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if "cannot inherit from compiled" in str(error):
            raise DefinitionError(COMPILED) from error
        # On some texts that are no SQL, sqlglot raises an error of Python instead of its own.
        raise DefinitionError("syntax error: the text cannot be read as one SELECT") from error
    return [statement for statement in parsed if isinstance(statement, exp.Expression)]


_NO_ITEM = frozenset(
    TokenType[name] for name in "COMMA FROM WHERE GROUP_BY HAVING UNION R_PAREN SEMICOLON".split()
)
"""Tokens that cannot begin an item of a list."""


def _ensure_full_lists(text: str, tokens: Sequence[Token]) -> None:
    """Raises DefinitionError for `SELECT FROM` and `a,, b`, which sqlglot accepts and Spark does not."""
    for i, token in enumerate(tokens):
        if token.token_type not in (TokenType.COMMA, TokenType.SELECT):
            continue
        if i + 1 == len(tokens) or tokens[i + 1].token_type in _NO_ITEM:
            place = _place(text, token.start)
            raise DefinitionError(f"syntax error at {place}: something is missing after {token.text!r}")


def _name_functions(tokens: Sequence[Token]) -> None:
    """Makes `window(...)` the name of a function; after GROUP BY sqlglot takes it for the WINDOW clause."""
    for token, following in pairwise(tokens):
        if token.token_type is TokenType.WINDOW and following.token_type is TokenType.L_PAREN:
            token.token_type = TokenType.VAR


def _with_selects(tokens: Sequence[Token]) -> list[Token]:
    """Returns the tokens with `SELECT * FROM t` for `TABLE t`, where a query may stand."""
    written: list[Token] = []
    for number, token in enumerate(tokens):
        following = [each.token_type for each in tokens[number + 1 : number + 3]]
        named = following[:1] in ([TokenType.VAR], [TokenType.IDENTIFIER])
        called = following[1:] == [TokenType.L_PAREN]
        before = tokens[number - 1].token_type if number else None
        if token.token_type is TokenType.TABLE and named and not called and before in _BEFORE_A_QUERY:
            for kind, text in ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM")):
                written.append(Token(kind, text, token.line, token.col, token.start, token.end, []))
        else:
            written.append(token)
    return written


_BEFORE_A_QUERY = frozenset(
    {None, *(TokenType[name] for name in "L_PAREN R_PAREN UNION ALL DISTINCT EXCEPT INTERSECT".split())}
)
"""Tokens after which a query may stand; the closing parenthesis is that of a CTE."""


def _place(text: str, offset: int) -> str:
    """Returns line and column, from 1, of an offset in a text."""
    return f"line {text.count(chr(10), 0, offset) + 1}, column {offset - text.rfind(chr(10), 0, offset)}"


def _explained(text: str, error: SqlglotError) -> str:
    """Returns place and cause of a syntax error in the user's terms; sqlglot names its own token classes."""
    details = getattr(error, "errors", None)
    if not details:
        # An error of the tokenizer: its line is where the text ends, its offset where the literal begins.
        unclosed = re.fullmatch(r"Missing (\S+) from \d+:(\d+)", str(error.__cause__))
        if unclosed is None:
            return f"at {_place(text, len(text))}: the text ends inside a string, a name or a comment"
        return f"at {_place(text, int(unclosed[2]))}: {unclosed[1]} is not closed"
    first = details[0]
    near, what = str(first.get("highlight")), str(first.get("description"))
    # sqlglot's column is that of the last character.
    column = max(1, int(first.get("col", 1)) - len(near) + 1)
    if what.startswith("Required keyword"):
        what = f"something is missing {'before' if near == ')' else 'after'} {near!r}"
    elif what.startswith("Unsupported pipe syntax operator"):
        what = f"the pipe operator {near} is not read; write it as |> SELECT, or as a sub-select"
    elif what.startswith("Invalid expression"):
        what = f"unexpected {near!r}"
    else:
        what = re.sub(r"<Token token_type: TokenType\.SENTINEL\b.*>", "the end", what, flags=re.DOTALL)
        what = re.sub(r"<Token token_type: [^,]*, text: (.*?), line: .*>", r"\1", what, flags=re.DOTALL)
        what = f"{what[0].lower()}{what[1:]}, near {near!r}"
    return f"at line {first.get('line')}, column {column}: {what}"


def function_name(node: exp.Expr) -> str:
    """Returns the name of a function in Spark, in lower case."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if isinstance(node, exp.Pad):
        return "lpad" if node.args.get("is_left") else "rpad"
    name = node.sql_name() if isinstance(node, exp.Func) else type(node).__name__
    return SPARK_NAMES.get(name.lower(), name.lower())


def ensure_plain_table(table: exp.Table) -> None:
    """Raises DefinitionError for a relation that is not a plain name: a path, a function, a past version."""
    shown = table.sql(SparkText)
    if not isinstance(table.this, exp.Identifier):
        raise DefinitionError(f"{shown} is refused: a query reads relations of its account")
    if table.args.get("db") is not None or table.args.get("catalog") is not None:
        raise DefinitionError(f"{shown} is refused: a query reads relations of its account, by plain names")
    alias = table.args.get("alias")
    # sqlglot parses the time travel `r@v1` as an alias.
    travels = alias is not None and not isinstance(alias.this, exp.Identifier | None)
    if travels or table.args.get("version") is not None or table.args.get("when") is not None:
        raise DefinitionError(f"{shown} is refused: a refresh decides which versions are read")


def ensure_deterministic(tree: exp.Expr) -> None:
    """Raises DefinitionError for the first function whose value does not depend on its arguments alone."""
    for node in tree.find_all(exp.Func):
        if function_name(node) in NON_DETERMINISTIC:
            raise _not_of_the_data(f"function {function_name(node)}")


def ensure_determined(tree: exp.Expr) -> None:
    """Raises DefinitionError for a part of a query whose result does not depend on the data alone.

    They are TABLESAMPLE, a LIMIT without ORDER BY, lists in the order of rows, and DATE 'today'.
    """
    for sample in tree.find_all(exp.TableSample):
        raise _not_of_the_data(sample.sql(SparkText).strip())
    for query in tree.find_all(exp.Query):
        cut = [name for name in ("limit", "offset", "fetch") if query.args.get(name) is not None]
        if cut and query.args.get("order") is None:
            reason = "without ORDER BY it is not clear which rows are kept"
            raise DefinitionError(f"{cut[0].upper()} is refused: {reason}")
    for value in tree.find_all(exp.FirstValue, exp.LastValue):
        if value.find_ancestor(exp.Window) is None:
            raise _not_of_the_data(f"function {function_name(value)} without OVER")
    _ensure_ordered(tree)
    for cast in tree.find_all(exp.Cast):
        text, dated = cast.this, cast.to.is_type(*exp.DataType.TEMPORAL_TYPES)
        if dated and isinstance(text, exp.Literal) and text.is_string and TODAY.match(str(text.this)):
            raise _not_of_the_data(cast.sql(SparkText))


def _ensure_ordered(tree: exp.Expr) -> None:
    """Raises DefinitionError for lists and joined texts in the order in which rows come."""
    for node in tree.find_all(exp.Func):
        name = function_name(node)
        if name in LISTS and not _of_any_order(node):
            raise DefinitionError(f"function {name} is refused: sort its result with sort_array({name}(...))")
    for texts in tree.find_all(exp.GroupConcat):
        if not isinstance(texts.this, exp.Order):
            reason = "without WITHIN GROUP (ORDER BY ...) its value depends on the order of rows"
            raise DefinitionError(f"function listagg is refused: {reason}")


def _of_any_order(list_: exp.Expr) -> bool:
    """Tells whether a list is the first argument of a function for which its order does not matter."""
    below, above = list_, list_.parent
    while isinstance(above, exp.Filter | exp.Paren | exp.Window) and above.this is below:
        below, above = above, above.parent
    if not isinstance(above, exp.Func) or function_name(above) not in OF_ANY_ORDER:
        return False
    return any(each is below for each in (above.this, *above.expressions[:1]))


def has_doubled_quotes(text: str) -> bool:
    """Tells whether a text in double quotes has a doubled quote, which sqlglot reads as Spark does not."""
    tokens = [token for token in SparkText().tokenize(text) if token.token_type is TokenType.STRING]
    written = [text[token.start : token.end + 1] for token in tokens]
    beside = any(after.start == before.end + 1 for before, after in pairwise(tokens))
    return any(each.startswith('"') and ("''" in each or beside) for each in written)


def called_names(text: str) -> frozenset[str]:
    """Returns the names before a parenthesis in a text, in lower case; keywords may be among them."""
    tokens = SparkText().tokenize(text)
    return frozenset(
        token.text.lower()
        for token, after in pairwise(tokens)
        if after.token_type is TokenType.L_PAREN and token.text.isidentifier()
    )


def words_of(text: str) -> frozenset[str]:
    """Returns the keywords and names of a text, in upper case, without its string constants."""
    return frozenset(
        token.text.upper() for token in SparkText().tokenize(text) if token.token_type is not TokenType.STRING
    )


def ensure_no_bare_function(tree: exp.Expr) -> None:
    """Raises DefinitionError for `current_user` and similar functions written without parentheses.

    It is for texts that run as they are. A text that is bound needs no such check: there, such a name is
    an unknown column.
    """
    for column in tree.find_all(exp.Column):
        if not column.table and column.name.lower() in NON_DETERMINISTIC:
            raise _not_of_the_data(f"{column.name} (a column of that name: qualify it)")


def _not_of_the_data(what: str) -> DefinitionError:
    """Returns the error that a part of a query does not depend on the data alone."""
    return DefinitionError(f"{what} is refused: its value does not depend on the data alone")


def ensure_inside(tree: exp.Expr) -> None:
    """Raises DefinitionError for scripts, and for functions by the name of a schema."""
    for script in tree.find_all(exp.QueryTransform):
        raise DefinitionError(f"{script.sql(SparkText)} is refused: a query runs no scripts")
    for dot in tree.find_all(exp.Dot):
        if isinstance(dot.expression, exp.Func):
            raise DefinitionError(f"{dot.sql(SparkText)} is refused: functions go by their plain names")
