"""The style of one text: what is drawn by chance, the case of keywords, the spelling of names."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(slots=True)
class Style:
    """Draws the choices of one text. `parens`: percent of operands in parentheses that need none.

    `lower`: keywords in small letters. `foreign`: relations get quoted aliases with a dot and a letter beyond
    ASCII.
    """

    choices: Random
    parens: int
    lower: bool
    foreign: bool

    @classmethod
    def of(cls, number: int) -> Style:
        """Returns the style of a number; the same number always draws the same."""
        choices = Random(number)
        parens, lower = choices.choice((0, 0, 10, 40)), choices.random() < 0.3
        return cls(choices, parens, lower, choices.random() < 0.1)

    def chance(self, percent: int) -> bool:
        """Draws True in so many percent of the cases."""
        return self.choices.random() * 100 < percent

    def words(self, text: str) -> str:
        """Returns keywords in the case that they have in the whole text."""
        return text.lower() if self.lower else text

    def name(self, name: str) -> str:
        """Returns the name of a table or column, sometimes in capitals or quotes."""
        if self.chance(10):
            name = name.upper()
        return f"`{name}`" if self.chance(10) else name

    def alias(self, alias: str) -> str:
        """Returns the alias of a relation, always the same for one alias."""
        return f"`{alias}.é`" if self.foreign else alias

    def gap(self) -> str:
        """Returns a blank, or sometimes another white space or a comment, for between two clauses."""
        if self.chance(4):
            return self.choices.choice((" /* a comment */ ", " -- a comment's end\n", "\n\t"))
        return " "
