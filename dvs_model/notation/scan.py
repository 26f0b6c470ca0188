"""From text to a draft, which may still break the rules of well-formed histories."""

from __future__ import annotations

import re
from bisect import bisect_right

from dvs_model.errors import HistoryError
from dvs_model.histories.draft import (
    Chain,
    Draft,
    DraftEvent,
    Locate,
    Matches,
    Name,
    Precedes,
    Session,
    Special,
)

_VERSION = r"[A-Za-z][A-Za-z0-9_]*(?:\.[0-9]+)?"
_TOKEN = re.compile(
    rf"""
      (?P<end>[cabs])(?P<end_txn>[0-9]+)(?![0-9_(.])
    | (?P<item>w|rc?)(?P<item_txn>[0-9]+)\(\s*(?P<version>{_VERSION})\s*(?:,(?P<value>[^()\[\]:;,|]*))?\)
    | d(?P<derive>[0-9]+)\(\s*(?P<derived>{_VERSION})\s*\|(?P<sources>[^()\[\]:;|]*)\)
    | (?P<pred>[rw])(?P<pred_txn>[0-9]+)\(\s*(?P<name>[^()\[\]:;,|\s][^()\[\]:;,|]*):
          (?P<vset>[^()\[\]:;|]*)(?:;(?P<matched>[^()\[\]:;|]*))?\)
    | \[(?P<clause>[^\[\]]*)\]
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"(?:\s+|\#[^\n]*)*")
_PLAIN = re.compile(r"([A-Za-z]+)([0-9]+)(?:\.([0-9]+))?")
"""A version such as x1 or x1.2, whose object has letters only."""
_MARKED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)_(?:([0-9]+)(?:\.([0-9]+))?|(init|dead))")
"""A version with a _ before the transaction, such as my_table_1, x_init or x_dead."""
_PRECEDES = re.compile(r"c([0-9]+)\s*<\s*[sb]([0-9]+)")
_MATCHES = re.compile(r"\smatches(?=\s|$)")
_DIGITS = re.compile(r"[0-9]{1,18}")
_OPENING = re.compile(r"(?:(?:[rwd]|rc)[0-9]+\s*\(|\[)")
"""The beginning of an event with parentheses or of a clause, for messages."""


def scan(text: str, name: str = "") -> Draft:
    """Returns the events and clauses of a text. Raises HistoryError with line and column."""
    return Scanner(text, name).draft()


class Scanner:
    """Reads a text in one pass. `names`: the versions read so far, because histories repeat them."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.result = Draft(name, locate=locator(text))
        self.names: dict[str, Name] = {}

    def draft(self) -> Draft:
        """Returns the draft of the whole text."""
        text, events = self.text, self.result.events
        token, space = _TOKEN.match, _SPACE.match
        position, length = 0, len(text)
        while True:
            gap = space(text, position)
            position = position if gap is None else gap.end()
            if position >= length:
                return self.result
            element = token(text, position)
            if element is None:
                raise self.error(self.diagnosis(position), position)
            if element.lastgroup == "clause":
                self.clause(element["clause"], element.start("clause"))
            else:
                events.append(self.event(element, position))
            position = element.end()

    def event(self, token: re.Match[str], at: int) -> DraftEvent:
        """Returns the event of a token."""
        match token.lastgroup:
            case "end_txn":
                kind = "s" if token["end"] == "b" else token["end"]
                return DraftEvent(kind, self.number(token["end_txn"], at), at=at)
            case "version" | "value":
                names = (self.version(token["version"], token.start("version")),)
                value = None if token["value"] is None else token["value"].strip()
                return DraftEvent(
                    token["item"], self.number(token["item_txn"], at), names, None, "", value, at
                )
            case "sources":
                names = (self.version(token["derived"], token.start("derived")),)
                sources = self.versions(token["sources"], token.start("sources"))
                return DraftEvent("d", self.number(token["derive"], at), names, sources, at=at)
            case _:
                selected = self.versions(token["vset"], token.start("vset"))
                matched = token["matched"]
                members = None if matched is None else self.versions(matched, token.start("matched"))
                txn, predicate = self.number(token["pred_txn"], at), token["name"].rstrip()
                return DraftEvent(token["pred"].upper(), txn, selected, members, predicate, None, at)

    def clause(self, inside: str, at: int) -> None:
        """Adds what is between square brackets to the draft."""
        text = inside.strip()
        place = at + len(inside) - len(inside.lstrip())
        words = list(_MATCHES.finditer(text))
        if re.match(r"session\s", text):
            self.session(text, place)
        elif words:
            word = words[-1]
            predicate = text[: word.start()].strip()
            if not predicate or any(mark in predicate for mark in ":;,|"):
                raise self.error(f"{_shown(predicate)} is no name of a predicate", place)
            names = self.versions(text[word.end() :], place + word.end())
            self.result.matches.append(Matches(predicate, names, at))
        else:
            position = 0
            for part in re.split("[,;]", inside):
                self.item(part, at + position)
                position += len(part) + 1

    def session(self, text: str, at: int) -> None:
        """Adds a session, `session NAME: T, T`."""
        head, colon, tail = text.partition(":")
        name = head[len("session") :].strip()
        if not colon or not name or any(mark in name for mark in ";,|"):
            raise self.error(f"{_shown(text)} is no session; write [session a: 1, 2]", at)
        numbers = [self.number(part.strip(), at + len(head) + 1) for part in tail.split(",")]
        self.result.sessions.append(Session(name, tuple(numbers), at))

    def item(self, part: str, at: int) -> None:
        """Adds a version order or a time-precedes item."""
        at += len(part) - len(part.lstrip())
        part = part.strip()
        precedes = _PRECEDES.fullmatch(part)
        if precedes is not None:
            self.result.precedes.append(
                Precedes(self.number(precedes[1], at), self.number(precedes[2], at), at)
            )
        elif not part:
            raise self.error("an empty item in [..]; write a version order such as x1 << x2", at)
        else:
            names = tuple(self.version(name.strip(), at) for name in part.split("<<"))
            self.result.chains.append(Chain(names, at))

    def versions(self, inside: str, at: int) -> tuple[Name, ...]:
        """Returns the versions of a version set."""
        if not inside or inside.isspace():
            return ()
        position, names = 0, []
        for part in inside.split(","):
            names.append(self.version(part.strip(), at + position + len(part) - len(part.lstrip())))
            position += len(part) + 1
        return tuple(names)

    def version(self, text: str, at: int) -> Name:
        """Returns the version of a name."""
        earlier = self.names.get(text)
        if earlier is not None:
            return earlier
        parts = _PLAIN.fullmatch(text) or _MARKED.fullmatch(text)
        if parts is not None and parts[2] is None:
            name = Name(parts[1], Special(parts[4]))
        elif parts is not None:
            number = None if parts[3] is None else self.number(parts[3], at)
            name = Name(parts[1], self.number(parts[2], at), number)
        else:
            hint = "write object and transaction, such as x1, x1.2, x_init, or my_table_1"
            raise self.error(f"{_shown(text)} is no version; {hint}", at)
        self.names[text] = name
        return name

    def number(self, text: str, at: int) -> int:
        """Returns the number of a transaction or modification."""
        if _DIGITS.fullmatch(text) is None:
            raise self.error(f"{_shown(text)} is no transaction number", at)
        return int(text)

    def diagnosis(self, position: int) -> str:
        """Returns why no event and no clause starts at a position."""
        text = self.text
        opening = _OPENING.match(text, position)
        if opening is not None:
            close = "]" if opening[0] == "[" else ")"
            end = text.find(close, position)
            if end < 0 or any(mark in text[opening.end() : end] for mark in "()[]"):
                return f"the bracket in {_shown(text[position : position + 24])} is not closed"
            inside = text[position : end + 1]
            if inside[0] == "d":
                return f"{_shown(inside)} is no derivation; write d1(x1 | y2, z3)"
            return f"{_shown(inside)} is no event; write w1(x1), r2(x1), or r2(P: x1, y0; x1)"
        word = re.match(r"\S{1,24}", text[position : position + 24])
        shown = _shown(word[0] if word else text[position : position + 24])
        return f"{shown} is neither an event, as w1(x1), d3(y3 | x1), c1, nor a clause, as [x1 << x2]"

    def error(self, fact: str, at: int) -> HistoryError:
        """Returns an error with its place."""
        return HistoryError(fact, *self.result.locate(at))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def locator(text: str) -> Locate:
    """Returns the function from offsets of a text to line and column. It lists the lines on first use."""
    starts: list[int] = []

    def locate(at: int) -> tuple[int | None, int | None]:
        if at < 0:
            return None, None
        if not starts:
            starts.append(0)
            starts.extend(line_end.end() for line_end in re.finditer("\n", text))
        line = bisect_right(starts, at)
        return line, at - starts[line - 1] + 1

    return locate
