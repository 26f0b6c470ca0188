"""The few file operations a store needs beside Delta's own: local folders directly, others through Hadoop."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Files(Protocol):
    """Folders and small text files, by their full path."""

    def folders(self, folder: str) -> Sequence[str]:
        """Names of the folders in a folder; none if it does not exist."""
        ...

    def files(self, folder: str) -> Sequence[str]:
        """Names of the files in a folder; none if it does not exist."""
        ...

    def read(self, file: str) -> str | None:
        """A text file as UTF-8, None if there is none. Raises OSError, UnicodeDecodeError."""
        ...

    def exists(self, file: str) -> bool:
        """Whether there is such a file or folder."""
        ...

    def remove(self, folder: str) -> None:
        """Removes a folder with all it holds; renamed first, so that a crash leaves no half of it."""
        ...


class LocalFiles:
    """Files of this machine: some microseconds each."""

    def folders(self, folder: str) -> Sequence[str]:
        """Names of folders."""
        path = Path(folder)
        return [entry.name for entry in path.iterdir() if entry.is_dir()] if path.is_dir() else []

    def files(self, folder: str) -> Sequence[str]:
        """Names of files."""
        path = Path(folder)
        return [entry.name for entry in path.iterdir() if entry.is_file()] if path.is_dir() else []

    def read(self, file: str) -> str | None:
        """A text file."""
        try:
            return Path(file).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def exists(self, file: str) -> bool:
        """Whether it is there."""
        return Path(file).exists()

    def remove(self, folder: str) -> None:
        """Renames, then removes."""
        path = Path(folder)
        hidden = path.with_name(f".dropped-{path.name}")
        shutil.rmtree(hidden, ignore_errors=True)
        path.rename(hidden)
        shutil.rmtree(hidden)


class HadoopFiles:
    """Files of any file system that Spark can reach: a call to the JVM each."""

    def __init__(self, spark: SparkSession) -> None:
        # pyspark has no public way to Hadoop's file systems.
        self.jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
        self.conf: Any = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001

    def folders(self, folder: str) -> Sequence[str]:
        """Names of folders."""
        return [name for name, is_folder in self._entries(folder) if is_folder]

    def files(self, folder: str) -> Sequence[str]:
        """Names of files."""
        return [name for name, is_folder in self._entries(folder) if not is_folder]

    def read(self, file: str) -> str | None:
        """A text file."""
        path = self._path(file)
        system = path.getFileSystem(self.conf)
        if not system.exists(path):
            return None
        stream = system.open(path)
        try:
            return str(self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def exists(self, file: str) -> bool:
        """Whether it is there."""
        path = self._path(file)
        return bool(path.getFileSystem(self.conf).exists(path))

    def remove(self, folder: str) -> None:
        """Renames, then removes."""
        path = self._path(folder)
        hidden = self.jvm.org.apache.hadoop.fs.Path(path.getParent(), f".dropped-{path.getName()}")
        system = path.getFileSystem(self.conf)
        system.delete(hidden, True)
        system.rename(path, hidden)
        system.delete(hidden, True)

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        path = self._path(folder)
        system = path.getFileSystem(self.conf)
        if not system.exists(path):
            return []
        found = system.listStatus(path)
        return [(str(entry.getPath().getName()), bool(entry.isDirectory())) for entry in found]

    def _path(self, text: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(text)


def files_of(path: str, spark: SparkSession) -> Files:
    """The file operations for a path: any scheme goes through Hadoop."""
    return HadoopFiles(spark) if "://" in path or path.startswith("file:") else LocalFiles()
