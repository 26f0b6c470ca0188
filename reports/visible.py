"""Makes invisible and control characters visible, so that a report shows what a text really holds."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Returns the text with every unprintable character but newline and tab as an escape.

    NUL, lone surrogates and control characters would make XML or UTF-8 invalid; with bidirectional and
    zero-width ones a text could look like another one. `visible("a\0b")` is `a\u0000b`.
    """
    return _escaped(text, allowed="\n\t")


def one_line(text: str) -> str:
    r"""Returns the text of `visible` with newlines and tabs as escapes: `a\nb` is then four characters."""
    return _escaped(text, allowed="")


def _escaped(text: str, *, allowed: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in allowed else _escape(char) for char in text)


def _escape(char: str) -> str:
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if char in short:
        return short[char]
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"
