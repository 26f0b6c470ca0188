"""SQL functions of scripts: each call in a definition is replaced by the expression of the function.

So every tier can run the definition, and the judge needs no functions. An argument is cast to the type of its
parameter, and the value to the type of the function, as Spark does. With `CREATE FUNCTION twice(x INT)
RETURNS INT RETURN x * 2`, the call `twice(n)` becomes `CAST((CAST(n AS INT) * 2) AS INT)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A SQL function: name and type of each parameter, type of the value, and text of its expression."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    returns: str
    body: str


def function_of(tree: object, text: str, part: Sequence[Token]) -> SqlFunction | None:
    """Returns the function that a statement creates; None for another statement.

    `text`: the whole script. `part`: the tokens of the statement.
    """
    if not isinstance(tree, exp.Create) or tree.kind != "FUNCTION":
        return None
    declared = tree.this
    returns = tree.find(exp.ReturnsProperty)
    places = [n for n, token in enumerate(part) if token.text.upper() == "RETURN"]
    if not isinstance(declared, exp.UserDefinedFunction) or returns is None or not places:
        return None
    parameters = [each for each in declared.expressions if isinstance(each, exp.ColumnDef) and each.kind]
    return SqlFunction(
        name=declared.this.name.lower(),
        parameters=tuple((each.name.lower(), each.kind.sql("spark")) for each in parameters if each.kind),
        returns=returns.this.sql("spark"),
        body=text[part[places[0]].end + 1 : part[-1].end + 1].strip(),
    )


def written_out(text: str, functions: Mapping[str, SqlFunction]) -> str:
    """Returns a text with every call of a function replaced by its expression, on the lines of the calls.

    Raises ValueError if a call has a wrong number of arguments, or if functions call each other in a circle.
    """
    for name in functions:
        _ensure_no_circle(name, functions, ())
    while True:
        tokens = sqlglot.tokenize(text, read="spark")
        calls = _calls(tokens, functions)
        if not calls:
            return text
        # The last call has no other call in its arguments.
        first = calls[-1]
        function = functions[tokens[first].text.lower()]
        args, last = _arguments(text, tokens, first + 1)
        if len(args) != len(function.parameters):
            count = f"{len(function.parameters)} arguments, and a call has {len(args)}"
            raise ValueError(f"function {function.name} takes {count}")
        start, end = tokens[first].start, tokens[last].end + 1
        new = _expression(function, args)
        text = text[:start] + new + "\n" * (text.count("\n", start, end) - new.count("\n")) + text[end:]


def _calls(tokens: Sequence[Token], functions: Mapping[str, SqlFunction]) -> list[int]:
    """Returns the places of the tokens that are names of called functions, left to right."""
    return [
        number
        for number, (token, after) in enumerate(pairwise(tokens))
        if token.text.lower() in functions and after.token_type is TokenType.L_PAREN
    ]


def _ensure_no_circle(name: str, functions: Mapping[str, SqlFunction], path: tuple[str, ...]) -> None:
    """Raises ValueError if a function calls itself, directly or not. `path`: the functions that led to it."""
    if name in path:
        raise ValueError(f"functions call each other in a circle: {' -> '.join((*path, name))}")
    tokens = sqlglot.tokenize(functions[name].body, read="spark")
    for call in _calls(tokens, functions):
        _ensure_no_circle(tokens[call].text.lower(), functions, (*path, name))


def _arguments(text: str, tokens: Sequence[Token], opening: int) -> tuple[list[str], int]:
    """Returns the texts of arguments and the place of the closing parenthesis, given the opening one's."""
    depth, begin, args = 0, tokens[opening].end + 1, list[str]()
    for place in range(opening, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0 or (depth == 1 and kind is TokenType.COMMA):
            args.append(text[begin : tokens[place].start].strip())
            begin = tokens[place].end + 1
        if depth == 0:
            return (args if args != [""] else []), place
    raise ValueError("a call of a function is not closed")


def _expression(function: SqlFunction, args: Sequence[str]) -> str:
    """Returns the expression of a call on one line, with the arguments in place of the parameters."""
    values = {
        name: f"CAST({arg} AS {type_})" for (name, type_), arg in zip(function.parameters, args, strict=True)
    }
    body = function.body
    tokens = sqlglot.tokenize(body, read="spark")
    # From the last token, so that the positions of the others stay right.
    for number, token in reversed([*enumerate(tokens)]):
        before = tokens[number - 1].token_type if number else None
        after = tokens[number + 1].token_type if number + 1 < len(tokens) else None
        is_param = token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) and token.text.lower() in values
        if is_param and before is not TokenType.DOT and after not in (TokenType.L_PAREN, TokenType.DOT):
            body = body[: token.start] + values[token.text.lower()] + body[token.end + 1 :]
    return " ".join(f"CAST(({body}) AS {function.returns})".split("\n"))
