"""A list of small files in a folder that several processes append to, each file written once.

The ledger of ticks and the journal are such lists. The order of the entries is that of their numbers, and a
number is taken by creating its file: only one process can. There is no lock and no server, so it works on
every storage that can create a file only if it is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dynamic_tables.errors import CorruptTable, StoreError
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.log import COMMIT
from dynamic_tables.store.spark.spark_errors import store_errors

WHOLE_EVERY = 256
"""A file whose number is a multiple of this holds the whole state, so that reading can begin there."""

ATTEMPTS = 50
"""How often an entry is tried again after another process has taken its number."""


@dataclass(slots=True)
class NumberedFiles:
    """The files `0.json`, `1.json`, ... of a folder, numbers with 20 digits; read in order, from `first` on.

    `what`: what an entry is called in messages. `first` is None before anything was read. `next`: the number
    of the next file to read.
    """

    folder: str
    files: Files
    what: str
    first: int | None = None
    next: int = 0

    def new(self) -> Iterator[tuple[str, str]]:
        """Yields path and text of each file that was not read yet. Raises OSError, UnicodeDecodeError."""
        if self.first is None:
            self.first = self.next = self._last_whole()
        while (text := self.files.read(self.path(self.next))) is not None:
            # Counted only when the caller asks for the next one: if it could not decode this one and raised,
            # the same file is met again, and not passed over.
            yield self.path(self.next), text
            self.next += 1

    def append(self, poll: Callable[[], object], make: Callable[[bool], str | None]) -> str | None:
        """Adds the file whose text `make` returns, or none; both again if another process is faster.

        `poll` reads what others have added. The argument of `make`: whether the file holds the whole state.
        Returns the text that was written, which `new` does not yield again; None if `make` returned none.
        Raises StoreError: if it cannot be written, or other processes are faster ATTEMPTS times.
        """
        for _ in range(ATTEMPTS):
            poll()
            # Taken before the decision. If `make` polls and so reads an entry of another process, that entry
            # has this number, `put` fails, and the decision is made again.
            number = self.next
            text = make(number % WHOLE_EVERY == 0)
            if text is None:
                return None
            if self.put(self.path(number), text):
                self.next = number + 1
                return text
        raise StoreError(
            f"{self.folder}: other processes wrote {ATTEMPTS} {self.what}s meanwhile; try again later"
        )

    def reach_back(self, number: int = 0) -> bool:
        """Makes `new` begin with the last whole state up to a number; False if it began there or before."""
        start = max(0, number) // WHOLE_EVERY * WHOLE_EVERY
        if self.first is None or self.first <= start:
            return False
        self.first = self.next = start
        return True

    def path(self, number: int) -> str:
        """Returns the path of a file."""
        return f"{self.folder}/{number:020d}.json"

    def put(self, path: str, text: str) -> bool:
        """Creates a file as a whole, unless it exists; tells whether it did. Raises StoreError."""
        with store_errors(f"the {self.what} {path}"):
            return self.files.put(path, text)

    def _last_whole(self) -> int:
        """Returns the number of the last file that holds the whole state, where reading begins; else 0."""
        numbers = [int(match[1]) for match in map(COMMIT.match, self.files.files(self.folder)) if match]
        return max(numbers, default=0) // WHOLE_EVERY * WHOLE_EVERY


@contextmanager
def decoding_entry(entries: NumberedFiles, otherwise: str) -> Iterator[None]:
    """Opens a block that reads entries; raises CorruptTable, with the file, for one that cannot be read.

    `otherwise`: what happens if the last file is removed.
    """
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise CorruptTable(
            f"{entries.path(entries.next)}: this {entries.what} of the account cannot be read ({reason}); "
            f"restore the file, or, if it is the last one, remove it: {otherwise}"
        ) from error
