"""Accounts on S3 and servers that speak like it: what Spark and Delta need there, and what does not work.

A version of a Delta table, a tick and an event of the journal are each a file that only one writer can
create. S3 has had that since 2024, as conditional writes (`If-None-Match`), but Delta's log store for S3 does
not use them. So the engine brings its own, in Java, compiled by the compiler that Spark itself uses.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamic_tables.errors import StoreError
from dynamic_tables.store.spark.java_classes import java_class
from dynamic_tables.store.spark.log_store import create_once
from dynamic_tables.store.spark.spark_errors import one_line, store_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME = "s3a"

LOG_STORE = Path(__file__).with_name("ConditionalLogStore.java")
SETTING = f"spark.delta.logStore.{SCHEME}.impl"
"""Spark's setting that names the class by which Delta writes its logs to S3."""

ONE_PROCESS = "io.delta.storage.S3SingleDriverLogStore"
"""Delta's own class, which is safe only where one process writes."""

PROBE = "_conditional_writes"
"""The file of an account that each opening tries to create twice."""

WHAT_IS_REFUSED = (
    "{0} is on an object store, which cannot rename a folder at once: `rename` and `swap` are refused, and "
    "`clone` copies rows"
)


def is_object_store(path: str) -> bool:
    """Tells whether a path is one of an object store on which an account can lie."""
    return path.startswith(f"{SCHEME}://")


def prepare(session: SparkSession, account: str) -> None:
    """Makes Delta write to an object store by conditional writes. Raises StoreError: it cannot."""
    conf: Any = session.sparkContext._jsc.sc().conf()  # noqa: SLF001
    with store_errors(account):
        if not _is_there(session, "org.apache.hadoop.fs.s3a.S3AFileSystem"):
            raise StoreError(
                f"{account}: this Spark has no S3A; open it by `open_session(s3=True)`, or give it the "
                "package org.apache.hadoop:hadoop-aws in the version of its Hadoop"
            )
        # A class other than Delta's own is the choice of the session's owner.
        if conf.get(SETTING, ONE_PROCESS) == ONE_PROCESS:
            if not _is_there(session, LOG_STORE.stem):
                _compile(session, LOG_STORE)
            conf.set(SETTING, LOG_STORE.stem)
    _ensure_conditional(session, account)


def _ensure_conditional(session: SparkSession, account: str) -> None:
    """Raises StoreError if the second of two writers can create a file that is there already."""
    file, text = f"{account}/{PROBE}", "This file shows that a file can be created only once.\n"
    try:
        # The first time of all both try to create it, later none succeeds.
        twice = create_once(session, account, file, text) and create_once(session, account, file, text)
        found = "a file was created twice"
    except Exception as error:
        # The exception classes of py4j are no import of this package.
        if type(error).__module__.split(".")[0] != "py4j":
            raise
        twice, found = True, one_line(error)
    if twice:
        raise StoreError(
            f"{account}: no account can be here, because this store has no conditional writes "
            f"(If-None-Match), or cannot be reached: {found}; take a store that has them"
        )


def _is_there(session: SparkSession, name: str) -> bool:
    """Tells whether the JVM finds a class. Raises any other error of Java."""
    try:
        java_class(session, "java.lang.Class").forName(name, False, _loader(session))
    except Exception as error:
        if "ClassNotFoundException" in str(error):
            return False
        raise
    return True


def _compile(session: SparkSession, source: Path) -> None:
    """Compiles a class by Janino, which Spark has for its own generated code, and lets the JVM find it."""
    compiler = java_class(session, "org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(_loader(session))
    compiler.cook(source.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="dvs-classes-") as folder:
        for name, code in dict(compiler.getBytecodes()).items():
            Path(folder, f"{name}.class").write_bytes(bytes(code))
        place = java_class(session, "java.io.File")(folder)
        _loader(session).addURL(place.toURI().toURL())
        # Once it is loaded its file is no longer needed.
        assert _is_there(session, source.stem), "it was added just now"


def _loader(session: SparkSession) -> Any:
    """Returns the class loader of Spark, to which classes can be added."""
    return java_class(session, "java.lang.Thread").currentThread().getContextClassLoader()
