"""A reader of EDN, the notation of Clojure's data, with the line of every top-level form.

Keywords are text with their colon, `:ok`; strings are `Text`, symbols `Symbol`; vectors and lists are lists,
maps are `Pairs`, sets are `Members`. Tags of records are dropped, of other tagged values kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import orjson

from dvs_model.errors import HistoryError
from dvs_model.observed.values import Symbol, Text

DEPTH = 300
"""How deep forms may be nested."""


class Pairs(list[tuple[object, object]]):
    """A map, as pairs in its order."""

    def find(self, key: str) -> object:
        """Returns the value of a keyword; None: the map has none."""
        return next((value for name, value in self if name == key), None)


class Members(list[object]):
    """A set."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """A value with a tag that is no record."""

    tag: str
    value: object


TOKEN = re.compile(
    r"""[\s,]*(?:
    (?P<comment>;[^\n]*) |
    (?P<string>"(?:[^"\\]|\\.)*") |
    (?P<open>\#\{|[\[({]) | (?P<close>[\])}]) |
    (?P<discard>\#_) | (?P<meta>\^) |
    (?P<double>\#\#(?:Inf|-Inf|NaN)) |
    (?P<spaced>\#:[A-Za-z][\w.*+!?$%&=<>/'-]*) |
    (?P<tag>\#[A-Za-z][\w.*+!?$%&=<>/'-]*) |
    (?P<character>\\(?:newline|space|tab|return|formfeed|backspace|u[0-9a-fA-F]{4}|o[0-7]{1,3}|\S)) |
    (?P<atom>[^\s,;"\[\](){}\\^]+)
    )""",
    re.VERBOSE | re.DOTALL,
)
NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)N?")
FLOAT = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?M?")
RATIO = re.compile(r"([+-]?\d+)/(\d+)")
SYMBOL = re.compile(r"(?:[^\W\d]|[.*+!\-_?$%&=<>/])[\w.*+!?$%&=<>/'#:-]*")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
ESCAPE = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\(.)", re.DOTALL)
CLOSES = {"[": "]", "(": ")", "{": "}", "#{": "}"}
NOTHING = object()
"""Stands for the end of the text, where `nil` is a form."""


def forms(text: str) -> Iterator[tuple[object, int]]:
    """Yields the top-level forms, each with its line. Raises HistoryError with line and column."""
    reading = _Reading(text)
    while (form := reading.next(0)) is not NOTHING:
        yield form, reading.line(reading.began)


def operations_of(text: str) -> list[tuple[object, int]]:
    """Returns the top-level forms, or those in the only one if it is a vector or list, with their lines.

    Raises HistoryError with line and column.
    """
    reading, found = _Reading(text), list[tuple[object, int]]()
    while (form := reading.next(0)) is not NOTHING:
        found.append((form, reading.began))
    if len(found) == 1 and type(found[0][0]) is list:
        found = list(zip(found[0][0], reading.inside, strict=True))
    counting = _Reading(text)
    return [(form, counting.line(at)) for form, at in found]


class _Reading:
    """A text that is read.

    `at`: the next character; `began`: where the last top-level form began; `inside`: where each form directly
    in it did.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at, self.began = text, 0, 0
        self.inside: list[int] = []
        self._line, self._counted = 1, 0

    def line(self, at: int) -> int:
        """Returns the line of a position, which must not be before the last one asked for."""
        if at < self._counted:
            return self.text.count("\n", 0, at) + 1
        self._line += self.text.count("\n", self._counted, at)
        self._counted = at
        return self._line

    def fail(self, fact: str, at: int) -> NoReturn:
        """Raises HistoryError at a position."""
        before = self.text[:at]
        raise HistoryError(fact, before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)

    def next(self, depth: int) -> object:
        """Returns the next form; NOTHING at the end of the text."""
        found = self.token()
        if found is None:
            return NOTHING
        kind, token, at = found
        if depth == 0:
            self.began = at
        if kind == "close":
            self.fail(f"{token!r} closes nothing", at)
        return self.form(kind, token, at, depth)

    def token(self) -> tuple[str, str, int] | None:
        """Returns the kind, the text and the place of the next token; None: the text ends."""
        while True:
            found = TOKEN.match(self.text, self.at)
            if found is None:
                rest = self.text[self.at :]
                if rest.strip(" \t\r\n\f\v,"):
                    at = self.at + len(rest) - len(rest.lstrip(" \t\r\n\f\v,"))
                    what = "a string is not closed" if self.text[at] == '"' else f"no EDN: {self.text[at]!r}"
                    self.fail(what, at)
                return None
            self.at = found.end()
            kind = found.lastgroup or ""
            if kind != "comment":
                return kind, found[kind], found.start(kind)

    def form(self, kind: str, token: str, at: int, depth: int) -> object:
        """Returns the form that begins with a token."""
        if depth > DEPTH:
            self.fail(f"forms are nested more than {DEPTH} deep", at)
        match kind:
            case "open":
                return self.collection(token, at, depth)
            case "string":
                return Text(self.unescaped(token[1:-1], at))
            case "character":
                return Symbol(token)
            case "double":
                return float(token[2:])
            case "discard":
                self.needed(at, depth, "#_ discards nothing")
                return self.next(depth) if depth == 0 else _SKIP
            case "meta":
                self.needed(at, depth, "^ has no metadata")
                return self.needed(at, depth, "^ has no form after its metadata")
            case "spaced":
                value = self.needed(at, depth, f"{token} has no map after it")
                space = token[2:]
                if not isinstance(value, Pairs):
                    self.fail(f"{token} has no map after it", at)
                return Pairs((_spaced(space, name), inner) for name, inner in value)
            case "tag":
                return self.tagged(token, at, depth)
            case _:
                return self.atom(token, at)

    def needed(self, at: int, depth: int, fact: str) -> object:
        """Returns the form that must follow. Raises HistoryError: none does."""
        value = _SKIP
        while value is _SKIP:
            before = self.at
            found = self.token()
            if found is None or found[0] == "close":
                self.at = before
                self.fail(fact, at)
            value = self.form(*found, depth + 1)
        return value

    def tagged(self, token: str, at: int, depth: int) -> object:
        """Returns the value after a tag; with its tag, unless it is a record."""
        tag = token[1:]
        value = self.needed(at, depth, f"{token} has no value")
        # A record of Clojure is its map.
        return value if isinstance(value, Pairs) and "." in tag else Tagged(tag, value)

    def collection(self, token: str, at: int, depth: int) -> object:
        """Returns the vector, list, map or set that begins with a bracket."""
        items: list[object] = []
        close = CLOSES[token]
        inside: list[int] = []
        while True:
            found = self.token()
            if found is None:
                self.fail(f"{token!r} is not closed", at)
            kind, inner, where = found
            if kind == "close":
                if inner != close:
                    self.fail(f"{inner!r} closes the {token!r} of {self.where(at)}", where)
                break
            value = self.form(kind, inner, where, depth + 1)
            if value is not _SKIP:
                items.append(value)
                inside.append(where)
        if depth == 0:
            self.inside = inside
        if token == "{":
            if len(items) % 2:
                self.fail("a map has a key without a value", at)
            return Pairs(zip(items[::2], items[1::2], strict=True))
        return Members(items) if token == "#{" else items

    def where(self, at: int) -> str:
        """Returns the line and column of a position, in words."""
        before = self.text[:at]
        return f"line {before.count(chr(10)) + 1}, column {at - (before.rfind(chr(10)) + 1) + 1}"

    def unescaped(self, text: str, at: int) -> str:
        """Returns the text of a string. `at`: where it begins, for errors."""
        if "\\" not in text:
            return text

        def plain(found: re.Match[str]) -> str:
            if found[1]:
                # Halves of one character stand next to each other, so they are read together.
                return str(json.loads(f'"{found[1]}"'))
            if found[2] not in ESCAPES:
                self.fail(f"no escape of a string: \\{found[2]}", at)
            return ESCAPES[found[2]]

        whole = ESCAPE.sub(plain, text)
        if any("\ud800" <= character <= "\udfff" for character in whole):
            self.fail("half a character (a lone surrogate) in a string", at)
        return whole

    def atom(self, token: str, at: int) -> object:
        """Returns the keyword, number, symbol, boolean or nil of a token."""
        if token[0] == ":" and len(token) > 1:
            return token
        if token in ("nil", "true", "false"):
            return {"nil": None, "true": True, "false": False}[token]
        if NUMBER.fullmatch(token):
            number = token.rstrip("N")
            if len(number) > 1000:
                self.fail("a number of more than 1,000 digits", at)
            return int(number, 16) if "x" in number.lower() else int(number)
        if FLOAT.fullmatch(token):
            return float(token.rstrip("M"))
        if (ratio := RATIO.fullmatch(token)) and ratio[2].strip("0"):
            return Symbol(token)
        if SYMBOL.fullmatch(token):
            return Symbol(token)
        return self.fail(f"no EDN: {token[:40]!r}", at)


_SKIP: object = object()
"""Stands for a discarded form inside a collection."""


def _spaced(space: str, name: object) -> object:
    """Returns a key of a map with a namespace before it, if it is a keyword without one."""
    plain = isinstance(name, str) and name.startswith(":") and "/" not in name
    return f":{space}/{str(name)[1:]}" if plain else name


SIMPLE = re.compile(r"\{:[^\"#;\\^(){}]*\}")
"""A line that is one map without strings, comments, tags, lists or inner maps."""
KEYWORD = re.compile(r"(:[A-Za-z0-9*+!_?$%&=<>/.'-]+)")
NIL = re.compile(r"(?<![\w:.+*!?-])nil(?![\w.+*!?-])")
"""`nil` as a form, not as a part of another word."""
BRACKETS = str.maketrans("{}\n", "[] ")
"""Makes a map a JSON array: its brackets, and a blank of the line's end."""
MOST_DIGITS = 19
"""Digits of an integer that is read exactly by the quick reader of JSON: it makes longer ones floats."""


def simple_lines(lines: list[str]) -> list[dict[str, object]] | None:
    """Returns the maps of lines of the form SIMPLE, read as JSON: ten times faster; None: one needs more."""
    # `split` gives the texts between keywords and the keywords in turn: joined by quotes, keywords stand in
    # quotes.
    quoted = '"'.join(KEYWORD.split("\n".join(lines)))
    plain = quoted.translate(BRACKETS).replace(", ", " ").replace(" ", ",")
    # Most nils by a plain replacement, which is faster.
    plain = plain.replace(",nil]", ",null]")
    plain = NIL.sub("null", plain) if "nil" in plain else plain
    data = f"[{plain}]".encode()
    if _has_long_number(data):
        return None
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if len(found) != len(lines) or any(type(item) is not list or len(item) % 2 for item in found):
        return None
    try:
        maps = [dict(zip(item[::2], item[1::2], strict=True)) for item in found]
    except TypeError:
        # A key is a collection.
        return None
    # A key that is there twice is for the other reader to refuse.
    return maps if all(len(each) * 2 == len(item) for each, item in zip(maps, found, strict=True)) else None


def _has_long_number(data: bytes) -> bool:
    """Tells whether more than MOST_DIGITS decimal digits stand in a row."""
    # Bytes below "0" wrap around and are great then.
    run = np.frombuffer(data, dtype=np.uint8) - np.uint8(ord("0")) < 10
    # True where a run of digits begins that is as long as this: 1 at first, then 2, 4, 8, 16. Two runs of 16
    # that begin 4 apart are one of 20.
    for step in (1, 2, 4, 8):
        run = run[:-step] & run[step:]
    return bool((run[:-4] & run[4:]).any())


def canonical(value: object) -> str:
    """Returns a value as EDN on one line, alike for sets and maps that differ in order alone."""
    return _printed(value, sorted)


def shown(value: object) -> str:
    """Returns a value as EDN on one line, with maps and sets as they were written."""
    return _printed(value, list)


def _printed(value: object, arranged: Callable[[Iterable[str]], list[str]]) -> str:
    """Returns a value as EDN. `arranged`: puts members of a set, or pairs of a map, in their order."""
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case Text(text):
            return json.dumps(text, ensure_ascii=False)
        case Symbol(text):
            return text
        case Tagged(tag, inner):
            return f"#{tag} {_printed(inner, arranged)}"
        case Pairs():
            pairs = (f"{_printed(name, arranged)} {_printed(inner, arranged)}" for name, inner in value)
            return "{" + ", ".join(arranged(pairs)) + "}"
        case Members():
            return "#{" + " ".join(arranged(_printed(inner, arranged) for inner in value)) + "}"
        case list():
            return "[" + " ".join(_printed(inner, arranged) for inner in value) + "]"
        case _:
            return str(value)
