"""Functions of one's own: SQL functions by their text, Python functions by a reference to their source.

A function is stored in the account's journal. A table depends on the digest of each function that it calls:
of the text of a SQL function, or of the source of a Python function's module, as the process that refreshes
finds it. The module is run from its source and not imported: so a changed source is a changed function in a
process that runs for days, too, and Spark sends the function to its workers by value.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from dynamic_tables.arguments import checked_name
from dynamic_tables.errors import DefinitionError
from dynamic_tables.reading.text.parse import called_names, parse_query
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.reading.text.text import TextQuery, names_in

DIGITS = 12
"""How many hexadecimal digits of a SHA-256 a digest has."""

CREATE = re.compile(r"\s*CREATE\s+(?P<replace>OR\s+REPLACE\s+)?FUNCTION\b", re.IGNORECASE)
DROP = re.compile(r"\s*DROP\s+FUNCTION\s+(?P<name>\w+)\s*;?\s*", re.IGNORECASE)

FORM = "write CREATE [OR REPLACE] FUNCTION name(x TYPE, ..) RETURNS TYPE RETURN expression"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFunction:
    """A function that an account knows.

    `parameters`, `body`: of a SQL function the text between the parentheses and the expression; of a Python
    function `body` is its reference, `module:function`. `returns`: its type in SQL. `immutable`: whether its
    value depends on its arguments alone.
    """

    name: str
    sql: bool
    parameters: str
    body: str
    returns: str
    immutable: bool

    @property
    def statement(self) -> str:
        """The statement that creates a SQL function in a session of Spark."""
        return f"CREATE OR REPLACE TEMPORARY FUNCTION {self.name}({self.parameters}) {self.signature}"

    @property
    def signature(self) -> str:
        """What follows the parameters of a SQL function."""
        return f"RETURNS {self.returns} RETURN {self.body}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A function as this process finds it. `call`: the function in Python; None for a SQL function."""

    function: OwnFunction
    digest: str
    call: Callable[..., object] | None = None


def is_function_statement(text: str) -> bool:
    """Tells whether a statement creates or drops a function."""
    return CREATE.match(text) is not None or DROP.fullmatch(text) is not None


def dropped_by(text: str) -> str | None:
    """Returns the name of the function that a statement drops; None for another statement."""
    match = DROP.fullmatch(text)
    return None if match is None else match["name"].lower()


def created_by(text: str) -> tuple[OwnFunction, bool]:
    """Returns the SQL function that a statement creates, and whether it may replace one.

    Raises DefinitionError: for another form, or an expression that does not depend on its arguments alone.
    """
    match = CREATE.match(text)
    try:
        tokens = SparkText().tokenize(text.strip().rstrip(";"))
    except SqlglotError:
        tokens = []
    at = [n for n, token in enumerate(tokens) if token.text.upper() == "FUNCTION"][:1]
    if match is None or not at or len(tokens) < at[0] + 4:
        raise DefinitionError(FORM)
    name, opening = tokens[at[0] + 1], tokens[at[0] + 2]
    closing = _closing(tokens, at[0] + 2)
    words = [token.text.upper() for token in tokens]
    if opening.token_type is not TokenType.L_PAREN or closing is None or "RETURN" not in words[closing:]:
        raise DefinitionError(FORM)
    returned = words.index("RETURN", closing)
    if words[closing + 1] != "RETURNS" or returned == closing + 2:
        raise DefinitionError(FORM)
    written = text.strip().rstrip(";")
    function = OwnFunction(
        name=checked_name(name.text),
        sql=True,
        parameters=written[opening.end + 1 : tokens[closing].start].strip(),
        returns=written[tokens[closing + 1].end + 1 : tokens[returned].start].strip(),
        body=written[tokens[returned].end + 1 :].strip(),
        immutable=True,
    )
    _ensure_of_arguments(function)
    return function, match["replace"] is not None


def _closing(tokens: list, opening: int) -> int | None:  # type: ignore[type-arg]
    """Returns the place of the parenthesis that closes the one at `opening`; None: there is none."""
    depth = 0
    for place in range(opening, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return place
    return None


def _ensure_of_arguments(function: OwnFunction) -> None:
    """Raises DefinitionError: the value of a SQL function depends on more than its arguments."""
    text = f"SELECT {function.body}"
    if names_in(text) or len([*parse_query(text).find_all(exp.Query)]) > 1:
        raise DefinitionError(f"function {function.name} is refused: its expression reads tables")
    TextQuery((), (), (text,)).ensure_admitted()


def python_function(name: str, reference: str, returns: str, *, immutable: bool) -> OwnFunction:
    """Returns a Python function by its reference. Raises DefinitionError: it is no `module:function`."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", reference):
        raise DefinitionError(f"{reference!r} is no reference to a function; write 'module:function'")
    return OwnFunction(
        name=checked_name(name),
        sql=False,
        parameters="",
        body=reference,
        returns=returns,
        immutable=immutable,
    )


def called(functions: Mapping[str, OwnFunction], texts: tuple[str, ...]) -> tuple[OwnFunction, ...]:
    """Returns the functions that texts call, also inside others, each after those that it calls.

    Raises DefinitionError: a function that calls itself.
    """
    found: dict[str, OwnFunction] = {}

    def visit(text: str, path: tuple[str, ...]) -> None:
        for name in sorted(called_names(text) & functions.keys()):
            if name in path:
                raise DefinitionError(f"function {name} is defined by itself: {' -> '.join((*path, name))}")
            function = functions[name]
            if function.sql:
                visit(f"SELECT {function.body}", (*path, name))
            found.setdefault(name, function)

    for text in texts:
        visit(text, ())
    return tuple(found.values())


def loaded(function: OwnFunction) -> Loaded:
    """Returns a function as this process finds it. Raises DefinitionError: its module or itself is gone."""
    if function.sql:
        return Loaded(function, _digest(function.parameters, function.signature))
    module, name = function.body.split(":")
    missing = f"function {function.name} is registered as {function.body}, and"
    remedy = "put it on PYTHONPATH, or register the function anew"
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(module)
        source = spec.loader.get_source(module) if spec is not None else None  # type: ignore[union-attr]
    except (ImportError, AttributeError, ValueError):
        source = None
    if spec is None or source is None:
        raise DefinitionError(f"{missing} there is no module {module} with a source here; {remedy}")
    try:
        found = _run(module, spec.parent or "", spec.origin or "", source).get(name)
    except Exception as error:
        text = " ".join(str(error).split())
        raise DefinitionError(f"{missing} {module} fails: {type(error).__name__}: {text}") from error
    if not callable(found):
        raise DefinitionError(f"{missing} {module} has no function {name}; {remedy}")
    return Loaded(function, _digest(function.body, function.returns, source), found)


@lru_cache(maxsize=64)
def _run(module: str, package: str, file: str, source: str) -> Mapping[str, Callable[..., object]]:
    """Returns the names of a module after its source was run."""
    loose = types.ModuleType(f"{module} of {_digest(source)}")
    loose.__dict__.update(__file__=file, __package__=package)
    exec(compile(source, file, "exec"), loose.__dict__)  # noqa: S102  # it is what importing does
    return loose.__dict__


def takes_series(call: Callable[..., object]) -> bool:
    """Tells whether a function takes series of pandas, by the types that it declares."""
    try:
        annotations = [each.annotation for each in inspect.signature(call).parameters.values()]
    except (TypeError, ValueError):
        return False
    return any("Series" in (each if isinstance(each, str) else repr(each)) for each in annotations)


def marks(found: tuple[Loaded, ...]) -> str:
    """Returns what the functions of a query add to the fingerprint of its definition."""
    return "".join(f" {each.function.name}={each.digest}" for each in found)


def changed_functions(before: str, after: str) -> tuple[str, ...]:
    """Returns the functions by which two fingerprints of a definition differ; none if more differs."""
    (head, *old), (other, *new) = before.split(" "), after.split(" ")
    if head != other:
        return ()
    return tuple(sorted({each.split("=")[0] for each in {*old} ^ {*new}}))


def _digest(*parts: str) -> str:
    """Returns the first DIGITS hexadecimal digits of the SHA-256 of some texts."""
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:DIGITS]
