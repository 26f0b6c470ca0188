"""Writes the files of runs and failures so that no reader sees half a file."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import click

from campaign.errors import CampaignError

NUMBERS = count()
"""Numbers for the names of temporary files, so that the threads of this process use different ones."""

STANDARD_OUTPUT = Path("-")
"""What a command is given in place of a file to print to standard output."""

STREAMS = frozenset({"/dev/stdout", "/dev/stderr"})
"""The streams that the shell has opened for this process; they may lead to regular files."""


def make_folder(path: Path) -> None:
    """Makes a folder, and those around it, unless it is there. Raises CampaignError naming the path."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CampaignError(f"cannot make the folder {path}: {error.strerror}; give another one") from error


def write_text(path: Path, text: str) -> None:
    """Writes a file of text as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all, and makes its folders. Raises CampaignError naming the path.

    `-` is standard output. A path that is no regular file, such as /dev/stdout or a pipe, is written to and
    never replaced. If it is a link, the file that it leads to is replaced.
    """
    try:
        if path == STANDARD_OUTPUT:
            click.echo(data, nl=False)
            return
        if str(path) in STREAMS or (path.exists() and not path.is_file()):
            # Appended, because standard output may be a file that has some text already.
            with path.open("ab") as device:
                device.write(data)
            return
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        # Opened as any file is, and not by `tempfile`, so that the user's umask decides who may read it.
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(NUMBERS)}")
        try:
            with temporary.open("xb") as file:
                file.write(data)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CampaignError(
            f"cannot write {path}: {error.strerror or error}; choose another place for it"
        ) from error
