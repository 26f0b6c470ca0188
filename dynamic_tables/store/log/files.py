"""The file operations that a store needs beside Delta's: local folders directly, others through Hadoop."""

from __future__ import annotations

import io
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from dynamic_tables.store.spark.java_classes import java_class
from dynamic_tables.store.spark.log_store import create_once
from dynamic_tables.store.spark.object_store import is_object_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Files(Protocol):
    """Folders and files, by their full path: small text files, and data files that Arrow reads and writes.

    `renames`: whether a folder gets another path at once. An object store copies its files one by one.
    """

    renames: bool

    def folders(self, folder: str) -> Sequence[str]:
        """Returns the names of the folders in a folder; none if it does not exist."""

    def files(self, folder: str) -> Sequence[str]:
        """Returns the names of the files in a folder; none if it does not exist."""

    def read(self, file: str) -> str | None:
        """Returns a UTF-8 text file, None if it does not exist. Raises OSError, UnicodeDecodeError."""

    def read_bytes(self, file: str) -> bytes:
        """Returns the content of a file. Raises OSError."""

    def open(self, file: str) -> BinaryIO:
        """Opens a file to be read in parts, as Arrow does. Raises OSError."""

    def write(self, file: str, content: bytes) -> None:
        """Writes a new file in a folder that is there; afterwards no crash loses it. Raises OSError.

        Others may see a part of it before; nobody knows its name yet.
        """

    def exists(self, path: str) -> bool:
        """Tells whether there is a file or folder of this path."""

    def put(self, file: str, text: str) -> bool:
        """Creates a text file as a whole, with its folder; False if the file exists already. Raises OSError.

        However many processes call it at once, one of them gets True, and no reader sees a part of the text.
        """

    def rename(self, folder: str, other: str, *, over: bool = False) -> None:
        """Gives a folder another path, at once. Raises OSError.

        `over`: a folder that has the path is removed before; otherwise it is an error.
        """

    def remove(self, path: str) -> None:
        """Removes a file, or a folder with its contents. Raises OSError."""


class LocalFiles(Files):
    """Files of this machine; a call takes microseconds."""

    renames = True

    def folders(self, folder: str) -> Sequence[str]:
        path = Path(folder)
        return [entry.name for entry in path.iterdir() if entry.is_dir()] if path.is_dir() else []

    def files(self, folder: str) -> Sequence[str]:
        path = Path(folder)
        return [entry.name for entry in path.iterdir() if entry.is_file()] if path.is_dir() else []

    def read(self, file: str) -> str | None:
        try:
            return Path(file).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def read_bytes(self, file: str) -> bytes:
        return Path(file).read_bytes()

    def open(self, file: str) -> BinaryIO:
        return Path(file).open("rb")

    def write(self, file: str, content: bytes) -> None:
        with Path(file).open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def put(self, file: str, text: str) -> bool:
        path = Path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            written.write_text(text, encoding="utf-8")
            # The text is complete before it has its name, so no reader sees a part. A link is made only if
            # its name is free (an atomic "put if absent"); a rename would replace the file.
            os.link(written, path)
        except FileExistsError:
            return False
        finally:
            written.unlink(missing_ok=True)
        return True

    def rename(self, folder: str, other: str, *, over: bool = False) -> None:
        target = Path(other)
        target.parent.mkdir(parents=True, exist_ok=True)
        if over:
            shutil.rmtree(target, ignore_errors=True)
        elif target.exists():
            # If another process creates the folder just now, with files in it, the rename itself fails: the
            # system replaces only an empty folder.
            raise FileExistsError(f"{other} is there already")
        Path(folder).rename(target)

    def remove(self, path: str) -> None:
        place = Path(path)
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()


IO_UTILS = "org.apache.commons.io.IOUtils"
"""A class in Spark's jars that reads a whole stream in one call of the JVM."""


class HadoopFiles(Files):
    """Files of any file system that Spark can reach; every operation calls the JVM."""

    def __init__(self, spark: SparkSession, *, renames: bool = True) -> None:
        self.renames = renames
        # pyspark has no public interface to Hadoop's file systems. With the session's own credentials.
        self.conf: Any = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        self.spark = spark

    def folders(self, folder: str) -> Sequence[str]:
        return [name for name, is_folder in self._entries(folder) if is_folder]

    def files(self, folder: str) -> Sequence[str]:
        return [name for name, is_folder in self._entries(folder) if not is_folder]

    def read(self, file: str) -> str | None:
        with java_errors(file):
            path = self._path(file)
            system = path.getFileSystem(self.conf)
            if not system.exists(path):
                return None
            stream = system.open(path)
            try:
                return str(java_class(self.spark, IO_UTILS).toString(stream, "UTF-8"))
            finally:
                stream.close()

    def read_bytes(self, file: str) -> bytes:
        with java_errors(file):
            path = self._path(file)
            stream = path.getFileSystem(self.conf).open(path)
            try:
                return bytes(java_class(self.spark, IO_UTILS).toByteArray(stream))
            finally:
                stream.close()

    def open(self, file: str) -> BinaryIO:
        with java_errors(file):
            path = self._path(file)
            system = path.getFileSystem(self.conf)
            stream = HadoopStream(file, system.open(path), int(system.getFileStatus(path).getLen()))
            # Arrow reads the end of a file, then the columns that it needs: fewer calls with a buffer.
            return io.BufferedReader(stream, HADOOP_BUFFER)

    def write(self, file: str, content: bytes) -> None:
        with java_errors(file):
            path = self._path(file)
            stream = path.getFileSystem(self.conf).create(path, False)
            try:
                stream.write(content)
                if self.renames:
                    # An object store has no such call: what it acknowledges at the end is kept.
                    stream.hsync()
            finally:
                stream.close()

    def exists(self, path: str) -> bool:
        with java_errors(path):
            place = self._path(path)
            return bool(place.getFileSystem(self.conf).exists(place))

    def put(self, file: str, text: str) -> bool:
        path = self._path(file)
        folder = path.getParent()
        if self.renames:
            folder.getFileSystem(self.conf).mkdirs(folder)
        return create_once(self.spark, folder.toString(), file, text)

    def rename(self, folder: str, other: str, *, over: bool = False) -> None:
        with java_errors(folder):
            path, target = self._path(folder), self._path(other)
            system = path.getFileSystem(self.conf)
            system.mkdirs(target.getParent())
            if over:
                system.delete(target, True)
            elif system.exists(target):
                # Hadoop's rename to an existing folder moves the first one into it.
                raise FileExistsError(f"{other} is there already")
            if not system.rename(path, target):
                raise OSError(f"{folder} could not be renamed to {other}")

    def remove(self, path: str) -> None:
        with java_errors(path):
            place = self._path(path)
            place.getFileSystem(self.conf).delete(place, True)

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        """Returns what is in a folder, as (name, whether it is a folder); nothing if it does not exist."""
        with java_errors(folder):
            path = self._path(folder)
            system = path.getFileSystem(self.conf)
            if not system.exists(path):
                return []
            statuses = system.listStatus(path)
            return [(str(status.getPath().getName()), bool(status.isDirectory())) for status in statuses]

    def _path(self, text: str) -> Any:
        """Returns Hadoop's object for a path."""
        return java_class(self.spark, "org.apache.hadoop.fs.Path")(text)


HADOOP_BUFFER = 256 << 10
"""Bytes that are read at least, because each call costs a request where the store is far away."""


class HadoopStream(io.RawIOBase):
    """A file of any file system that Spark can reach, read in parts. `size`: its length in bytes.

    `java`: Hadoop's stream of the file. `at`: the position of the next byte to read.
    """

    def __init__(self, file: str, java: Any, size: int) -> None:
        self.file, self.java, self.size, self.at = file, java, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence] + offset
        return self.at

    def readinto(self, buffer: Any) -> int:
        most = max(0, min(len(buffer), self.size - self.at))
        if most:
            with java_errors(self.file):
                self.java.seek(self.at)
                content = bytes(self.java.readNBytes(most))
            buffer[: len(content)] = content
            self.at += len(content)
            return len(content)
        return 0

    def close(self) -> None:
        if not self.closed:
            self.java.close()
        super().close()


@contextmanager
def java_errors(path: str) -> Iterator[None]:
    """Opens a block in which an error of Hadoop's file systems becomes an OSError, as for local files."""
    try:
        yield
    except Exception as error:
        # This package does not import the exception classes of py4j: the name of their module decides.
        if type(error).__module__.split(".")[0] != "py4j":
            raise
        raise OSError(f"{path}: {error}".splitlines()[0]) from error


def files_of(path: str, spark: SparkSession) -> Files:
    """Returns the file operations for a path; a path with a scheme goes through Hadoop."""
    if "://" in path or path.startswith("file:"):
        return HadoopFiles(spark, renames=not is_object_store(path))
    return LocalFiles()
